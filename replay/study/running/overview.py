"""
Where a study stands, for its owner: who is where, what is done, how far raters agree, how long they take.

Whatever the preset. The numbers that a study is made for are those of ``numbers.py``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from statistics import median
from typing import Any

from replay.statistics.people import HumanNumber
from replay.study.preset import Preset
from replay.study.running.numbers import FieldAgreement, FieldDisagreement, field_agreement
from replay.study.running.practice import is_wrong
from replay.study.running.study_file import StudyFile
from replay.study.tasks import Assignment, Judgement, Rater, StudyState, Task, is_for


def display_value(value: str | int | float | HumanNumber | None) -> str:
    """
    Return *value* as text: with its interval, a share in per cent; a dash, and the reason, for no value.
    """
    if value is None:
        return "-"
    if isinstance(value, HumanNumber):
        if value.value is None:
            return f"- ({value.note})" if value.note else "-"
        text = _plain(value.value, value.unit)
        if value.low is not None and value.high is not None:
            text += f" [{_plain(value.low, value.unit)}, {_plain(value.high, value.unit)}]"
        return text
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _plain(value: float, unit: str) -> str:
    return f"{100 * value:.1f} %" if unit == "share" else f"{value:.2f}"


class RelativeTime:
    """How long ago a moment of the database was, in words."""

    def __init__(self, now: str) -> None:
        self._now = datetime.fromisoformat(now)

    def __call__(self, moment: str | None) -> str:
        if moment is None:
            return "never"
        minutes = int((self._now - datetime.fromisoformat(moment)).total_seconds() // 60)
        if minutes < 1:
            return "just now"
        if minutes < 120:
            return f"{minutes} min ago"
        return f"{minutes // 60} h ago" if minutes < 48 * 60 else f"{minutes // (24 * 60)} days ago"


BOUNDS_S = (2, 5, 10, 30, 60, 120, 300)
"""Between which the time for a screen is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterStanding:
    """Where one rater is."""

    rater: Rater
    standing: str
    done: int
    set_aside: int
    open_since: str | None
    seen_at: str | None
    """When they last looked at or answered something; UTC."""
    screens: int
    """Those answered, of work, whose time is known."""
    median_s: float | None
    """For a screen."""
    too_fast: int
    """Screens answered in less than the study's ``limits.too_fast_s``."""
    attention: int
    """Attention items that they have done."""
    attention_wrong: int
    """Those of them that they answered otherwise than is known to be right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BalanceRow:
    """How much is done of one kind of work, for one system in one round."""

    kind: str
    round: int
    system: str | None
    tasks: int
    wanted: int
    """Assignments, of all who take part where a task is for everyone."""
    done: int
    open: int
    set_aside: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FastScreen:
    """A screen that was answered faster than it can be read."""

    rater: str
    task: int
    step: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawnCount:
    """Work that was set aside, and why."""

    task: int
    rater: str
    at: str
    reason: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyOverview:
    """Where a study stands."""

    raters: Sequence[RaterStanding]
    balance: Sequence[BalanceRow]
    agreement: Sequence[FieldAgreement]
    partings: Sequence[FieldDisagreement]
    fast: Sequence[FastScreen]
    set_aside: Sequence[WithdrawnCount]
    times: Sequence[tuple[str, int]]
    """How many screens took how long."""
    withdrawn: int
    """Raters whose data was erased at their request."""
    talks: bool
    """People have talked with systems."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON; nothing of what was said, and no link."""
        return {
            "raters": [{**asdict(one), "rater": one.rater.name} for one in self.raters],
            "balance": [asdict(one) for one in self.balance],
            "agreement": [asdict(one) for one in self.agreement],
            "disagreements": len(self.partings),
            "too_fast": [asdict(one) for one in self.fast],
            "set_aside": [asdict(one) for one in self.set_aside],
            "seconds_for_a_screen": dict(self.times),
            "withdrawn": self.withdrawn,
        }


