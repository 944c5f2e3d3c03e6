"""
A run that has been played, or is still being played: its records, its scores, its depth table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replay.core.adapter import RawReply
from replay.core.conversation import Conversation
from replay.core.decoding import convert_to
from replay.core.errors import RunError
from replay.core.expectation import CheckResult
from replay.core.record import TurnRecord
from replay.results.play_events import played_by, version_signatures
from replay.results.run_data import BAD
from replay.results.scoring import stored_columns, stored_scorers
from replay.scenario.reading import ScenarioFile, parse_scenario
from replay.scorers.scorer import Scorer
from replay.store.reader import DATABASE
from replay.store.rows import StoredVerdict, SupersededTurn
from replay.store.store import RunStore

if TYPE_CHECKING:
    import pandas as pd

    from replay.core.load_record import LagSummary
    from replay.results.notebook_display import NotebookView
    from replay.scorers.judges.judge import Case
    from replay.scorers.judges.tally import JudgeSummary
    from replay.statistics.attribution import GapAttribution
    from replay.statistics.interval import IntervalMethod
    from replay.statistics.load.load_summary import LoadSummary
    from replay.statistics.recorded import RecordedTurn
    from replay.statistics.run_comparison import ScoredRun
    from replay.statistics.run_numbers import FailureReason, Report
    from replay.statistics.score_column import ScoreColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """How far a run has come."""

    records: int
    skipped_conversations: int
    """Conversations of the data that could not be read and were skipped."""
    finished: bool
    lags: Mapping[str, LagSummary]
    """The event loop's lag in the run's last session while it asked each system with a wire, by name."""


class Run:
    """A run's folder, read again at every call but for its scenario: a run in progress can be looked at."""

    def __init__(self, folder: str | Path, *, scenario: ScenarioFile | None = None) -> None:
        """
        Open the run in *folder*; its *scenario* is given by who has just played it.

        Raises:
            RunError: there is no run in *folder*, or it comes from another version.
        """
        self.folder: Path = Path(folder)
        self._scenario = scenario
        self._store: RunStore | None = None
        with self._open_store():
            pass

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """Return the report as text and HTML."""
        return self._notebook_view().bundle

    def _ipython_display_(self) -> None:
        """Show the report with its figures in a notebook."""
        self._notebook_view().show()

    def _notebook_view(self) -> NotebookView:
        from replay.results.notebook_display import run_view

        title = f"{self.scenario().scenario.name} ({self.folder})"
        load = self.load_summary() if self.is_load() else None
        return run_view(title, load or self.report(), self.failures())

    @contextmanager
    def opened_once(self) -> Iterator[Run]:
        """Give the run with its database open: all that is read in the block goes through one connection."""
        run = copy(self)
        with self._open_store() as run._store:
            yield run

    @contextmanager
    def _open_store(self) -> Iterator[RunStore]:
        if self._store is not None:
            yield self._store
            return
        store = RunStore(self.folder)
        try:
            yield store
        finally:
            store.close()

    def _required_fact(self, key: str) -> Any:
        with self._open_store() as store:
            return store.required_fact(key)

    @property
    def id(self) -> str:
        """The run's own, by which its traces are known."""
        return str(self._required_fact("id"))

    def scenario(self) -> ScenarioFile:
        """Return the scenario as it was when the run began."""
        if self._scenario is None:
            facts = self._required_fact("scenario")
            self._scenario = parse_scenario(
                facts["text"], source=facts["source"], folder=Path(facts["folder"]), only_read=True
            )
        return self._scenario

    def state(self) -> RunState:
        """Return how far the run has come."""
        from replay.core.load_record import LagSummary

        with self._open_store() as store:
            lags = store.events("loop-lag")
            return RunState(
                records=store.count_records(),
                skipped_conversations=len(store.events(BAD)),
                finished=bool(store.fact("finished")),
                lags=convert_to(lags[-1], dict[str, LagSummary]) if lags else {},
            )

    def outcomes(self) -> dict[str, int]:
        """Return how many turns came to which outcome."""
        with self._open_store() as store:
            return store.outcomes()

    def failures(self) -> tuple[FailureReason, ...]:
        """Return each distinct reason for failed turns, most turns first; of turns that were kept alone."""
        from replay.statistics.run_numbers import FailedTurns, failure_reasons

        with self._open_store() as store:
            return failure_reasons(FailedTurns._make(row) for row in store.failures())

    def is_load(self) -> bool:
        """Return whether conversations were played again and again, under load."""
        with self._open_store() as store:
            return store.fact("load") is not None

    def records(self) -> list[TurnRecord]:
        """Return every record, by conversation in the data's order, system, policy and depth."""
        with self._open_store() as store:
            return list(store.records())

    def cases(self) -> list[Case]:
        """Return every record with its conversation and what its system was shown before it."""
        from replay.results.verdict_columns import turn_cases

        with self._open_store() as store:
            return turn_cases(store)

    def raw_replies(self) -> Iterator[RawReply]:
        """Yield the raw replies, as far as they were kept, in the order of the requests."""
        with self._open_store() as store:
            yield from store.raw_replies()

    def conversations(self) -> list[Conversation]:
        """Return the conversations as they were when the run began, in the data's order."""
        with self._open_store() as store:
            return list(store.conversations())

    def signatures(self) -> dict[str, str]:
        """
        Return the signature of each policy by its label; of the conversations (count and content hash) under
        ``data``; and of each system's tools under ``tools of NAME``.
        """
        digest, count = hashlib.sha256(), 0
        with self._open_store() as store:
            for data in store.conversation_texts():
                digest.update(data.encode("utf-8", "surrogatepass"))
                count += 1
            policies = version_signatures(played_by(store))
            tools = {f"tools of {name}": one for name, one in (store.fact("tools") or {}).items()}
        return {"data": f"conversations:{count}|sha256:{digest.hexdigest()[:12]}", **tools, **policies}

    def scorers(self) -> dict[str, Scorer[Any]]:
        """
        Return the run's scorers by label; columns of judges, checks and people last.

        They combine what was observed and observe nothing: no code that the run names is imported.
        """
        from replay.results.checking import check_scores
        from replay.results.recorded import recorded_scores
        from replay.results.verdict_columns import people_scores, verdict_scores

        with self._open_store() as store:
            of_others = {**verdict_scores(store), **check_scores(store), **people_scores(store)}
            of_others |= recorded_scores(store)
            return {**stored_scorers(store).by_label, **of_others}

    def judged(self) -> list[JudgeSummary]:
        """Return a summary of each judge: what judging cost, and how far its repeats lie apart."""
        from replay.results.verdict_columns import judged_of

        with self._open_store() as store:
            return judged_of(store)

    def verdicts(self, judge: str) -> list[StoredVerdict]:
        """Return one judge's verdicts with all evidence, by conversation in the data's order and depth."""
        with self._open_store() as store:
            return list(store.verdicts(judge))

    def checks(self) -> list[CheckResult]:
        """
        Return the result of each check with its turn, by conversation in the data's order, play and depth.
        """
        with self._open_store() as store:
            return list(store.checks())

    def recorded_turns(self) -> list[RecordedTurn]:
        """Return each turn held against the recorded answer; empty where that was not done (``recorded``)."""
        from replay.results.recorded import recorded_turns

        with self._open_store() as store:
            return list(recorded_turns(store))

    def compares_recorded(self) -> bool:
        """Return whether its answers were held against the recorded ones."""
        from replay.results.recorded import RECORDED

        with self._open_store() as store:
            return store.fact(RECORDED) is not None

    def endings(self) -> list[TurnRecord]:
        """Return how plays without recorded questions ended, each at the depth after its last turn."""
        with self._open_store() as store:
            return list(store.endings().values())

    def superseded(self) -> list[SupersededTurn]:
        """Return the earlier versions of turns that were asked again, in the order of their replacement."""
        with self._open_store() as store:
            return list(store.superseded_turns())

    def scored(self) -> tuple[list[TurnRecord], dict[str, ScoreColumn]]:
        """Return all records, and the scores of each, by the scorer's label."""
        scorers = self.scorers()
        with self._open_store() as store:
            records = list(store.records())
            return records, stored_columns(store, records, scorers)

    @contextmanager
    def scored_one_by_one(self) -> Iterator[tuple[Iterator[TurnRecord], dict[str, ScoreColumn]]]:
        """Yield an iterator of records, read one by one inside the block, and the scores as in ``scored``."""
        scorers = self.scorers()
        with self._open_store() as store, store.snapshot():
            columns = stored_columns(store, list(store.outlines()), scorers)
            yield store.records(), columns

    def _scored_outlines(self) -> tuple[list[TurnRecord], dict[str, ScoreColumn]]:
        """Return the same as ``scored``, but records without texts, which take much less memory."""
        scorers = self.scorers()
        with self._open_store() as store:
            records = list(store.outlines())
            return records, stored_columns(store, records, scorers)

    def report(self, *, resamples: int = 1000, method: IntervalMethod = "t") -> Report:
        """Return all that a report shows, with *resamples* samples for intervals of the kind *method*."""
        from replay.results.run_report import run_report

        with self.opened_once() as run, run._open_store() as store:
            records, columns = run._scored_outlines()
            return run_report(
                store,
                records,
                columns,
                with_user=run.policies_with_user(),
                failures=run.failures(),
                lags=run.state().lags,
                signatures=run.signatures(),
                resamples=resamples,
                method=method,
            )

    def policies_with_user(self) -> set[str]:
        """Return the labels of the policies under which a user may word turns that were recorded."""
        with self._open_store() as store:
            signatures = version_signatures(played_by(store))
        return {name for name, one in signatures.items() if one.startswith("policy:react")}

    def scored_run(self, name: str) -> ScoredRun:
        """Return the run's records, scores and checks for a comparison, in which it is called *name*."""
        from replay.statistics.run_comparison import ScoredRun

        records, scores = self.scored()
        return ScoredRun(
            name=name, records=records, scores=scores, signatures=self.signatures(), checks=self.checks()
        )

    def attribution(self, *, resamples: int = 1000) -> GapAttribution:
        """
        Return what the gap between ``gold`` and ``pred`` is made of, as far as the run's policies can tell.

        The parts are bounds: drift costs ``drift_at_least``, and wrong answers in the history cost
        ``wrong_answers_at_most``, since drift that no words mended is in that part as well. Both take
        ``replace: {always: true}`` and ``gold: {question: standalone}``; ``rewrite`` and ``augment`` alone
        give no bounds. ``replay.statistics.attribution`` has the definitions.

        Args:
            resamples: How often conversations are drawn for the intervals.

        Returns:
            A row for each score, system and policy that mends questions, and the gap by the drift verdict.
            Empty for a run without ``gold`` and ``pred``.
        """
        from replay.results.run_report import run_attribution
        from replay.store.page_queries import RunBrowser

        with closing(RunBrowser(self.folder)) as browser:
            return run_attribution(browser, self.scorers(), resamples=resamples)

    def load_summary(self, *, resamples: int = 1000) -> LoadSummary | None:
        """
        Return the numbers of a load run, by level, depth and over time; None for a run without load.

        Read with narrow queries: memory grows with the turns' numbers alone, some 100 bytes for each.
        """
        from replay.load.numbers import read_load_summary
        from replay.results.run_report import sampled_drift

        scorers = self.scorers()
        with self._open_store() as store:
            drift = sampled_drift(store, resamples=resamples, seed=store.fact("seed") or 0)
            return read_load_summary(store, scorers, resamples=resamples, drift=drift)

    def depth_table(self, *, resamples: int = 1000, method: IntervalMethod = "t") -> pd.DataFrame:
        """Return the depth table as a tidy frame; see ``DepthTable.to_frame`` for its columns."""
        from replay.results.run_report import run_table

        records, columns = self._scored_outlines()
        with self._open_store() as store:
            return run_table(store, records, columns, resamples=resamples, method=method).to_frame()

    def turns(self) -> pd.DataFrame:
        """Return one row per turn with the columns of ``replay.statistics.score_column.turn_columns``."""
        from replay.statistics.score_column import turns_frame

        return turns_frame(*self.scored())


def newest_run(runs: Path) -> Path:
    """
    Return the folder of the run in *runs* that was begun last.

    Raises:
        RunError: there is none.
    """
    found = [path.parent for path in runs.glob(f"*/{DATABASE}")]
    if not found:
        raise RunError(f'there is no run in "{runs}"; name a run\'s folder, or make one with `replay run`')
    return max(found, key=lambda folder: (folder / DATABASE).stat().st_ctime)
