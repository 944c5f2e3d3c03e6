"""
What the data expects, held against what was answered: each check with its evidence, and columns of scores.

A turn's column ``check`` is 1 where all of its checks hold, else 0; ``check.KIND`` and ``check.NAME`` speak
of one kind or name alone. The checks of a conversation's end count at its last turn, and in ``check.end``.
What could not be looked at is kept with its reason, and a turn with such a check and no failed one has no
value: it is never passed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from threading import Event

from replay.core.conversation import Conversation
from replay.core.errors import ReplayError
from replay.core.expectation import NO_CHECK, CheckResult, Expectation
from replay.core.logs import log_event
from replay.core.record import TurnRecord
from replay.results.scoring import stored_score
from replay.results.verdict_columns import StoredVerdicts
from replay.scorers.checks.bounded import FailedCallError
from replay.scorers.checks.check import CheckInput, CheckOutcome, Verdicts
from replay.scorers.checks.kinds import KINDS, check_of, columns_of
from replay.scorers.reference_score import why_unanswered
from replay.scorers.scorer import SHARE, Unscored
from replay.scorers.stored_scorer import StoredScorer
from replay.statistics.score_column import in_parts
from replay.store.store import RunStore

CHECKS = "checks"
"""The fact of a run that holds the signature of each column of its checks, by name and in order."""
NOTHING_TO_CHECK = Unscored(reason=NO_CHECK)
SKIPPED = "a turn that might have held it was skipped"


def check_scores(store: RunStore) -> dict[str, StoredScorer]:
    """Return a scorer for each column of checks, by the column's name."""
    return {
        column: StoredScorer(signature=signature, unit=SHARE, lower_is_better=False)
        for column, signature in (store.fact(CHECKS) or {}).items()
    }


def check_into(store: RunStore, stop: Event | None = None) -> None:
    """
    Look at every check of the run in *store*; what was found before gives way once all of it is there, or
    stays where *stop* is set before.

    Needs no system and no model but that of ``similar``; what judges find is read where they have judged.
    """
    store.settle()
    expecting = {one.id: one for one in store.expecting()}
    earlier = store.fact(CHECKS) or {}
    if not expecting and not earlier:
        return
    columns = _signatures(expecting.values())
    endings = store.endings()
    verdicts, under_load = StoredVerdicts(store), store.fact("load") is not None
    store.begin_staging()
    for part in in_parts(store.records()):
        if stop and stop.is_set():
            return
        for place, played in groupby(part, lambda r: (r.conversation, r.system, r.policy)):
            records = list(played)
            conversation = expecting.get(records[0].recorded_conversation)
            if conversation and conversation.goal and place in endings:
                conversation = conversation.up_to(records[-1].depth)
            checks = list(play_checks(conversation, records, verdicts, under_load)) if conversation else []
            store.add_checks(checks, anew=True)
            for column in columns:
                counted = [one for one in checks if column in one.columns]
                scores = [stored_score(record, check_value(record, counted)) for record in records]
                store.add_scores(column, scores, anew=True)
        store.settle()  # or they would pile up where they are made faster than written
    store.publish_staged(
        [*earlier, *columns], checks=True, facts={CHECKS: columns}, event=("checked", columns)
    )


def play_checks(
    conversation: Conversation, records: Sequence[TurnRecord], verdicts: Verdicts, under_load: bool
) -> Iterator[CheckResult]:
    """
    Yield the result of every check of *conversation* in one play of it.

    Args:
        records: The play's turn records, by depth; at least one.
        verdicts: The judges' verdicts, for checks that need them.
        under_load: The run is a load run, in which not every turn is counted.
    """
    by_depth = {record.depth: record for record in records}
    for depth in conversation.asked_depths:
        expected = conversation.turns[depth - 1].expect
        seen = [by_depth[depth]] if depth in by_depth else []
        yield from _looked_at(
            expected, seen, _why_not(records, seen, under_load), depth, records[0], verdicts
        )
    depth = len(conversation.turns)
    ended = records if depth in by_depth else []
    why = _why_not(records, ended, under_load)
    yield from _looked_at(conversation.expect, ended, why, depth, records[0], verdicts, at_end=True)


