"""A run that pages look at again and again, perhaps while it is written; and all runs below a folder."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import monotonic, sleep, time
from typing import Any

from replay.core.errors import ReplayError
from replay.report.numbers import headline
from replay.results.recorded import RECORDED
from replay.results.run import Run
from replay.results.verdict_columns import PEOPLE
from replay.scorers.scorer import SHARE, MeanScorer, Scorer, unit_of
from replay.statistics.group import Group, groups_in_order
from replay.store.page_queries import PlayProgress, RunBrowser
from replay.store.reader import DATABASE
from replay.viewer.conversation_index import ConversationIndex
from replay.viewer.conversation_view import ScoreKinds
from replay.viewer.overview import Facts, facts
from replay.viewer.run_numbers import NO_GATE, BrokenRule, GateResult, RunNumbers

QUIET_S = 15.0
"""A run that nothing was written to for so long, and that isn't finished, has stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run in the list of runs."""

    watched: LiveRun
    facts: Facts
    score: str
    """The share that is shown; empty without any."""
    means: Sequence[tuple[Group, float]]
    """Its mean over each system and policy's turns."""
    gate: GateResult | None
    """None while it is being computed."""


class LiveRun:
    """One run's database and what was computed from it. Methods may be called from any thread."""

    def __init__(self, key: str, folder: Path) -> None:
        """
        Raises:
            RunError: there is no run in *folder*, or it comes from another version.
        """
        self.key = key
        self.run: Run = Run(folder)
        self.browser: RunBrowser = RunBrowser(folder)
        self.name: str = str(self.browser.fact("name") or folder.name)
        self.is_load: bool = self.browser.fact("load") is not None
        self.has_people: bool = self.browser.fact(PEOPLE) is not None
        """It comes out of a study."""
        self.has_recorded: bool = self.browser.fact(RECORDED) is not None
        """Its answers were held against the recorded ones."""
        self.has_user: bool = bool(self.run.policies_with_user())
        """A user may word its turns."""
        self._lock = threading.RLock()
        # Of its own, so that nobody waits for the list who doesn't want it.
        self._list_browser = RunBrowser(folder)
        self._listing = threading.RLock()
        self._facts: tuple[tuple[int, str], Facts] | None = None
        self._row: tuple[Facts, tuple[str, list[tuple[Group, float]]]] | None = None
        self._scorers: tuple[int, Mapping[str, Scorer[Any]]] | None = None
        self._catalogue: ConversationIndex | None = None
        self.numbers: RunNumbers | None = None
        self.numbers_stamp: str = ""
        """Of the state of the run that the numbers are of; empty without numbers."""
        self._gate: tuple[str, GateResult] | None = None
        self._earliest = 0.0

    def close(self) -> None:
        self.browser.close()
        self._list_browser.close()

    def row(self) -> RunRow:
        """Return the run's row in the list of runs."""
        facts = self.facts()
        with self._lock:
            if self._row is None or self._row[0] is not facts:
                try:
                    self._row = facts, _means(self.browser, self.scorers())
                except ReplayError:  # a plug-in that it was scored with is gone
                    self._row = facts, ("", [])
            score, means = self._row[1]
        return RunRow(watched=self, facts=facts, score=score, means=means, gate=self.gate())

    @property
    def broken_rules(self) -> Sequence[BrokenRule]:
        """The rules that failed with their turns, as last computed; empty before that."""
        return self.numbers.broken if self.numbers else ()

    def gate(self) -> GateResult | None:
        """
        Return the result of the run's assertions; None if it has ended and they have not been computed yet.

        A run that has no assertions or has not ended has ``NO_GATE``.
        """
        facts = self.facts()
        if not facts.asserts or facts.state in ("running", "scoring"):
            return NO_GATE
        stamp = self.stamp()
        if self.numbers is not None and self.numbers_stamp == stamp:
            return self.numbers.gate
        return self._gate[1] if self._gate is not None and self._gate[0] == stamp else None

    def keep_gate(self, gate: GateResult, stamp: str) -> None:
        """Keep *gate*, of the run as *stamp* tells it."""
        self._gate = stamp, gate

    def progress(self) -> PlayProgress:
        return self.browser.progress()

    def state(self, progress: PlayProgress) -> str:
        """Return ``running``, ``scoring``, ``finished`` or ``stopped``."""
        kinds = {kind for _, kind in self.browser.events()}
        if progress.finished:
            return "finished" if "scored" in kinds or self._is_quiet() else "scoring"
        return "stopped" if self._is_quiet() else "running"

    def _is_quiet(self) -> bool:
        times = [
            path.stat().st_mtime
            for path in (self.browser.path, self.browser.path.with_name(self.browser.path.name + "-wal"))
            if path.exists()
        ]
        return time() - max(times, default=0.0) > QUIET_S

    def facts(self) -> Facts:
        """Return the facts that are known from counts, without computing scores."""
        with self._lock:
            state = self.state(self.progress())
            key = (self.browser.version(), state)
            if self._facts is None or self._facts[0] != key:
                self._facts = (key, facts(self.run, self.browser, state=state))
            return self._facts[1]

    def scorers(self) -> Mapping[str, Scorer[Any]]:
        """Return the run's scorers and its judges' columns."""
        with self._lock:
            events = self.progress().events
            if self._scorers is None or self._scorers[0] != events:
                self._scorers = (events, self.run.scorers())
            return self._scorers[1]

    def score_kinds(self) -> ScoreKinds:
        """Return the units of all scores, and the judges' names."""
        return ScoreKinds(
            units={name: unit_of(scorer) for name, scorer in self.scorers().items()},
            judges=[one.name for one in self.run.judged()],
        )

    def index(self) -> ConversationIndex:
        """Return the list of conversations, up to date; hold ``looking`` while you use it."""
        if self._catalogue is None:
            self._catalogue = ConversationIndex(self._list_browser, self.scorers())
        self._catalogue.refresh(self.scorers())
        return self._catalogue

    def warm_up(self) -> None:
        """Read what a list and a search need, so that the first who asks need not wait for it."""
        with self._listing:
            steps = self.index().warming_up()
        done = False
        while not done:
            sleep(0)  # whoever waits for the list comes first
            with self._listing:
                done = next(steps, None) is None

    @property
    def looking(self) -> threading.RLock:
        """One thread at a time."""
        return self._listing

    def stamp(self) -> str:
        """Return a text that changes whenever the run's numbers may have changed."""
        progress = self.progress()
        return f"{progress.turns}.{progress.newest}.{progress.events}"

    def wants_numbers(self) -> bool:
        """
        Return whether the numbers are missing or out of date, and it isn't too soon to compute them again.
        """
        return monotonic() >= self._earliest and self.numbers_stamp != self.stamp()

    def keep(self, numbers: RunNumbers, stamp: str, *, took_s: float) -> None:
        """
        Keep *numbers*, which were computed of the run as *stamp* tells it.

        While a run goes on that is done again and again, so most of the time is left to other things.
        """
        with self._lock:
            self.numbers, self.numbers_stamp = numbers, stamp
            self._earliest = monotonic() + max(0.5, 3 * took_s)

    def postpone(self, wait_s: float) -> None:
        """Compute nothing for so long; the last time failed, and would again."""
        self._earliest = monotonic() + wait_s


