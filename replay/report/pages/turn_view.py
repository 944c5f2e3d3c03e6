"""
One turn under one policy, taken apart for a reader: the edit, the mentions, the answer against gold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replay.core.conversation import Passage
from replay.core.drift_evidence import Drift, MentionDrift, Reading
from replay.core.record import TurnRecord
from replay.report.pages import word_diff
from replay.report.pages.numbers import duration, number, usd
from replay.report.pages.safe_text import Clipped, clipped
from replay.report.pages.word_diff import Piece
from replay.store.browsing import TurnScore
from replay.store.stored import StoredVerdict

STATES = {
    "same": "same",
    "drifted": "drifted",
    "lost": "lost in the own history",
    "open": "open in the gold history",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How much of a long text is shown."""

    first: int = 1200
    most: int = 20_000
    passages: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """Part of a question; a mention has its state."""

    text: str
    state: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MentionRow:
    text: str
    gold: str
    gold_source: str
    own: str
    own_source: str
    state: str
    state_name: str
    overlap: str
    probability: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreShown:
    name: str
    value: str
    unscored: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeVote:
    voter: str
    values: str
    evidence: tuple[tuple[str, str], ...]
    replies: tuple[Clipped, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeVerdict:
    judge: str
    values: tuple[tuple[str, str], ...]
    votes: tuple[JudgeVote, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageShown:
    id: str
    title: str
    text: Clipped
    is_gold: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnShown:
    """One turn under one policy."""

    depth: int
    question: tuple[Piece, ...]
    """As asked, against as recorded."""
    edit: str
    edit_note: str | None
    mentions: tuple[MentionRow, ...]
    marked: tuple[Marked, ...]
    """The recorded question with its mentions; empty without any."""
    valid: bool | None
    drift_note: str
    outcome: str
    error: Clipped | None
    answer: Clipped | None
    partial: Clipped | None
    answer_diff: tuple[Piece, ...]
    gold_diff: tuple[Piece, ...]
    scores: tuple[ScoreShown, ...]
    verdicts: tuple[JudgeVerdict, ...]
    timings: tuple[tuple[str, str], ...]
    passages: tuple[PassageShown, ...]
    more_passages: int
    gold_passage_rank: int | None


def clip(text: str, room: Room) -> Clipped:
    return clipped(text, first=room.first, most=room.most)


def turn_shown(
    record: TurnRecord,
    scores: Sequence[TurnScore],
    verdicts: Sequence[StoredVerdict],
    units: Mapping[str, str],
    room: Room,
) -> TurnShown:
    """One record, taken apart for a reader."""
    diff = _answer_diff(record) if record.answer is not None else None
    gold = set(record.gold_passages)
    ranks = [rank for rank, passage in enumerate(record.passages, 1) if passage.id in gold]
    question = record.asked if len(record.asked) <= room.first else record.asked[: room.first] + " …"
    return TurnShown(
        depth=record.depth,
        question=tuple(
            word_diff.edit(record.recorded, question)
            if record.asked != record.recorded
            else [Piece(text=question, kind="same")]
        ),
        edit=record.edit,
        edit_note=record.edit_note,
        mentions=tuple(map(_mention, record.drift.mentions)) if record.drift else (),
        marked=_marked(record.recorded, record.drift) if record.drift else (),
        valid=None if record.drift is None else record.drift.valid,
        drift_note=_drift_note(record.drift),
        outcome=record.outcome,
        error=clip(record.error, room) if record.error else None,
        answer=None if record.answer is None else clip(record.answer, room),
        partial=clip(record.partial, room) if record.partial else None,
        answer_diff=tuple(diff[1]) if diff else (),
        gold_diff=tuple(diff[0]) if diff else (),
        scores=tuple(_score(one, units.get(one.scorer, "")) for one in scores),
        verdicts=tuple(_verdict(one, units, room) for one in verdicts),
        timings=tuple(_timings(record)),
        passages=tuple(_passage(one, gold, room) for one in record.passages[: room.passages]),
        more_passages=max(0, len(record.passages) - room.passages),
        gold_passage_rank=ranks[0] if ranks else None,
    )


def _answer_diff(record: TurnRecord) -> tuple[list[Piece], list[Piece]] | None:
    """Against the gold answer that shares the most words with it; the recorded one where all share alike."""
    assert record.answer is not None
    words = set(record.answer.casefold().split())
    if not record.gold_answers:
        return None
    best = max(record.gold_answers, key=lambda gold: len(words & set(gold.casefold().split())))
    return word_diff.against(best, record.answer)


def _mention(one: MentionDrift) -> MentionRow:
    return MentionRow(
        text=one.gold.mention.text,
        gold=_reading(one.gold),
        gold_source=one.gold.source,
        own=_reading(one.predicted),
        own_source=one.predicted.source,
        state=one.state,
        state_name=STATES.get(one.state, one.state),
        overlap=f"{one.overlap:.2f}",
        probability=f"{one.probability:.2f}",
    )


def _reading(reading: Reading) -> str:
    return "" if reading.antecedent is None else reading.antecedent


def _marked(question: str, drift: Drift) -> tuple[Marked, ...]:
    found: list[Marked] = []
    done = 0
    for one in sorted(drift.mentions, key=lambda mention: mention.gold.mention.start):
        start, end = one.gold.mention.start, one.gold.mention.end
        if not done <= start < end <= len(question):
            continue
        if start > done:
            found.append(Marked(text=question[done:start]))
        found.append(Marked(text=question[start:end], state=one.state))
        done = end
    if not found:
        return ()
    return (*found, Marked(text=question[done:])) if done < len(question) else tuple(found)


def _drift_note(drift: Drift | None) -> str:
    if drift is None:
        return ""
    parts = [f"rule {drift.mode}"]
    if drift.probability:
        parts.append(f"probability of drift {drift.probability:.2f}")
    if drift.semantic and drift.semantic.answers is not None:
        parts.append(f"previous answers' likeness {drift.semantic.answers:.2f}")
    return ", ".join(parts)


def _score(one: TurnScore, unit: str) -> ScoreShown:
    value = one.value
    if one.unscored is not None:
        return ScoreShown(name=one.scorer, value="–", unscored=one.unscored)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return ScoreShown(name=one.scorer, value=number(float(value), unit), unscored=None)
    return ScoreShown(name=one.scorer, value=str(value)[:80], unscored=None)


def _verdict(stored: StoredVerdict, units: Mapping[str, str], room: Room) -> JudgeVerdict:
    data = stored.data
    return JudgeVerdict(
        judge=stored.judge,
        values=tuple((name, _judged(v, units.get(name, ""))) for name, v in data.get("values", {}).items()),
        votes=tuple(
            JudgeVote(
                voter=str(vote.get("voter", "")),
                values=", ".join(
                    f"{name} {_judged(value, '')}".strip() for name, value in vote.get("values", {}).items()
                ),
                evidence=tuple(
                    (name, _flat(value)) for name, value in vote.get("evidence", {}).items() if value
                ),
                replies=tuple(
                    clip(ask.get("text") or ask.get("error") or "", room) for ask in vote.get("asks", [])
                ),
            )
            for repeat in data.get("repeats", [])
            for vote in repeat.get("votes", [])
        ),
    )


def _judged(value: Any, unit: str) -> str:
    if isinstance(value, Mapping):
        return str(value.get("reason", "no value"))
    return number(float(value), unit) if isinstance(value, int | float) else str(value)


def _flat(value: Any) -> str:
    """Evidence in a line or a few; whatever a judge keeps is JSON."""
    if isinstance(value, str):
        return value[:2000]
    if isinstance(value, list):
        return "\n".join(_flat(item) for item in value)[:2000]
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_flat(item)}" for name, item in value.items())[:2000]
    return str(value)


def _timings(record: TurnRecord) -> Iterable[tuple[str, str]]:
    timing = record.timing
    if timing is not None:
        yield "latency", duration(timing.latency_s)
        if timing.ttft_s is not None:
            yield "first token", duration(timing.ttft_s)
        if timing.lateness_s >= 0.001:
            yield "sent late by", duration(timing.lateness_s)
    if record.attempts > 1:
        yield "attempts", str(record.attempts)
    if record.usage is not None:
        if record.usage.prompt_tokens is not None:
            yield "prompt tokens", f"{record.usage.prompt_tokens:,}"
        if record.usage.completion_tokens is not None:
            yield "completion tokens", f"{record.usage.completion_tokens:,}"
    if record.cost_usd is not None:
        yield "cost", usd(record.cost_usd)


def _passage(passage: Passage, gold: set[str], room: Room) -> PassageShown:
    return PassageShown(
        id=passage.id,
        title=passage.title,
        text=clipped(passage.text, first=min(400, room.first), most=min(room.most, 4000)),
        is_gold=passage.id in gold,
    )
