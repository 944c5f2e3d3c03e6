"""
What people said in a ``mahueval`` study: scores of turns, and how far they agree.

By turn, as the thesis has them: ``human_correct``, the answer's 0/1 (accuracy is its mean);
``human_passage``, 1 if any of the passages found for it is right; ``human_hr@k``, 1 if one among the first k
is (HR@k is the mean), for each k of 1, 3 and 5 that is no more than the passages ever found; ``human_mrr``,
1/rank of the first right passage, 0 if there is none. A turn for which nothing was found scores 0 where its
system names passages elsewhere in the study; one that never does is not judged by them, as with the scorers
of the same names (``scorers/retrieval.py``).

Two people agree or don't on what both judged: the same question to the same system about the same topic,
after the same conversation and with the same answer, as the first turns of the second round mostly are.
Passages have to be the same, too, where they are what is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from msgspec.structs import replace

from replay.core.conversation import Conversation
from replay.core.record import TurnRecord
from replay.statistics.people import HumanNumber, HumanTable, number_text
from replay.statistics.rater_agreement import RatedItem, Rating
from replay.statistics.rater_table import rater_agreement_of
from replay.study.preset import HumanScore, JudgedTurnKey, Results
from replay.study.presets.run_turns import LiveTalk, live_talks, share_number
from replay.study.tasks import Answer, StudyState

CUTOFFS = (1, 3, 5)
NO_PASSAGES = "the system names no passages"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedTalk:
    """A talk that is done."""

    talk: LiveTalk
    records: Sequence[TurnRecord]
    """One of each turn; its gold passage is the one that was called right."""
    judged: Sequence[RatedTurn]
    """Those with an answer."""


def judged_talks(state: StudyState) -> list[RatedTalk]:
    """Return all talks that are done, in the order in which they were begun."""
    talks = live_talks(state, lambda task: state.conversations[task.conversation])
    reporting = {talk.system for talk in talks if any(turn.passages for turn in talk.turns)}
    found = []
    for talk in talks:
        said = talk.answers
        records = [
            replace(record, gold_passages=_right_passage(record, said.get(f"turn-{record.depth}", {})))
            for record in talk.records()
        ]
        judged = []
        before: tuple[object, ...] = (talk.system, talk.about.id)
        for record in records:
            answer = said.get(f"turn-{record.depth}")
            if answer is None or record.answer is None:
                continue
            before = (*before, record.asked, record.answer)
            judged.append(
                RatedTurn(
                    record=record,
                    rater=talk.rater,
                    said=before,
                    intent=str(answer["intent"]),
                    correct=int(answer["correct"]),
                    rank=int(answer.get("rank", 0)) if talk.system in reporting else None,
                )
            )
        found.append(RatedTalk(talk=talk, records=records, judged=judged))
    return found


def _right_passage(record: TurnRecord, answer: Answer) -> tuple[str, ...]:
    """Its id, where one was found by the system or by the person."""
    if rank := int(answer.get("rank", 0)):
        return (record.passages[rank - 1].id,)
    return (str(answer["elsewhere"]),) if "elsewhere" in answer else ()


def results_of(state: StudyState) -> Results:
    """Return records, scores, tables and the talks themselves, in which what was judged correct is gold."""
    talks = judged_talks(state)
    judged = [turn for talk in talks for turn in talk.judged]
    return Results(
        records=[record for talk in talks for record in talk.records],
        conversations=[one.talk.conversation() for one in talks],
        scores=[score for turn in judged for score in _scores(turn, _cutoffs(judged))],
        tables=[_agreement(judged), _intents(judged), _by_conversation(judged)] if judged else [],
        data_set=[_with_gold(talk) for talk in talks],
    )


def _cutoffs(judged: Sequence[RatedTurn]) -> list[int]:
    most = max((len(turn.record.passages) for turn in judged), default=0)
    return [k for k in CUTOFFS if k <= most]


def _scores(turn: RatedTurn, cutoffs: Sequence[int]) -> list[HumanScore]:
    key = JudgedTurnKey.of(turn.record)
    values: dict[str, float | None] = {"human_correct": turn.correct, "human_passage": turn.passage}
    values |= {f"human_hr@{k}": turn.found_within(k) for k in cutoffs}
    if cutoffs:
        values["human_mrr"] = turn.rank and 1 / turn.rank
    return [
        HumanScore(name=name, turn=key, rater=turn.rater, value=None if value is None else float(value))
        for name, value in values.items()
    ]


# Tables ------------------------------------------------------------------------------------------------


def _agreement(judged: Sequence[RatedTurn]) -> HumanTable:
    compared = {
        "answer correct": _items(judged, lambda turn: turn.correct),
        "passage right": _items(judged, lambda turn: turn.passage, same_passages=True),
        "question intent": _items(judged, lambda turn: turn.intent),
    }
    totals = {name: rater_agreement_of(items).total for name, items in compared.items()}
    return HumanTable(
        title="Agreement on the same turns",
        columns=("judgement", "turns", "equal", "Cohen's kappa"),
        rows=[
            (name, total.shared, number_text(total.agreement, "share"), number_text(total.cohen))
            for name, total in totals.items()
        ],
        caption="Of turns that two people judged: the same question to the same system after the same "
        "conversation, with the same answer. Of more than two people it is the mean over pairs.",
    )


def _items(
    judged: Sequence[RatedTurn], value: Callable[[RatedTurn], Rating], *, same_passages: bool = False
) -> list[RatedItem]:
    """
    Return turns that are the same, with what each person said; of one who had a turn twice, the first time.
    """
    found: dict[object, dict[str, Rating]] = {}
    topics: dict[object, str] = {}
    for turn in judged:
        key = (turn.said, turn.record.passages if same_passages else None)
        found.setdefault(key, {}).setdefault(turn.rater, value(turn))
        topics[key] = turn.record.recorded_conversation
    return [RatedItem(conversation=topics[key], ratings=ratings) for key, ratings in found.items()]


def _intents(judged: Sequence[RatedTurn]) -> HumanTable:
    cells: dict[tuple[str, str], list[RatedTurn]] = {}
    for turn in sorted(judged, key=lambda turn: (turn.record.system, turn.intent)):
        cells.setdefault((turn.record.system, turn.intent), []).append(turn)
    return HumanTable(
        title="Kinds of questions",
        columns=("system", "intent", "questions", "accuracy", "right passage found"),
        rows=[
            (
                *cell,
                len(turns),
                _share(turns, lambda turn: turn.correct),
                _share(turns, lambda turn: turn.passage),
            )
            for cell, turns in cells.items()
        ],
    )


def _by_conversation(judged: Sequence[RatedTurn]) -> HumanTable:
    talks: dict[str, list[RatedTurn]] = {}
    for turn in judged:
        talks.setdefault(turn.record.conversation, []).append(turn)
    cutoffs = _cutoffs(judged)

    def mean(values: Sequence[float | None]) -> HumanNumber:
        known = [value for value in values if value is not None]
        return HumanNumber(
            value=fmean(known) if known else None, note="" if known else NO_PASSAGES, unit="share"
        )

    return HumanTable(
        title="By conversation",
        columns=(
            *("conversation", "system", "rater", "turns", "accuracy", "right passage found"),
            *(f"HR@{k}" for k in cutoffs),
        ),
        rows=[
            (
                *(conversation, turns[0].record.system, turns[0].rater, len(turns)),
                mean([turn.correct for turn in turns]),
                mean([turn.passage for turn in turns]),
                *(mean([turn.found_within(k) for turn in turns]) for k in cutoffs),
            )
            for conversation, turns in talks.items()
        ],
    )


def _share(turns: Sequence[RatedTurn], value: Callable[[RatedTurn], float | None]) -> HumanNumber:
    return share_number([(turn.record.recorded_conversation, value(turn)) for turn in turns], NO_PASSAGES)


def _with_gold(talk: RatedTalk) -> Conversation:
    """
    Return the talk as a conversation of a data set, with its topic's passages and those that were found.

    An answer that was judged correct is the gold answer of its question; of others none is known.
    """
    live = talk.talk.conversation()
    correct = {turn.record.depth for turn in talk.judged if turn.correct}
    named = [*live.passages, *(passage for record in talk.records for passage in record.passages)]
    passages = {passage.id: passage for passage in named}
    turns = [
        replace(
            turn,
            gold_answers=(record.answer,) if record.answer and record.depth in correct else (),
            gold_passages=tuple(id for id in record.gold_passages if id in passages),
        )
        for turn, record in zip(live.turns, talk.records, strict=True)
    ]
    return talk.talk.with_gold("mahueval", turns, passages.values())
