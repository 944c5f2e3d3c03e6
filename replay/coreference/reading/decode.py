"""
The network's output as readings: which words of the question lean on the history, on what, and how to say it.

A position of the question at which something has to be put is a mention: the words there that give way, or
none of them where something was left out. What is meant is a distribution over the spans of the history.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from replay.core.drift_evidence import Mention, Reading
from replay.coreference.reading import decisions
from replay.coreference.reading.mentions import PRONOUN_KINDS, ellipsis_of, find_mentions, kind_of
from replay.coreference.reading.network import Floats, NetworkOutput
from replay.coreference.reading.phrasing import AUXILIARIES, MentionSpans, PointedSpan, phrase
from replay.coreference.reading.sequence import LONGEST_SPAN, Role, Segment, TokenSequence
from replay.coreference.reading.words import comparable_words

LEAST_PROBABILITY = 0.05
"""That something leans at a position; less probable ones are not reported."""
_MEANT = 0.4
"""That something leans at a position, for its antecedent to be given."""
MOST_MENTIONS = 4
_MOST_SPANS = 12
_SHOWN_SPANS = 6
_INSERT, _DELETE, _POSSESSIVE = range(3)
_SOURCES = {Role.ANSWER: "answer", Role.ASKED: "question", Role.TITLE: "title", Role.BACKGROUND: "background"}


def readings(sequence: TokenSequence, output: NetworkOutput) -> tuple[Reading, ...]:
    """Return the readings of the question's mentions, in order of position."""
    found = places(sequence, output)
    left_out = max(
        (place for place in found if place.start == place.end), key=lambda p: p.probability, default=None
    )
    kept: list[Reading] = []
    for place in sorted(found, key=lambda place: -place.probability):
        reading = reading_at(sequence, output, place, place is left_out)
        if not any(_overlap(_extent(reading), _extent(other)) for other in kept):
            kept.append(reading)
    return tuple(sorted(kept, key=lambda reading: (reading.mention.start, -reading.mention.end)))


def _extent(reading: Reading) -> tuple[int, int]:
    return reading.mention.start, reading.mention.end


def places(sequence: TokenSequence, output: NetworkOutput) -> list[MentionSpans]:
    """Return where the question leans on its history, in order; none of them overlap."""
    if not sequence.history:
        return []
    question = sequence.question
    leaning = _sigmoid(output.tags[: len(question.tokens) + 2, _INSERT])
    found: list[MentionSpans] = []
    for position in np.argsort(-leaning, kind="stable"):
        probability = float(leaning[position])
        if probability < LEAST_PROBABILITY or len(found) == MOST_MENTIONS:
            break
        number = int(position) - question.first
        if number < 0 or (number < len(question.tokens) and not question.tokens[number].is_first):
            continue
        start, end = _giving_way(question, output, number)
        if start == end and not output.preposition[position].argmax():
            start, end = _pronoun_near(question.text, start, found)
        if not any(_overlap((start, end), (other.start, other.end)) for other in found):
            found.append(MentionSpans(int(position), start, end, probability))
    return sorted(found, key=lambda place: (place.start, place.end))


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one == other or (one[0] < other[1] and other[0] < one[1])


def _giving_way(question: Segment, output: NetworkOutput, number: int) -> tuple[int, int]:
    """Return the characters from token *number* on that are left out, whole words."""
    tokens = question.tokens
    if number >= len(tokens):
        at = tokens[-1].end if tokens else 0
        return at, at
    start = end = tokens[number].start
    n = number
    while n < len(tokens):
        stop = next((k for k in range(n + 1, len(tokens)) if tokens[k].is_first), len(tokens))
        if output.tags[question.first + n : question.first + stop, _DELETE].max() <= 0:
            break
        end = tokens[stop - 1].end
        n = stop
    first, _, rest = question.text[start:end].partition(" ")
    second = next(iter(rest.split()), "")
    if first.lower() in AUXILIARIES and kind_of(second) in PRONOUN_KINDS:
        start = end - len(rest)  # "do they": only the pronoun
    elif kind_of(first) in PRONOUN_KINDS and second.lower() in AUXILIARIES:
        end = start + len(first)  # and so of "they are"
    return start, end


def _pronoun_near(question: str, at: int, others: Sequence[MentionSpans]) -> tuple[int, int]:
    """Return the pronoun of *question* that what is put at *at* stands for; *at* where there is none."""
    free = [
        mention
        for mention in find_mentions(question)
        if (mention.kind in PRONOUN_KINDS or (mention.start == at and mention.kind in ("this", "that")))
        and not any(_overlap((mention.start, mention.end), (other.start, other.end)) for other in others)
    ]
    nearest = min(free, key=lambda mention: abs(mention.start - at), default=None)
    return (at, at) if nearest is None else (nearest.start, nearest.end)