def _why_not(records: Sequence[TurnRecord], seen: Sequence[TurnRecord], under_load: bool) -> str | None:
    """Return why a check of the turns *seen* (one turn, or all of a play) can't be made; None if it can."""
    if not seen:
        last = records[-1]
        if under_load and not last.failed:
            return "not asked, or only counted under load"
        return f"not reached: {last.outcome if last.failed else 'the play ended'} before"
    reasons = [why.reason for record in seen if (why := why_unanswered(record))]
    if len(reasons) == len(seen):
        return reasons[0]
    # Of a turn that was skipped, `_looked_at` knows; one that failed is missing in the conversation.
    return next((reason for reason in reasons if reason != "skipped"), None)


def _looked_at(
    expected: Sequence[Expectation],
    seen: Sequence[TurnRecord],
    why_not: str | None,
    depth: int,
    any_record: TurnRecord,
    verdicts: Verdicts,
    *,
    at_end: bool = False,
) -> Iterator[CheckResult]:
    answered = tuple(record for record in seen if record.answer is not None)
    for position, one in enumerate(expected):
        found = CheckOutcome(passed=None, reason=why_not)
        if why_not is None:
            looks = CheckInput(records=answered, at_end=at_end, position=position, verdicts=verdicts)
            found = _outcome_of_check(one, looks)
            if found.lacking and len(answered) < len(seen):
                found = CheckOutcome(passed=None, reason=SKIPPED, evidence=found.evidence)
        yield CheckResult(
            conversation=any_record.conversation,
            system=any_record.system,
            policy=any_record.policy,
            depth=depth,
            at_end=at_end,
            position=position,
            kind=one.kind,
            called=one.called,
            value=one.value,
            passed=found.passed,
            reason=found.reason,
            evidence=found.evidence,
        )


def _outcome_of_check(expected: Expectation, seen: CheckInput) -> CheckOutcome:
    """Return the outcome of one check; an error in it becomes its outcome, so that other checks still run."""
    try:
        return check_of(expected).look(seen)
    except FailedCallError as error:
        return CheckOutcome(passed=None, reason=f"{expected.kind}: {error.reason}", evidence=error.message)
    except ReplayError:  # the run's database can't be read: no check's doing
        raise
    except Exception as error:  # noqa: BLE001 - any library's, over any answer; the log has the rest
        log_event(logging.INFO, "check not looked at", bug=error, kind=expected.kind)
        reason = f"{expected.kind}: fails with {type(error).__name__}"
        return CheckOutcome(passed=None, reason=reason, evidence=f"{error}")


def _signatures(expecting: Iterable[Conversation]) -> dict[str, str]:
    """Return the columns of all checks, each with the rules of the kinds that count in it."""
    rules: dict[str, dict[str, None]] = {}
    for conversation in expecting:
        asked = conversation.turns[conversation.asked_from - 1 :]
        expected = [(one, False) for turn in asked for one in turn.expect]
        for one, at_end in [*expected, *((one, True) for one in conversation.expect)]:
            named = KINDS[one.kind].rules
            for column in columns_of(one, at_end=at_end):
                rules.setdefault(column, {}).update({f"|{one.kind}:{named}": None} if named else {})
    return {column: f"{column}:all-hold{''.join(sorted(found))}" for column, found in rules.items()}


def check_value(record: TurnRecord, checks: Sequence[CheckResult]) -> float | Unscored:
    """Return whether all of *record*'s *checks* hold."""
    here = [one for one in checks if one.depth == record.depth]
    if any(one.passed is False for one in here):
        return 0.0
    reasons = [one.reason or "" for one in here if one.passed is None]
    if reasons or not here:
        return Unscored(reason=reasons[0]) if reasons else NOTHING_TO_CHECK
    return 1.0
