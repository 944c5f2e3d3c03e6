"""
Plays of a run as ``ConversationalTestCase``s, DeepEval's conversations as ours, and its metrics as scorers.

A case holds what was really asked and answered, and what is known of it. Its metadata are JSON values, so
that DeepEval can save the cases and read them again. Its judges aren't shown them. Its metrics of single
turns are scorers of a run, so that their numbers are grouped by depth.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from deepeval.dataset import ConversationalGolden
from deepeval.errors import MissingTestCaseParamsError
from deepeval.metrics import BaseMetric
from deepeval.metrics.utils import copy_metrics
from deepeval.test_case import ConversationalTestCase, LLMTestCase, ToolCall, Turn
from msgspec.structs import replace

from replay.core.conversation import Conversation, Turn as RecordedTurn, UserGoal
from replay.core.errors import InputError
from replay.core.expectation import CheckResult
from replay.core.message import Message, ToolCall as RecordedCall, instructions, join_texts, json_text
from replay.core.record import TurnRecord
from replay.datasets.chat_log import ChatLogParser, ParsedMessage
from replay.datasets.data_file import SourceLocation
from replay.report.findings import why_invalid
from replay.results.run import Run
from replay.scorers.reference_score import mean, why_unanswered
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
            *(turn for one in talk.turns[: talk.asked_from - 1] for turn in _recorded_turns(one)),
            *(turn for one, known in zip(records, facts, strict=True) for turn in _played_turns(one, known)),
        ],
        scenario=_without_pictures(
            goal.wants or talk.metadata.get("scenario") or join_texts((talk.title, talk.section))
        )
        or None,
        expected_outcome=_without_pictures(
            goal.reached_when or talk.metadata.get("expected_outcome") or outcome
        )
        or None,
        chatbot_role=join_texts(one.text for one in instructions(talk.turns[0].asked_with)) or None,
        context=[_without_pictures(passage.text) for passage in talk.passages] or None,
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


def _recorded_turns(turn: RecordedTurn) -> Iterator[Turn]:
    yield Turn(role="user", content=_without_pictures(turn.question))
    if turn.gold_answer is not None:
        yield Turn(role="assistant", content=_without_pictures(turn.gold_answer))


def _played_turns(record: TurnRecord, facts: dict[str, Any]) -> Iterator[Turn]:
    if record.outcome == "skipped":
        return
    yield Turn(role="user", content=_without_pictures(record.asked))
    yield Turn(
        role="assistant",
        content=_without_pictures(record.answer or ""),
        latency_ms=None if record.timing is None else 1000 * record.timing.latency_s,
        retrieval_context=retrieved_texts(record),
        tools_called=tool_calls(record) or None,
        metadata=facts,
    )


def retrieved_texts(record: TurnRecord) -> list[str] | None:
    """Return the passages that the system says it retrieved, best first."""
    return [_without_pictures(passage.text) for passage in record.passages] or None


def _without_pictures(text: str) -> str:
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


HERE = Path("deepeval")


def as_conversations(
    goldens: Iterable[ConversationalGolden | ConversationalTestCase],
) -> list[Conversation]:
    """
    Return each of *goldens*, or test cases, as a conversation to replay: users' turns are its questions, the
    assistant's the gold answers, and calls of tools the recorded steps.

    It has their name as its id, or ``golden-N``. Scenario and expected outcome are metadata.

    Raises:
        InputError: one has no user's turn to ask.
    """
    return [_talk(one, f"golden-{number}").own for number, one in enumerate(goldens, 1)]


class ImportedConversation(NamedTuple):
    """A conversation that was played elsewhere."""

    own: Conversation
    """With the assistant's answers as they were."""
    gold: Conversation
    """With what its turns' metadata have as ``gold_answers``."""

    @property
    def records(self) -> list[TurnRecord]:
        """Each turn as a run would have recorded it."""
        return [
            TurnRecord(
                system="system",
                policy="pred",
                conversation=self.own.id,
                depth=depth,
                turn=own.id,
                recorded=gold.question,
                asked=own.question,
                edit="kept",
                drift=None,
                outcome="bad-reply" if own.gold_answer is None else "answered",
                answer=own.gold_answer,
                gold_answers=gold.gold_answers,
                steps=own.steps,
            )
            for depth, (own, gold) in enumerate(zip(self.own.turns, self.gold.turns, strict=True), 1)
        ]


