"""
What a resolver is given to read: a conversation's question after its last exchanges.
"""

from __future__ import annotations

from collections.abc import Sequence

from replay.core.conversation import Conversation
from replay.core.history import Exchange
from replay.coreference.resolver import Document


def recorded_document(conversation: Conversation, depth: int, *, window: int, background: bool) -> Document:
    """The question at *depth* (1-based) after the recorded ones; an unknown gold answer is left out."""
    turns = [
        Exchange(question=turn.question, answer=turn.gold_answer or "")
        for turn in conversation.turns[: depth - 1]
    ]
    question = conversation.turns[depth - 1].question
    return document_of(conversation, question, turns, window=window, background=background)


def document_of(
    conversation: Conversation, question: str, turns: Sequence[Exchange], *, window: int, background: bool
) -> Document:
    """*question* after the last *window* of *turns* and, with *background*, title, section and background."""
    return Document(
        question=question,
        turns=tuple(turns[max(0, len(turns) - window) :]),
        title=conversation.title if background else "",
        section=conversation.section if background else "",
        background=conversation.background if background else "",
    )