def overview_of(
    file: StudyFile, state: StudyState, seen: Mapping[int, str], *, resamples: int = 1000
) -> StudyOverview:
    """
    Return the state of the study of *file* for its owner.

    Args:
        state: The study's raters, tasks, assignments and answers.
        seen: When each rater last did something, by number.
        resamples: Bootstrap resamples for intervals of agreement; 0 for no intervals.
    """
    names = state.names
    work = [one for one in state.assignments if state.tasks[one.task].practice is None]
    timed = [
        (one, judged)
        for one in work
        if one.state == "done"
        for judged in state.answers.get(one.id, {}).values()
        if judged.seconds is not None
    ]
    limit_s = file.study.limits.too_fast_s
    agreement, partings = field_agreement(file, state, names, resamples)
    return StudyOverview(
        raters=[
            _standing(rater, file, state, [one for one in work if one.rater == rater.id],
                      [judged for one, judged in timed if one.rater == rater.id], seen, limit_s)
            for rater in state.raters
            if rater.withdrawn_at is None
        ],
        balance=_balance(state, work),
        agreement=agreement,
        partings=partings,
        fast=[
            FastScreen(rater=names[one.rater], task=one.task, step=judged.step, seconds=judged.seconds or 0.0)
            for one, judged in timed
            if (judged.seconds or 0.0) < limit_s
        ],
        set_aside=[
            WithdrawnCount(
                task=one.task,
                rater=names[one.rater],
                at=one.ended_at or "",
                reason=one.reason or "",
                error=next((turn.error for turn in reversed(state.talks.get(one.id, ())) if turn.error), ""),
            )
            for one in work
            if one.state == "set-aside"
        ],
        times=_times([judged.seconds or 0.0 for _, judged in timed]),
        withdrawn=sum(one.withdrawn_at is not None for one in state.raters),
        talks=bool(state.talks),
    )  # fmt: skip


def _standing(
    rater: Rater,
    file: StudyFile,
    state: StudyState,
    work: Sequence[Assignment],
    timed: Sequence[Judgement],
    seen: Mapping[int, str],
    limit_s: float,
) -> RaterStanding:
    is_open = next((one for one in work if one.state == "open"), None)
    done = sum(one.state == "done" for one in work)
    seconds = [one.seconds for one in timed if one.seconds is not None]
    practising = file.study.practice is not None and rater.qualified_at is None
    stages = (
        (rater.left_at, "has left"),
        (rater.stopped_at, "stopped: attention items"),
        (rater.declined_at, "did not agree"),
        (rater.finished_at, "done"),
        (rater.failed_at, "failed practice"),
        (rater.instructed_at is None and rater.consented_at is None, "not begun"),
        (rater.instructed_at is None, "has agreed"),
        (practising, "practising"),
        (is_open, "at work"),
        (_waiting(rater, state, work), "between tasks"),
    )
    return RaterStanding(
        rater=rater,
        standing=next((name for reached, name in stages if reached), "done"),
        done=done,
        set_aside=sum(one.state == "set-aside" for one in work),
        open_since=is_open.given_at if is_open else None,
        seen_at=seen.get(rater.id),
        screens=len(seconds),
        median_s=median(seconds) if seconds else None,
        too_fast=sum(one < limit_s for one in seconds),
        attention=len(met := attention_items(file.preset, state, rater.id)),
        attention_wrong=sum(met),
    )


def attention_items(preset: Preset, state: StudyState, rater: int) -> list[bool]:
    """Return of each attention item that *rater* has done whether it was answered wrongly, oldest first."""
    return [
        is_wrong(preset, task, state.answers.get(one.id, {}))
        for one in state.assignments
        if one.rater == rater and one.state == "done" and (task := state.tasks[one.task]).attention
    ]


def _waiting(rater: Rater, state: StudyState, work: Sequence[Assignment]) -> bool:
    """Return whether *rater*, who has nothing open, could be given something."""
    given = Counter(one.task for one in state.assignments if one.counts)
    own = {one.task for one in work if one.state != "given-back"}
    return any(task.id not in own and is_for(task, rater.id, given[task.id]) for task in state.tasks.values())


def _balance(state: StudyState, work: Sequence[Assignment]) -> list[BalanceRow]:
    everyone = sum(one.takes_part for one in state.raters)
    groups: dict[tuple[int, str, str | None], list[Task]] = defaultdict(list)
    for task in state.tasks.values():
        if task.practice is None:
            groups[task.round, task.kind, task.system].append(task)
    states: dict[int, Counter[str]] = defaultdict(Counter)
    for one in work:
        states[one.task][one.state] += 1
    return [
        BalanceRow(
            kind=kind,
            round=round,
            system=system,
            tasks=len(tasks),
            wanted=sum(everyone if task.raters is None else task.raters for task in tasks),
            done=sum(states[task.id]["done"] for task in tasks),
            open=sum(states[task.id]["open"] for task in tasks),
            set_aside=sum(states[task.id]["set-aside"] for task in tasks),
        )
        for (round, kind, system), tasks in sorted(
            groups.items(), key=lambda group: (group[0][0], group[0][1], group[0][2] or "")
        )
    ]


def _times(seconds: Sequence[float]) -> list[tuple[str, int]]:
    edges = [0, *BOUNDS_S]
    found = [
        (f"{low} to {high} s", sum(low <= one < high for one in seconds))
        for low, high in zip(edges, BOUNDS_S, strict=False)
    ]
    return [*found, (f"{BOUNDS_S[-1]} s and more", sum(one >= BOUNDS_S[-1] for one in seconds))]
