"""
Plays of a run as ``ConversationalTestCase``s: what was really asked and answered, and what is known of it.

The metadata are JSON values, so that DeepEval can save the cases and read them again. Its judges aren't shown
them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from deepeval.test_case import ConversationalTestCase, ToolCall, Turn

from replay.core.conversation import Conversation, Turn as RecordedTurn, UserGoal
from replay.core.expectation import CheckResult
from replay.core.message import instructions, join_texts
from replay.core.record import TurnRecord
from replay.report.drift_text import why_invalid
from replay.results.run import Run
from replay.scorers.scorer import Unscored
from replay.statistics.score_column import ScoreColumn

Play = tuple[str, str, str]
"""Conversation, system and policy."""


def as_test_cases(run: Run | str | Path) -> list[ConversationalTestCase]:
    """
    Return one case for each play of the run, or of the run in a folder, in the run's order.

    A case's ``metadata`` say which play it is and hold its ``scores`` by column, its ``checks``, and the
    turns that the policy did not ask (``not_asked``). Those of an assistant's turn have the keys of
    ``turn_facts``. What a system that gave no answer said is an empty turn; what was shown as recorded before
    the first question (``data.ask``) are turns without metadata.

    Raises:
        RunError: there is no such run.
    """
    run = run if isinstance(run, Run) else Run(run)
    records, columns = run.scored()
    talks = {talk.id: talk for talk in run.conversations()}
    checks: dict[Play, list[CheckResult]] = defaultdict(list)
    for check in run.checks():
        checks[check.conversation, check.system, check.policy].append(check)
    cases = []
    for play, positions in groupby(range(len(records)), key=lambda position: _play(records[position])):
        at = list(positions)
        played = [records[position] for position in at]
        scores = {name: column.at(at) for name, column in columns.items()}
        case = _case(talks[played[0].recorded_conversation], played, scores, checks[play])
        case.metadata["run"] = run.folder.name
        cases.append(case)
    return cases


def _play(record: TurnRecord) -> Play:
    return record.conversation, record.system, record.policy


def _case(
    talk: Conversation,
    records: Sequence[TurnRecord],
    scores: Mapping[str, ScoreColumn],
    checks: Sequence[CheckResult],
) -> ConversationalTestCase:
    first, facts = records[0], turn_facts(records, scores)
    rubrics = [one.value for one in talk.expect if one.kind == "rubric"]
    goal = talk.goal or UserGoal(wants="")
    outcome = join_texts(one if isinstance(one, str) else one["text"] for one in rubrics)
    return ConversationalTestCase(
        name=f"{first.conversation} ({first.system}, {first.policy})",
        turns=[
            *(turn for one in talk.turns[: talk.asked_from - 1] for turn in _recorded(one)),
            *(turn for one, known in zip(records, facts, strict=True) for turn in _played(one, known)),
        ],
        scenario=without_pictures(
            goal.wants or talk.metadata.get("scenario") or join_texts((talk.title, talk.section))
        )
        or None,
        expected_outcome=without_pictures(
            goal.reached_when or talk.metadata.get("expected_outcome") or outcome
        )
        or None,
        chatbot_role=join_texts(one.text for one in instructions(talk.turns[0].asked_with)) or None,
        context=[without_pictures(passage.text) for passage in talk.passages] or None,
        metadata={
            "system": first.system,
            "policy": first.policy,
            "conversation": first.recorded_conversation,
            "repeat": first.repeat,
            **play_scores(scores),
            "checks": [_check(one) for one in checks],
            "not_asked": [one for one in facts if one["outcome"] == "skipped"],
        },
    )


def play_scores(scores: Mapping[str, ScoreColumn]) -> dict[str, Any]:
    """
    Return the ``scores`` of a whole play, None for one without a value, and the names in ``lower_is_better``.
    """
    values = {
        name: column.value([place for place in range(len(column.observed)) if column.is_scored(place)])
        for name, column in scores.items()
    }
    costs = [name for name, column in scores.items() if column.lower_is_better]
    return {"scores": values, "lower_is_better": costs}


def turn_facts(records: Sequence[TurnRecord], scores: Mapping[str, ScoreColumn]) -> list[dict[str, Any]]:
    """
    Return the facts about each turn, as JSON values.

    Args:
        records: Turn records.
        scores: Score columns over *records*.

    Returns:
        A mapping for each turn: ``depth``, ``recorded`` and ``asked`` (questions), ``edit``, ``outcome``,
            ``answer``, ``error``, ``gold_answers``; ``valid``, the drift verdict, and ``drift``, why it is
            invalid; ``scores`` by column, or the reason in ``unscored``.
    """
    return [
        {
            "depth": record.depth,
            "recorded": record.recorded,
            "asked": record.asked,
            "edit": record.edit,
            "outcome": record.outcome,
            "answer": record.answer,
            "error": record.error,
            "gold_answers": list(record.gold_answers),
            "valid": record.drift and record.drift.valid,
            "drift": why_invalid(record.drift) if record.drift else "",
            "scores": {
                name: column.value([place]) for name, column in scores.items() if column.is_scored(place)
            },
            "unscored": {
                name: column.observed[place].reason
                for name, column in scores.items()
                if isinstance(column.observed[place], Unscored)
            },
        }
        for place, record in enumerate(records)
    ]


def _recorded(turn: RecordedTurn) -> Iterator[Turn]:
    yield Turn(role="user", content=without_pictures(turn.question))
    if turn.gold_answer is not None:
        yield Turn(role="assistant", content=without_pictures(turn.gold_answer))


def _played(record: TurnRecord, facts: dict[str, Any]) -> Iterator[Turn]:
    if record.outcome == "skipped":
        return
    yield Turn(role="user", content=without_pictures(record.asked))
    yield Turn(
        role="assistant",
        content=without_pictures(record.answer or ""),
        latency_ms=None if record.timing is None else 1000 * record.timing.latency_s,
        retrieval_context=retrieved(record),
        tools_called=tool_calls(record) or None,
        metadata=facts,
    )


def retrieved(record: TurnRecord) -> list[str] | None:
    """Return the passages that the system says it retrieved, best first."""
    return [without_pictures(passage.text) for passage in record.passages] or None


def without_pictures(text: str) -> str:
    """
    Return *text* without DeepEval's mark of a picture: it would send judges whatever file an answer names.
    """
    return text.replace("[DEEPEVAL:", "[DEEPEVAL :")


def tool_calls(record: TurnRecord) -> list[ToolCall]:
    """Return the tools that the system called on its way to the answer, in order, with what they came to."""
    results = {step.tool_call_id: step.text for step in record.steps if step.role == "tool"}
    return [
        ToolCall(
            name=call.name,
            # DeepEval knows arguments by name only, and what a model writes may be anything.
            input_parameters=found if isinstance(found := call.parsed_arguments, dict) else {"": found},
            output=results.get(call.id),
        )
        for step in record.steps
        for call in step.tool_calls
    ]


def _check(check: CheckResult) -> dict[str, Any]:
    return {
        "depth": check.depth,
        "where": check.where,
        "asked": check.asked,
        "rule": check.rule,
        "passed": check.passed,
        "evidence": check.evidence,
        "reason": check.reason,
    }
