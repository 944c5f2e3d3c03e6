"""
Keys that this process has read from its environment, so that they get into nothing that is kept or shown.

A system may repeat a key that it was sent, in an answer or in an error, and answers are stored, scored, sent
back as history and put into reports. So every reply and every failure is looked through where it comes in,
whichever adapter it came by, and so is what goes to a log or to the terminal. ``secret_encodings`` says in
which spellings a key is seen.

Kept for the whole process, and on purpose: a key that was read once must not get out at a place that
nobody thought of handing it to.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING
from urllib.parse import unquote

from replay.core.errors import AdapterCutOffError, AdapterError, readable
from replay.core.secret_encodings import SecretMatcher
from replay.core.secret_patterns import looks_random

if TYPE_CHECKING:
    from replay.core.adapter import ChatReply
    from replay.core.message import ToolCall

HIDDEN = "***"
SHORTEST = 8
LONGEST_WORD = 20

_PARTS_OF_ADDRESS = re.compile(r"[\s/?&=:;,@]+")
_INSIDE = r"(?:[^\"\\]|\\(?s:.))"
_STRING = re.compile(
    rf'(?:"({_INSIDE}{{1,80}}+)"\s*:\s*)?"({_INSIDE}*+)(?:"|\\?\Z)|^data: ?([^\s"{{[][^\r\n]*)', re.MULTILINE
)
"""A text in JSON with the key that it may stand under, or the data of an event that is no JSON.

From each quotation mark on there is a match, be it up to the text's end, so that no text is read twice."""

_known = SecretMatcher(())


def keep_secret(value: str) -> None:
    """
    Hide *value*, and each of its words, wherever a reply, a failure or a log would show it.

    Words that could as well be an answer's (fewer than 8 characters, or letters alone and fewer than 20)
    are left: an answer with stars in the place of "english" would be scored for what nobody said. Of what
    stands in an address each part that looks drawn by lot is a word, and so is all of it without escapes.
    """
    global _known
    words = {value, unquote(value), *value.split(), *filter(looks_random, _PARTS_OF_ADDRESS.split(value))}
    telling = {word for word in words if _is_telling(word.strip())}
    if not telling <= set(_known.plain):
        _known = SecretMatcher((*_known.plain, *telling))


def _is_telling(word: str) -> bool:
    return len(word) >= SHORTEST and (len(word) >= LONGEST_WORD or not word.isalpha())


def redact(text: str, more: Iterable[str] = (), *, cut: bool = False) -> str:
    """
    *text* with ``***`` for every secret in it, however it is spelled, and for the words in *more*.

    Where the text was *cut* off, half a secret at its end is hidden too.
    """
    words = SecretMatcher((*_known.plain, *more)) if more else _known
    return _mask(text, words.places(text, cut=cut))


def _mask(text: str, places: Iterable[tuple[int, int]]) -> str:
    pieces: list[str] = []
    done = 0
    for first, last in places:
        pieces += (text[done:first], HIDDEN)
        done = last
    return "".join((*pieces, text[done:])) if pieces else text


def redact_pieces(text: str) -> str:
    """
    *text*, a reply as it came, without secrets, also those that come in pieces.

    In a stream an answer's pieces are the texts under one key, event after event; so all texts under a key
    are looked through together.
    """
    if not _known.plain:
        return text
    text = redact(text)
    spans: dict[str | None, list[tuple[int, int]]] = {}
    for match in _STRING.finditer(text):
        spans.setdefault(match[1], []).append(match.span(2 if match[2] is not None else 3))
    found = [place for pieces in spans.values() if pieces[1:] for place in _over_pieces(text, pieces)]
    return _mask(text, sorted(found))


def _over_pieces(text: str, pieces: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Where in *pieces* of *text* parts of secrets stand that are whole in the pieces together."""
    starts = [0, *accumulate(last - first for first, last in pieces)]
    for begin, end in _known.places("".join(text[first:last] for first, last in pieces)):
        for number in range(bisect_right(starts, begin) - 1, bisect_left(starts, end)):
            first, last = pieces[number]
            if first < last:
                yield first + max(begin - starts[number], 0), min(first + end - starts[number], last)


def redact_reply(reply: ChatReply) -> ChatReply:
    """*reply* without secrets; itself where there are none in it."""
    if not _known.plain:
        return reply
    from msgspec.structs import replace as replace_in  # `replay --help` needs none of it

    def without(calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
        return tuple(replace_in(one, name=redact(one.name), arguments=redact(one.arguments)) for one in calls)

    text, calls = redact(reply.text), without(reply.tool_calls)
    steps = tuple(
        replace_in(one, text=redact(one.text), tool_calls=without(one.tool_calls)) for one in reply.steps
    )
    passages = tuple(
        replace(passage, id=redact(passage.id), title=redact(passage.title), text=redact(passage.text))
        for passage in reply.passages
    )
    if (text, passages, calls, steps) != (reply.text, reply.passages, reply.tool_calls, reply.steps):
        # Tokens are of no use beside another text, and might spell the secret out.
        found = {"text": text, "passages": passages, "tool_calls": calls, "steps": steps}
        return replace_in(reply, **found, logprobs=None)
    return reply


def redact_error(error: AdapterError) -> None:
    """
    Take the secrets out of *error*'s message and out of the partial answer it may hold.

    Then, and not before, a message that nobody could read for its length is cut.
    """
    error.args = tuple(readable(redact(part)) if isinstance(part, str) else part for part in error.args)
    if isinstance(error, AdapterCutOffError):
        error.partial = redact(error.partial, cut=True)
