"""
One turn under one policy, taken apart: the edit, the mentions, the steps, the answer against gold; and the
pages that list turns, *Interventions* and *Recorded against now*.

What a user said in place of the recorded questions or after replies has a row each; a turn whose answer is
not shown to be the recorded one stands with both answers side by side.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from replay.core.drift_evidence import Drift
from replay.core.message import Message, ToolCall
from replay.core.record import Intervention, TurnRecord
from replay.core.terminal import ClippedText, clip
from replay.report.findings import MentionView, mention_views, short, why_invalid
from replay.report.numbers import NONE, duration, number, usd
from replay.statistics.recorded import VERDICTS, RecordedNumbers, RecordedRow, RecordedTurn, RecordedVerdict
from replay.statistics.users import OCCASIONS
from replay.store.page_queries import RunBrowser, TurnScore
from replay.store.rows import StoredVerdict
from replay.web import pages
from replay.web.pages import DiffPiece


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLimits:
    """How much of a long text is shown."""

    first: int = 1200
    most: int = 20_000
    passages: int = 5
    steps: int = 60
    """Messages of tools and of the system between a question and its answer."""

    def clip(self, text: str) -> ClippedText:
        return clip(text, first=self.first, most=self.most)

    def clip_passage(self, text: str) -> ClippedText:
        return clip(text, first=min(400, self.first), most=min(self.most, 4000))


Address = Callable[[str, int | None], str]
"""Where the page of a play is, by its id, or a turn on it, by its depth."""
_NAMES = 6
_NAME = 80
_LAID_OUT = 4_000
"""Longer arguments stay on their line: laid out, each level of nesting costs what all before it cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsView:
    """The steps of a turn."""

    title: str
    shown: Sequence[tuple[Message, str]]
    """Messages, each with how long what brought it took; empty where that isn't known."""
    more: int
    """Steps that are not shown."""


def steps_view(
    steps: Sequence[Message], times_s: Sequence[tuple[float, float]], room: TextLimits
) -> StepsView | None:
    """
    Return *steps*, which took *times_s* where that is known, as far as there is *room*; None without any.
    """
    if not steps:
        return None
    shown = steps[: room.steps]
    # To look up what was recorded takes no time worth a word.
    lasted = [end - begin for begin, end in times_s[: len(shown)]]
    took = [duration(one) if one >= 0.001 else "" for one in lasted]
    took += [""] * (len(shown) - len(took))
    return StepsView(
        title=_title(steps),
        shown=list(zip(shown, took, strict=True)),
        more=len(steps) - len(shown),
    )


def _title(steps: Sequence[Message]) -> str:
    names = [call.name[:_NAME] for step in steps for call in step.tool_calls]
    if not names:
        return f"{len(steps)} step{'s' * (len(steps) != 1)} before the answer"
    listed = ", ".join(names[:_NAMES]) + (", …" if len(names) > _NAMES else "")
    return f"{len(names):,} call{'s' * (len(names) != 1)} of tools: {listed}"


def laid_out(call: ToolCall) -> str:
    """
    Return the arguments of *call* with a line for each; as they are where they are no object, or very long.
    """
    arguments = call.parsed_arguments if len(call.arguments) <= _LAID_OUT else None
    if not isinstance(arguments, dict):
        return call.arguments
    try:
        return json.dumps(arguments, indent=2, ensure_ascii=False)
    except RecursionError:
        return call.arguments


class QuestionPart(NamedTuple):
    """Part of a question; a mention has its state."""

    text: str
    state: str = ""
    left_out: str | None = None
    """What the question leaves out here, where it does: as the gold history has it, or empty if unknown."""


class ScoreView(NamedTuple):
    """One score of a turn, or why there is none."""

    name: str
    value: str
    unscored: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnView:
    """One turn under one policy."""

    record: TurnRecord
    question: Sequence[DiffPiece]
    """As asked, against as recorded."""
    marked: Sequence[QuestionPart]
    """The recorded question with its mentions; empty without any."""
    mentions: Sequence[MentionView]
    why_invalid: str
    """Empty for a question that is valid, or was not judged."""
    drift_note: str
    steps: StepsView | None
    """What the system did before it answered."""
    answer_diff: Sequence[DiffPiece]
    gold_diff: Sequence[DiffPiece]
    scores: Sequence[ScoreView]
    verdicts: Sequence[StoredVerdict]
    timings: Sequence[tuple[str, str]]
    against: Sequence[str]
    """The failed assertions and objectives that it speaks against."""
    gold_passage_rank: int | None


