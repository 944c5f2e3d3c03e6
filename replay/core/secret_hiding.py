"""
Keys that this process has read from its environment, so that they get into nothing that is kept or shown.

A system may repeat a key that it was sent, in an answer or in an error, and answers are stored, scored, sent
back as history and put into reports. So every reply and every failure is looked through where it comes in,
whichever adapter it came by, and so is what goes to a log or to the terminal.

Kept for the whole process, and on purpose: a key that was read once must not get out at a place that
nobody thought of handing it to.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

from replay.core.errors import AdapterCutOffError, AdapterError

if TYPE_CHECKING:
    from replay.core.adapter import ChatReply

HIDDEN = "***"
SHORTEST = 8
LONGEST_WORD = 20

_parts: tuple[str, ...] = ()


def keep_secret(value: str) -> None:
    """
    Hide *value*, and each of its words, wherever a reply, a failure or a log would show it.

    Words that could as well be an answer's (fewer than 8 characters, or letters alone and fewer than 20)
    are left: an answer with stars in the place of "english" would be scored for what nobody said.
    """
    global _parts
    found = {form for word in (value, *value.split()) if _is_telling(word) for form in _forms(word)}
    if not found <= set(_parts):
        # The longest first, so that no part of one is left when a shorter one stands in it.
        _parts = tuple(sorted({*_parts, *found}, key=lambda part: (-len(part), part)))


def _is_telling(word: str) -> bool:
    return len(word) >= SHORTEST and (len(word) >= LONGEST_WORD or not word.isalpha())


def _forms(word: str) -> set[str]:
    """*word* as it may be written in a text, a JSON value or an address."""
    in_json = json.dumps(word)[1:-1]
    return {word, in_json, in_json.replace("/", "\\/"), quote(word), quote(word, safe=""), quote_plus(word)}


def hidden(text: str) -> str:
    """*text* with stars for every secret in it."""
    for part in _parts:
        if part in text:
            text = text.replace(part, HIDDEN)
    return text


def hide_in_reply(reply: ChatReply) -> ChatReply:
    """*reply* without secrets; itself where there are none in it."""
    if not _parts:
        return reply
    text = hidden(reply.text)
    passages = tuple(
        replace(passage, id=hidden(passage.id), title=hidden(passage.title), text=hidden(passage.text))
        for passage in reply.passages
    )
    if text != reply.text or passages != reply.passages:
        from msgspec.structs import replace as replace_in  # `replay --help` needs none of it

        # Tokens are of no use beside another text, and might spell the secret out.
        return replace_in(reply, text=text, passages=passages, logprobs=None)
    return reply


def hide_in_error(error: AdapterError) -> None:
    """Take the secrets out of *error*'s message and out of the partial answer it may hold."""
    if _parts:
        error.args = tuple(hidden(part) if isinstance(part, str) else part for part in error.args)
        if isinstance(error, AdapterCutOffError):
            error.partial = hidden(error.partial)