def reading_at(
    sequence: TokenSequence, output: NetworkOutput, place: MentionSpans, is_ellipsis: bool
) -> Reading:
    """Return the reading of the mention at *place*; with *is_ellipsis*, of what the question leaves out."""
    question = sequence.question.text
    spans = _by_text(_spans(sequence, output, place.position))
    best = spans[0] if spans else None
    theirs = question[place.start : place.end].lower()
    possessive = bool(output.tags[place.position, _POSSESSIVE] > 0) or theirs in ("its", "their", "his")
    mention = _mention(question, place, possessive, is_ellipsis)
    reading = Reading(
        mention=mention,
        antecedent=best.text if best is not None and place.probability >= _MEANT else None,
        source=_SOURCES[best.segment.role] if best is not None else "",
        distribution=tuple(
            (place.probability * span.probability, span.text) for span in spans[:_SHOWN_SPANS]
        ),
    )
    if best is None:
        return reading
    worth = decisions.current().edit.probability(decisions.edit_features(place.probability, reading))
    start, end, put = phrase(question, output, place, best, possessive)
    elsewhere = (mention.start, mention.end) != (start, end)
    return replace(reading, put=put, put_at=(start, end) if elsewhere else None, worth=round(worth, 4))


def _mention(question: str, place: MentionSpans, possessive: bool, is_ellipsis: bool) -> Mention:
    """
    Return the mention at *place*: what is replaced, "the fee" that more is said of, or what was left out.

    Where more or less than a pronoun or a noun phrase gives way ("its amount", "that" of "that period"), the
    mention is that phrase all the same.
    """
    start, end = place.start, place.end
    shared = [
        (min(mention.end, end) - max(mention.start, start), mention) for mention in find_mentions(question)
    ]
    if start < end:
        text = question[start:end]
        whole = Mention(start=start, end=end, text=text, kind=kind_of(text), possessive=possessive)
        size, phrase = max(shared, key=lambda each: each[0], default=(0, whole))
        return phrase if size > 0 else whole
    for _, mention in shared:
        if mention.start < start <= mention.end + 1 and mention.kind in ("the-noun", "this-noun"):
            return mention
    if is_ellipsis:
        return ellipsis_of(question)
    return Mention(start=start, end=end, text="", kind="ellipsis")


def _spans(sequence: TokenSequence, output: NetworkOutput, position: int) -> list[PointedSpan]:
    """Return the most probable spans, each within one text and of whole words."""
    starts, ends = output.start_from(position), output.end_from(position)
    found: list[tuple[float, Segment, int, int]] = []
    total: list[float] = []
    for segment in sequence.history:
        count = len(segment.tokens)
        first, last = map(np.array, segment.edges())
        here = slice(segment.first, segment.first + count)
        scores = starts[here, None] + ends[None, here] + output.phrases(here)
        distance = np.arange(count)[None, :] - np.arange(count)[:, None]
        allowed = (distance >= 0) & (distance < LONGEST_SPAN) & first[:, None] & last[None, :]
        scores = np.where(allowed, scores, -np.inf)
        highest = float(scores.max())
        if not math.isfinite(highest):
            continue
        total.append(highest + math.log(float(np.exp(scores - highest).sum())))
        for flat in np.argsort(-scores, axis=None, kind="stable")[:_MOST_SPANS]:
            i, j = divmod(int(flat), count)
            if allowed[i, j]:
                found.append((float(scores[i, j]), segment, i, j))
    if not found:
        return []
    peak = max(total)
    normalizer = peak + math.log(sum(math.exp(t - peak) for t in total))
    found.sort(key=lambda one: -one[0])
    return [
        PointedSpan(
            math.exp(score - normalizer),
            _in_brackets(" ".join(segment.text[segment.tokens[i].start : segment.tokens[j].end].split())),
            segment,
            i,
        )
        for score, segment, i, j in found[:_MOST_SPANS]
    ]


def _in_brackets(text: str) -> str:
    """Return *text* without a closing bracket that nothing in it opens."""
    return text if "(" in text else text.removesuffix(")")


def _by_text(spans: Sequence[PointedSpan]) -> list[PointedSpan]:
    """Return *spans* with those of the same words as one, most probable first."""
    merged: dict[tuple[str, ...], PointedSpan] = {}
    for span in spans:
        key = tuple(comparable_words(span.text)) or (span.text.lower(),)
        known = merged.get(key)
        if known is None:
            merged[key] = span
        else:
            merged[key] = PointedSpan(
                known.probability + span.probability, known.text, known.segment, known.first
            )
    return sorted(merged.values(), key=lambda span: -span.probability)


def _sigmoid(logits: Floats) -> Floats:
    found: Floats = (1 / (1 + np.exp(-logits))).astype(np.float32)
    return found
