"""What a run's database keeps of a load: each level, and how those who offered it kept up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LagSummary:
    """Quantiles of the loop's lag in seconds; all 0 where no ask was long enough for a sample."""

    samples: int
    p50_s: float
    p99_s: float
    max_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LatenessSummary:
    """Quantiles of how long after it could be sent each ask was sent, in seconds."""

    asks: int
    p50_s: float
    p99_s: float
    max_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockOffset:
    """Of another clock to ours, in seconds."""

    offset_s: float
    """What it shows, less what ours shows at that moment."""
    uncertainty_s: float
    """The offset is that much too high or too low at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorReport:
    """How one of those who offered a level kept up: this process, a process or an actor of a cluster."""

    number: int = 0
    """Which of those that offer the load, from 0."""
    host: str
    """The machine's name."""
    conversations: int
    """Begun."""
    busy: float | None = None
    """CPU time of the process over the time of the measured window; None where that never began. It is more
    than 1 where several threads work."""
    lateness: LatenessSummary | None = None
    """Of turns due in the measured window; None where none was."""
    lag: LagSummary | None = None
    """Of its event loop while it asked the system that this disturbs most; None where none has a wire."""
    clock: ClockOffset | None = None
    """Of its machine's clock to that of the program that plays the run, as the level's times have it; None
    where they are one."""
    clock_moved_s: float | None = None
    """How much further ahead it was right before the level than at the measurement before that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveResult:
    """One objective and what it was held against."""

    goal: str
    value: float | None
    met: bool | None
    key: str = ""
    """As in the scenario, from which the value's unit can be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelPlayed:
    """A level as the run's database keeps it; moments in seconds since the run's start."""

    index: int
    name: str
    value: float | None
    """Concurrency, or conversations per second; None where a trace says."""
    began_s: float
    measured_from_s: float
    measured_to_s: float
    ended_s: float
    conversations: int | None = None
    """Begun, warm-up included; None where the level was interrupted, as for ``cut``."""
    cut: int | None = None
    """Ended because the level was over."""
    delayed: int = 0
    """Arrivals that had to wait, since as many conversations were open as may be."""
    generators: tuple[GeneratorReport, ...] = ()
    """Who offered it; nobody is known of a level that was interrupted."""
    unclosed: int = 0
    """Sessions that the systems could not close."""
    first_unclosed: str = ""
    """Why the first of them could not be closed."""
    interrupted: bool = False
    stopped: str | None = None
    """Why it was, where that is since a system failed."""
    met: bool | None = None
    """All its goals; None without goals."""
    goals: tuple[ObjectiveResult, ...] = ()

    @property
    def measured_s(self) -> float:
        """Length of the measured window."""
        return max(0.0, self.measured_to_s - self.measured_from_s)