def _means(browser: RunBrowser, scorers: Mapping[str, Scorer[Any]]) -> tuple[str, list[tuple[Group, float]]]:
    """Return a share that is a mean over turns, and that mean by system and policy."""
    name = headline({n: SHARE for n, s in scorers.items() if unit_of(s) == SHARE and _is_mean(s)})
    means = {Group(system, policy): mean for system, policy, mean in browser.means(name)}
    return name, [(group, means[group]) for group in groups_in_order(means)]


def _is_mean(scorer: Scorer[Any]) -> bool:
    return isinstance(scorer, MeanScorer) and scorer.is_mean


class RunIndex:
    """The runs that are served: found anew at each look at the list."""

    def __init__(self, folders: Sequence[Path], below: Path) -> None:
        self._folders, self._below = list(folders), below
        self._watched: dict[str, LiveRun] = {}
        self.problems: dict[str, str] = {}
        """Runs that can't be read, and why."""

    def refresh(self) -> list[LiveRun]:
        """Return all runs that can be read, newest first or as they were named."""
        found = []
        for folder in find_runs(self._folders, self._below):
            key = self._key(folder)
            if key not in self._watched:
                try:
                    self._watched[key] = LiveRun(key, folder)
                except ReplayError as error:
                    self.problems[str(folder)] = str(error)
                    continue
                self.problems.pop(str(folder), None)
            found.append(self._watched[key])
        return found

    def _key(self, folder: Path) -> str:
        known = self._watched.get(folder.name)
        if known is None or known.run.folder == folder:
            return folder.name
        return f"{folder.name}~{sha256(str(folder).encode()).hexdigest()[:8]}"

    def get(self, key: str) -> LiveRun:
        """
        Return the run with that *key*.

        Raises:
            KeyError: there is no such run.
        """
        if key not in self._watched:
            self.refresh()
        return self._watched[key]

    def close(self) -> None:
        for watched in self._watched.values():
            watched.close()


def find_runs(folders: list[Path], below: Path) -> list[Path]:
    """Return *folders*, or all runs below *below*, newest first."""
    if folders:
        return folders
    found = [path.parent for path in below.glob(f"*/{DATABASE}")]
    return sorted(found, key=lambda folder: (folder / DATABASE).stat().st_ctime, reverse=True)
