"""
A run's conversations as rows: stored before anything is asked, each with a hash of its content.

By the hash a conversation is known again where the data around it changed. Readers call a log without an id
by its line, so that a line put before it gives every later one another name.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b

import msgspec

from replay.core.conversation import Conversation
from replay.store.schema import to_bytes, to_json
from replay.store.writer import Statement


def insert_conversation(position: int, conversation: Conversation) -> Statement:
    """Return the statement that keeps *conversation* at *position*, which no other has."""
    return Statement(
        "INSERT INTO conversation (position, id, turns, content, data) VALUES (?, CAST(? AS TEXT), ?, ?, ?)",
        (
            position,
            to_bytes(conversation.id),
            # After the most turns that a goal allows its user is asked once more; that is none.
            len(conversation.turns) - (conversation.goal is not None),
            content_hash(conversation),
            to_json(conversation),
        ),
    )


def content_hash(conversation: Conversation) -> str:
    """Return 32 hexadecimal digits over all but the conversation's id and ids that begin with it."""
    return blake2b(to_bytes(to_json(rename_conversation(conversation, ""))), digest_size=16).hexdigest()


def rename_conversation(conversation: Conversation, name: str) -> Conversation:
    """Return *conversation* with the id *name*, and ids that begin with its own changed likewise."""
    own = conversation.id

    def new(id: str) -> str:
        return name + id[len(own) :] if id.startswith(own) else id

    return msgspec.structs.replace(
        conversation,
        id=name,
        turns=tuple(
            msgspec.structs.replace(
                turn,
                id=new(turn.id),
                gold_passages=tuple(map(new, turn.gold_passages)),
                evidence=tuple(map(new, turn.evidence)),
            )
            for turn in conversation.turns
        ),
        passages=tuple(replace(passage, id=new(passage.id)) for passage in conversation.passages),
    )
