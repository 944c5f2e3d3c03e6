"""A conversation that is played several times: what each play is called, after its id in the data."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec.structs import replace

from replay.core.conversation import Conversation

_LIKE_A_REPETITION = re.compile(r"(~+)[0-9]+\Z")


def repetition_mark(ids: Iterable[str]) -> str:
    """
    Return the separator between a conversation's id and the number of its repetition.

    It is ``~``, repeated until no id of the data, *ids*, can be taken for a repetition's.
    """
    taken = (len(found[1]) for name in ids if (found := _LIKE_A_REPETITION.search(name)))
    return "~" * (max(taken, default=0) + 1)


def repetition_id(id: str, repetition: int, mark: str = "~") -> str:
    """
    Return the id of a *repetition* (from 1) of the conversation *id*, as ``album~2``; the first keeps *id*.

    *mark* is the separator that ``repetition_mark`` returns.
    """
    return id if repetition == 1 else f"{id}{mark}{repetition}"


def repeat_conversation(conversation: Conversation, repetition: int, mark: str = "~") -> Conversation:
    """Return *conversation* under its ``repetition_id``. All else is shared with *conversation*."""
    if repetition == 1:
        return conversation
    return replace(conversation, id=repetition_id(conversation.id, repetition, mark))
