"""
The turns of ``mahueval`` talks as records, and what was said of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from replay.core.conversation import Conversation
from replay.core.record import TurnRecord
from replay.study.presets.live import live_records
from replay.study.results import JudgedTurnKey
from replay.study.steps import Answer
from replay.study.tasks import Assignment, StudyState, TalkTurn


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedTurn:
    """A turn of a talk, and what the person who asked said of it."""

    record: TurnRecord
    rater: str
    said: tuple[object, ...]
    """All that was said so far, with this question and its answer, by which turns are told to be the same."""
    intent: str
    correct: int
    rank: int | None
    """Of the first right passage, 0 if none is right; None where its system never names passages."""

    @property
    def passage(self) -> int | None:
        """Return whether one of the passages is right, 0 or 1."""
        return None if self.rank is None else int(self.rank > 0)

    def found_within(self, k: int) -> float | None:
        """Return whether a right passage is among the first *k*, 0 or 1."""
        return None if self.rank is None else float(0 < self.rank <= k)

    @property
    def key(self) -> JudgedTurnKey:
        record = self.record
        return JudgedTurnKey(record.system, record.policy, record.conversation, record.depth)


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedTalk:
    """A talk that is done."""

    assignment: Assignment
    about: Conversation
    """The conversation of the data that is its topic."""
    turns: Sequence[TalkTurn]
    records: Sequence[TurnRecord]
    """One of each turn; its gold passage is the one that was called right."""
    judged: Sequence[RatedTurn]
    """Those with an answer."""


def judged_talks(state: StudyState) -> list[RatedTalk]:
    """All talks that are done, in the order in which they were begun."""
    talks = [one for one in state.done if state.tasks[one.task].kind == "talk"]
    reporting = {
        state.tasks[talk.task].system
        for talk in talks
        if any(turn.passages for turn in state.talks.get(talk.id, ()))
    }
    names = {rater.id: rater.name for rater in state.raters}
    found = []
    for talk in talks:
        task, turns = state.tasks[talk.task], state.talks.get(talk.id, ())
        said = {step: judgement.answer for step, judgement in state.answers.get(talk.id, {}).items()}
        records = [
            replace(record, gold_passages=_right_passage(record, said.get(f"turn-{record.depth}", {})))
            for record in live_records(talk, task.conversation, task.system or "", turns)
        ]
        judged = []
        before: tuple[object, ...] = (task.system, task.conversation)
        for record in records:
            answer = said.get(f"turn-{record.depth}")
            if answer is None or record.answer is None:
                continue
            before = (*before, record.asked, record.answer)
            judged.append(
                RatedTurn(
                    record=record,
                    rater=names[talk.rater],
                    said=before,
                    intent=str(answer["intent"]),
                    correct=int(answer["correct"]),
                    rank=int(answer.get("rank", 0)) if task.system in reporting else None,
                )
            )
        found.append(
            RatedTalk(
                assignment=talk,
                about=state.conversations[task.conversation],
                turns=turns,
                records=records,
                judged=judged,
            )
        )
    return found


def _right_passage(record: TurnRecord, answer: Answer) -> tuple[str, ...]:
    """Its id, where one was found by the system or by the person."""
    if rank := int(answer.get("rank", 0)):
        return (record.passages[rank - 1].id,)
    return (str(answer["elsewhere"]),) if "elsewhere" in answer else ()