def import_conversations(case: ConversationalTestCase) -> ImportedConversation:
    """
    Return a *case* that comes out of no run of ours.

    Raises:
        InputError: it has no user's turn.
    """
    return _talk(case, "case")


def _talk(one: ConversationalGolden | ConversationalTestCase, other_name: str) -> ImportedConversation:
    story, gold = ChatLogParser(), {}
    for turn in one.turns or ():
        calls = [
            RecordedCall(
                id=f"{len(story.turns)}-{number}",
                name=call.name,
                arguments=json_text(call.input_parameters or {}),
            )
            for number, call in enumerate(turn.tools_called or ())
        ]
        if calls:
            story.tell("assistant", ParsedMessage(calls=calls), None)
            results = [
                Message(role="tool", text=json_text(called.output), tool_call_id=call.id, name=call.name)
                for call, called in zip(calls, turn.tools_called, strict=True)
                if called.output is not None
            ]
            story.tell("tool", ParsedMessage(results=results), None)
        story.tell(turn.role, ParsedMessage(texts=[turn.content]), None)
        if turn.role == "assistant" and (turn.metadata or {}).get("gold_answers"):
            gold[len(story.turns)] = tuple(turn.metadata["gold_answers"])
    name = one.name or other_name
    if not story.turns:
        raise InputError(
            f'"{name}" has no turns of a user, and recorded questions are what is replayed; of a golden\'s '
            "scenario DeepEval's ConversationSimulator makes some"
        )
    facts = {"scenario": one.scenario, "expected_outcome": one.expected_outcome}
    known = {key: value for key, value in facts.items() if value}
    own = story.conversation(name, known, SourceLocation(path=HERE))
    turns = (replace(turn, gold_answers=gold.get(depth, ())) for depth, turn in enumerate(own.turns, 1))
    return ImportedConversation(own, replace(own, turns=tuple(turns)))


@dataclass(frozen=True)
class DeepEvalScorer:
    """
    Scores each turn with *metric*: the question as it was asked, the answer, the first gold answer, the
    passages that were retrieved and the tools that were called. No such metric is shown the history.

    Raises:
        TypeError: *metric* judges whole conversations.
    """

    metric: Any
    at_once: int = 8
    """Turns that are measured side by side."""

    def __post_init__(self) -> None:
        if not isinstance(self.metric, BaseMetric):
            name = type(self.metric).__name__
            raise TypeError(
                f"{name} is no metric of single turns (BaseMetric); for one of conversations write "
                f"deepeval.evaluate(as_test_cases(run), [{name}(...)])"
            )

    is_mean = True

    def check_installed(self) -> None:
        """It is; and a scorer with this method isn't tried with made-up turns, which would ask a judge."""

    def observe(self, records: Sequence[TurnRecord]) -> list[float | Unscored]:
        """
        Return a score for each record with an answer; none where the metric misses something, as a gold
        answer, or fails: as of our own judges, what was asked of the others is not lost for it.
        """
        with ThreadPoolExecutor(self.at_once) as threads:
            return list(threads.map(self._measure, records))

    def combine(self, observed: Iterable[float]) -> float:
        return mean(observed)

    @property
    def signature(self) -> str:
        model = self.metric.evaluation_model or "none"
        return f"deepeval:{type(self.metric).__name__}|model:{model}|deepeval:{version('deepeval')}"

    def _measure(self, record: TurnRecord) -> float | Unscored:
        if (why := why_unanswered(record)) is not None:
            return why
        case = LLMTestCase(
            name=f"{record.conversation}, depth {record.depth}",
            input=_without_pictures(record.asked),
            actual_output=_without_pictures(record.answer or ""),
            expected_output=next(map(_without_pictures, record.gold_answers), None),
            retrieval_context=retrieved_texts(record),
            tools_called=tool_calls(record),
        )
        (metric,) = copy_metrics([self.metric])  # or turns that are measured at once would share one's state
        try:
            return float(metric.measure(case, _show_indicator=False))
        except MissingTestCaseParamsError as error:
            return Unscored(reason=str(error))
        except Exception as error:  # noqa: BLE001 - anybody's metric, and any model's library below it
            return Unscored(reason=f"the metric failed: {type(error).__name__}: {error}")
