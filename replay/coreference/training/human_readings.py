"""
What people meant by a question's mentions, read off their rewrite of the question.

The question is aligned with a rewrite that needs no history (CANARD, CAsT, iKAT); what stands in a
mention's place is its right reading. Training learns from it, and ``benchmarks/drift.py`` measures
with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from replay.core.drift_evidence import Mention
from replay.coreference.reading.mentions import PRONOUN_KINDS
from replay.coreference.reading.words import content_words, tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class RightReading:
    """What people put in a mention's place."""

    status: Literal["resolved", "left", "undecided"]
    """``left``: nothing in the question was changed. ``undecided``: the alignment doesn't tell."""
    words: tuple[str, ...] = ()


def right_readings(question: str, rewritten: str, mentions: Sequence[Mention]) -> list[RightReading]:
    """
    Return the right reading of each mention, taken from the text that replaces it in the human rewrite.

    That of an ellipsis are the words that people added and that stand in no other mention's place.
    """
    old, new = tokens(question), tokens(rewritten)
    matcher = SequenceMatcher(None, [t.normal for t in old], [t.normal for t in new], autojunk=False)
    edits = [edit for edit in matcher.get_opcodes() if edit[0] != "equal"]
    in_question = set(content_words(question))
    readings = []
    placed: set[int] = set()
    for mention in mentions:
        if mention.kind == "ellipsis":
            break
        place = [i for i, t in enumerate(old) if mention.start <= t.start and t.end <= mention.end]
        first, end = place[0], place[-1] + 1
        put: list[str] = []
        touched = False
        for number, (_, a, b, c, d) in enumerate(edits):
            replaced = a < end and b > first
            # "the album" -> "the album X" adds words behind or inside a mention that has a noun
            added = a == b and (a == end or first < a <= end) and mention.kind not in PRONOUN_KINDS
            if replaced or added:
                touched = True
                placed.add(number)
                put += [word for t in new[c:d] for word in content_words(t.text)]
        if not touched:
            readings.append(RightReading(status="left"))
            continue
        if mention.kind != "this-noun":
            put = [word for word in put if word not in in_question]
        readings.append(RightReading(status="resolved" if put else "undecided", words=tuple(put)))
    if any(reading.status == "resolved" for reading in readings):
        # People name each thing once, so a pronoun left as it was tells nothing then.
        readings = [RightReading(status="undecided") if r.status == "left" else r for r in readings]
    if len(readings) < len(mentions):
        put = [
            word
            for number, (_, _, _, c, d) in enumerate(edits)
            if number not in placed
            for t in new[c:d]
            for word in content_words(t.text)
            if word not in in_question
        ]
        readings.append(RightReading(status="resolved" if put else "left", words=tuple(put)))
    return readings
