"""
The turns of ``mahueval`` talks as records, and what was said of each.
"""

from __future__ import annotations

from dataclasses import dataclass

from replay.core.record import Timing, TurnRecord
from replay.study.results import TurnKey
from replay.study.steps import Answer
from replay.study.tasks import Assignment, StudyState, TalkTurn

POLICY = "live"
"""In a record's ``policy``: a person asked, after what the system had really said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedTurn:
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
        """Whether one of the passages is right, 0 or 1."""
        return None if self.rank is None else int(self.rank > 0)

    def found_within(self, k: int) -> float | None:
        """Whether a right passage is among the first *k*, 0 or 1."""
        return None if self.rank is None else float(0 < self.rank <= k)

    @property
    def key(self) -> TurnKey:
        record = self.record
        return TurnKey(record.system, record.policy, record.conversation, record.depth)


def judged_turns(state: StudyState) -> tuple[list[TurnRecord], list[JudgedTurn]]:
    """
    The turns of all talks that are done, and those of them that have an answer, with what was said of it.
    """
    talks = [one for one in state.done if state.tasks[one.task].kind == "talk"]
    reporting = {
        state.tasks[one.task].system
        for one in talks
        if any(turn.passages for turn in state.talks.get(one.id, ()))
    }
    names = {rater.id: rater.name for rater in state.raters}
    records: list[TurnRecord] = []
    judged: list[JudgedTurn] = []
    for talk in talks:
        said: tuple[object, ...] = ()
        answers = state.answers.get(talk.id, {})
        for turn in state.talks.get(talk.id, ()):
            kept = answers.get(f"turn-{turn.depth}")
            record = _record(state, talk, turn, kept.answer if kept else {})
            records.append(record)
            if kept is None or turn.answer is None:
                continue
            said = (*said, turn.question, turn.answer)
            rank = kept.answer.get("rank", 0)
            judged.append(
                JudgedTurn(
                    record=record,
                    rater=names[talk.rater],
                    said=(record.system, record.recorded_conversation, *said),
                    intent=str(kept.answer["intent"]),
                    correct=int(kept.answer["correct"]),
                    rank=int(rank) if record.system in reporting else None,
                )
            )
    return records, judged


def _record(state: StudyState, talk: Assignment, turn: TalkTurn, answer: Answer) -> TurnRecord:
    task = state.tasks[talk.task]
    conversation = f"{task.conversation}~{talk.id}"
    rank, elsewhere = int(answer.get("rank", 0)), answer.get("elsewhere")
    right = (turn.passages[rank - 1].id,) if rank else (str(elsewhere),) if elsewhere else ()
    return TurnRecord(
        system=task.system or "",
        policy=POLICY,
        conversation=conversation,
        depth=turn.depth,
        turn=f"{conversation}#{turn.depth}",
        recorded=turn.question,
        asked=turn.question,
        edit="kept",
        drift=None,
        outcome=turn.outcome or "skipped",
        answer=turn.answer,
        error=turn.error,
        gold_passages=right,
        passages=turn.passages,
        attempts=turn.attempts,
        timing=None if turn.latency_s is None else Timing(scheduled_s=0.0, sent_s=0.0, done_s=turn.latency_s),
        source=task.conversation,
    )
