"""
A data set's questions made independent of their context, from the recorded history alone: for data that
is to be used without any system, or that has no standalone questions of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from replay.core.conversation import Conversation
from replay.core.drift_evidence import Reading
from replay.coreference.reading.language import ENGLISH_ONLY, not_readable
from replay.coreference.reading.readings import read_all
from replay.coreference.reading.resolver import Resolver, recorded_document
from replay.coreference.reading.rewriting import MIN_PROBABILITY, certainty, rewrite

_SHOWN_ANTECEDENTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class StandaloneQuestion:
    """One question and what was made of it."""

    depth: int
    question: str
    """As recorded."""
    rewritten: str
    """Equal to the recorded one where nothing could be put better."""
    readings: tuple[Reading, ...]
    not_judged: str | None = None
    """Why the resolver can't read it, in words; it is left as it is."""

    @property
    def stands_alone(self) -> bool:
        """
        Return whether *rewritten* needs no context, as far as its mentions tell: it has none, or was mended.

        That something may be left out, and most probably isn't, makes no question lean on its context.
        """
        leans = any(reading.mention.text or reading.antecedent for reading in self.readings)
        return self.not_judged is None and (self.rewritten != self.question or not leans)


def standalone_questions(
    conversation: Conversation,
    resolver: Resolver,
    *,
    window: int = 6,
    background: bool = True,
    min_probability: float = MIN_PROBABILITY,
) -> tuple[StandaloneQuestion, ...]:
    """
    Return every question of *conversation*, rewritten to be understood on its own.

    A question in a language that *resolver* can't read stays as it is.

    Args:
        conversation: The conversation.
        resolver: Reads the questions' mentions.
        window: The number of recorded exchanges before a question that are read.
        background: Whether title, section and background are read as well.
        min_probability: Readings less probable than this change nothing, if *resolver* gives probabilities.
    """
    languages = getattr(resolver, "languages", ENGLISH_ONLY)
    unread = [not_readable(turn.question, conversation, languages) for turn in conversation.turns]
    documents = [
        recorded_document(conversation, depth, window=window, background=background)
        for depth in range(1, len(conversation.turns) + 1)
    ]
    readings = iter(
        read_all(resolver, [one for one, why in zip(documents, unread, strict=True) if why is None])
    )
    found = []
    for depth, (document, why) in enumerate(zip(documents, unread, strict=True), 1):
        read = next(readings) if why is None else ()
        found.append(
            StandaloneQuestion(
                depth=depth,
                question=document.question,
                rewritten=rewrite(document.question, read, min_probability=min_probability),
                readings=read,
                not_judged=why,
            )
        )
    return tuple(found)


def with_standalone(conversation: Conversation, questions: Sequence[StandaloneQuestion]) -> Conversation:
    """Return *conversation* with its standalone questions, where it has none and ours stands alone."""
    return replace(
        conversation,
        turns=tuple(
            replace(turn, standalone=q.rewritten) if turn.standalone is None and q.stands_alone else turn
            for turn, q in zip(conversation.turns, questions, strict=True)
        ),
    )


def evidence(conversation: Conversation, question: StandaloneQuestion) -> dict[str, Any]:
    """Return the question and the evidence for its wording, as plain values for JSON."""
    turn = conversation.turns[question.depth - 1]
    return {
        "conversation": conversation.id,
        "depth": question.depth,
        "turn": turn.id,
        "question": question.question,
        "rewritten": question.rewritten,
        "standalone": turn.standalone,
        "not_judged": question.not_judged,
        "mentions": [_mention(reading) for reading in question.readings],
    }


def _mention(reading: Reading) -> dict[str, Any]:
    mention = reading.mention
    return {
        "start": mention.start,
        "end": mention.end,
        "text": mention.text,
        "kind": mention.kind,
        "antecedent": reading.antecedent,
        "source": reading.source,
        "probability": certainty(reading) if reading.antecedent and reading.distribution else None,
        "distribution": [list(pair) for pair in reading.distribution[:_SHOWN_ANTECEDENTS]],
    }