def turn_view(
    record: TurnRecord,
    scores: Sequence[TurnScore],
    verdicts: Sequence[StoredVerdict],
    units: Mapping[str, str],
    room: TextLimits,
    against: Sequence[str] = (),
) -> TurnView:
    """Return one record, taken apart for a reader."""
    gold_diff, answer_diff = _answer_diff(record) or ((), ())
    ranks = (rank for rank, one in enumerate(record.passages, 1) if one.id in record.gold_passages)
    question = record.asked if len(record.asked) <= room.first else record.asked[: room.first] + " …"
    return TurnView(
        record=record,
        question=pages.edit(record.recorded, question)
        if record.asked != record.recorded and record.edit != "simulated"
        else [DiffPiece(text=question, kind="same")],
        marked=_question_parts(record.recorded, record.drift) if record.drift else (),
        mentions=mention_views(record.drift) if record.drift else (),
        why_invalid=why_invalid(record.drift) if record.drift else "",
        drift_note=_drift_note(record.drift) if record.drift else "",
        steps=steps_view(record.steps, record.step_times_s, room),
        answer_diff=answer_diff,
        gold_diff=gold_diff,
        scores=[_score(one, units.get(one.scorer, "")) for one in scores],
        verdicts=verdicts,
        timings=list(_timings(record)),
        against=against,
        gold_passage_rank=next(ranks, None),
    )


def _answer_diff(record: TurnRecord) -> tuple[Sequence[DiffPiece], Sequence[DiffPiece]] | None:
    """Against the gold answer that shares the most words with it; the recorded one where all share alike."""
    if record.answer is None or not record.gold_answers:
        return None
    words = set(record.answer.casefold().split())
    best = max(record.gold_answers, key=lambda gold: len(words & set(gold.casefold().split())))
    return pages.against(best, record.answer)


def _question_parts(question: str, drift: Drift) -> Sequence[QuestionPart]:
    found: list[QuestionPart] = []
    done = 0
    for one in sorted(drift.mentions, key=lambda one: (one.gold.mention.start, one.gold.mention.end)):
        start, end = one.gold.mention.start, one.gold.mention.end
        if not done <= start <= end <= len(question):
            continue
        is_ellipsis = one.gold.mention.kind == "ellipsis"
        if is_ellipsis or start < end:
            left_out = short(one.gold.antecedent or "") if is_ellipsis else None
            found += [
                QuestionPart(question[done:start]),
                QuestionPart(question[start:end], one.state, left_out),
            ]
            done = end
    return [*found, QuestionPart(question[done:])] if found else []


def _drift_note(drift: Drift) -> str:
    parts = [f"rule {drift.mode}"]
    if drift.probability:
        parts.append(f"probability of drift {drift.probability:.2f}")
    if drift.semantic and drift.semantic.answers is not None:
        parts.append(f"previous answers' likeness {drift.semantic.answers:.2f}")
    return ", ".join(parts)


def _score(one: TurnScore, unit: str) -> ScoreView:
    value = one.value
    if one.unscored is not None:
        return ScoreView(one.scorer, NONE, one.unscored)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return ScoreView(one.scorer, number(float(value), unit), None)
    return ScoreView(one.scorer, str(value)[:80], None)


def judged_score(value: Any, unit: str = "") -> str:
    """Return a value that a judge gave, or why it gave none."""
    if isinstance(value, Mapping):
        return str(value.get("reason", "no value"))
    return number(float(value), unit) if isinstance(value, int | float) else str(value)


def evidence_text(value: Any) -> str:
    """Return a judge's evidence, which is any JSON value, in a line or a few."""
    if isinstance(value, str):
        return value[:2000]
    if isinstance(value, list):
        return "\n".join(evidence_text(item) for item in value)[:2000]
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {evidence_text(item)}" for name, item in value.items())[:2000]
    return str(value)


def _timings(record: TurnRecord) -> Iterable[tuple[str, str]]:
    timing, usage = record.timing, record.usage
    if timing is not None:
        yield "latency", duration(timing.latency_s)
        if timing.ttft_s is not None:
            yield "first token", duration(timing.ttft_s)
        for part in ("queue", "prefill", "decode", "total") if timing.server else ():
            if (took_s := getattr(timing.server, f"{part}_s")) is not None:
                yield f"server's {part}", duration(took_s)
        if timing.lateness_s >= 0.001:
            yield "sent late by", duration(timing.lateness_s)
    if record.history_cut:
        yield "not shown of the history", record.history_cut
    if record.cached:
        yield "answer", "from the cache, not asked for"
    if record.asks > 1:
        yield "asks", str(record.asks)
    if record.attempts > record.asks:
        yield "attempts", str(record.attempts)
    if usage is not None and usage.prompt_tokens is not None:
        yield "prompt tokens", f"{usage.prompt_tokens:,}"
    if usage is not None and usage.completion_tokens is not None:
        yield "completion tokens", f"{usage.completion_tokens:,}"
    if record.cost_usd is not None and not record.cached:
        yield "cost", usd(record.cost_usd)


MOST_TURNS = 200
"""Turns of which a file has the interventions, and turns with both answers."""
LIST_LIMITS = TextLimits(first=400, most=4_000)


class ListedIntervention(NamedTuple):
    """One intervention."""

    record: TurnRecord
    said: Intervention
    reply: str | None
    """To what was said; None where nothing was, or no reply came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterventionsView:
    """The page's content."""

    counts: Sequence[tuple[str, int]]
    """Interventions by reason, all reasons that there are."""
    occasion: str
    """The reason that was chosen; empty for all."""
    rows: Sequence[ListedIntervention]
    turns: int
    """Turns with an intervention for that reason."""
    first: int
    """The first turn that is shown, from 0."""
    shown: int
    """Turns that are shown."""
    several: bool
    """Users did something with more than one system, or under more than one policy."""
    address: Address
    """Where the page of a turn is."""
    room: TextLimits = LIST_LIMITS


def interventions_view(
    browser: RunBrowser, address: Address, *, occasion: str = "", first: int = 0, count: int = MOST_TURNS
) -> InterventionsView:
    """
    Return what users did in the turns of a run.

    Args:
        browser: The run.
        address: Where the page of a turn is.
        occasion: Show those for this reason alone; empty for all.
        first: The first turn to show, from 0, of those with such an intervention.
        count: Turns to show at most.
    """
    counts = browser.occasions()
    chosen = occasion if occasion in OCCASIONS else ""
    records = browser.turns_with_interventions(chosen, first=first, count=count)
    return InterventionsView(
        counts=[(name, counts[name]) for name in OCCASIONS if name in counts],
        occasion=chosen,
        rows=[row for record in records for row in _said_in(record) if chosen in ("", row.said.occasion)],
        turns=browser.count_turns_with_interventions(chosen),
        first=first,
        shown=len(records),
        several=len(browser.groups_with_interventions()) > 1,
        address=address,
    )


def _said_in(record: TurnRecord) -> Iterator[ListedIntervention]:
    replies = _replies(record)
    said_after = 0
    for one in record.interventions:
        said_after += one.is_follow_up
        reply = replies[said_after] if one.said is not None and said_after < len(replies) else None
        yield ListedIntervention(record, one, reply)


def _replies(record: TurnRecord) -> list[str | None]:
    """Return the reply of each exchange of the turn; None where no text came."""
    replies: list[str | None] = []
    last = None
    for step in record.steps:
        if step.role == "user":
            replies.append(last)
            last = None
        elif step.role == "assistant" and step.text:
            last = step.text
    return [*replies, record.answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedView:
    """The page's content."""

    verdicts: Sequence[RecordedVerdict]
    rows: Sequence[RecordedRow]
    counts: Sequence[tuple[RecordedVerdict, int]]
    """How many of the turns that can be listed have which verdict."""
    turns: Sequence[RecordedTurn]
    of: int
    """Turns that can be listed: all that are not the same."""
    several: bool
    """There is more than one system or policy."""
    address: Address
    """Where the page of a turn is."""
    room: TextLimits = LIST_LIMITS


def recorded_view(recorded: RecordedNumbers | None, address: Address) -> RecordedView | None:
    """Return the page's content; None where answers were not held against recorded ones."""
    if recorded is None:
        return None
    counts = [(name, sum(row.counts[name] for row in recorded.totals)) for name in VERDICTS]
    return RecordedView(
        verdicts=VERDICTS,
        rows=recorded.rows,
        counts=[(name, count) for name, count in counts if count and name != "same"],
        turns=recorded.turns[:MOST_TURNS],
        of=len(recorded.turns),
        several=len(recorded.totals) > 1,
        address=address,
    )
