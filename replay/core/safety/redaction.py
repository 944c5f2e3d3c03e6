"""
Keys that this process has read from its environment, so that they get into nothing that is kept or shown.

A system may repeat a key that it was sent, in an answer or in an error, and answers are stored, scored, sent
back as history and put into reports. So every reply and every failure is looked through where it comes in,
whichever adapter it came by, and so is what goes to a log or to the terminal.

A key is seen as it is, and as addresses, JSON and HTML pages spell it. Each sign of it that is no letter or
digit of ASCII may stand for itself or as an escape: ``%2b`` (and ``+`` for a space), ``\\u002B``, a backslash
before a quotation mark, a slash or another backslash, ``&#43;``, ``&#x2B;``, ``&amp;``. JSON in JSON has more
backslashes and nothing else, so up to eight are taken for one. Escapes of other escapes are not seen.

Kept for the whole process, and on purpose: a key that was read once must not get out at a place that
nobody thought of handing it to.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from html import escape
from itertools import accumulate
from typing import TYPE_CHECKING
from urllib.parse import unquote

from replay.core.errors import AdapterCutOffError, AdapterError, readable
from replay.core.safety.secret_detection import HIDDEN, looks_random

if TYPE_CHECKING:
    from replay.core.adapter import ChatReply
    from replay.core.message import ToolCall

SHORTEST = 8
LONGEST_WORD = 20

_PARTS_OF_ADDRESS = re.compile(r"[\s/?&=:;,@]+")
_INSIDE = r"(?:[^\"\\]|\\(?s:.))"
_STRING = re.compile(
    rf'(?:"({_INSIDE}{{1,80}}+)"\s*:\s*)?"({_INSIDE}*+)(?:"|\\?\Z)|^data: ?([^\s"{{[][^\r\n]*)', re.MULTILINE
)
"""A text in JSON with the key that it may stand under, or the data of an event that is no JSON.

From each quotation mark on there is a match, be it up to the text's end, so that no text is read twice."""

BEGINNING = 8
"""So many characters at the end of a text that was cut off may be the beginning of a word."""

_PLAIN = re.compile("[A-Za-z0-9]+")
_BACKSLASHES = r"\\{1,8}"
_BEGUN = re.compile(rf"(?:%\w?|{_BACKSLASHES}(?:u\w{{0,3}})?|&#?\w{{0,6}})?\Z")
"""An escape that a text breaks off in, or the text's end."""


@lru_cache(maxsize=1024)
def _sign(sign: str) -> str:
    """Return the pattern of *sign* in each of its spellings."""
    if _PLAIN.fullmatch(sign):
        return sign
    units = sign.encode("utf-16-be", "surrogatepass").hex()
    in_json = json.dumps(sign)[1:-1]
    forms = [
        f"(?i:{''.join(f'%{byte:02x}' for byte in sign.encode('utf-8', 'surrogatepass'))})",
        f"(?i:{''.join(f'{_BACKSLASHES}u{units[at : at + 4]}' for at in range(0, len(units), 4))})",
        f"&#0*{ord(sign)};",
        f"(?i:&#x0*{ord(sign):x};)",
    ]
    if escape(sign) != sign:
        forms.append(re.escape(escape(sign)))
    if sign == " ":
        forms.append(r"\+")
    if sign == "/" or (len(in_json) == 2 and in_json[0] == "\\"):
        forms.append(_BACKSLASHES + re.escape(in_json[-1]))
    return f"(?:{'|'.join((*forms, re.escape(sign)))})"


class SecretMatcher:
    """Some words, and how to find them."""

    def __init__(self, words: Iterable[str]) -> None:
        # The longest first, so that no part of one is left when a shorter one stands in it.
        self.plain: Sequence[str] = sorted(set(words), key=lambda word: (-len(word), word))

    @cached_property
    def _cores(self) -> set[str]:
        """Return of each word what is never escaped: to look for that is many times as fast."""
        return {max(_PLAIN.findall(word), key=len, default="") for word in self.plain}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(f"(?=({'|'.join(''.join(map(_sign, word)) for word in self.plain)}))")

    def places(self, text: str, *, cut: bool = False) -> list[tuple[int, int]]:
        """Return where they stand in *text*, in order; in a *cut* one also half a word at its end."""
        places = []
        if any(core in text for core in self._cores):
            places = [match.span(1) for match in self._pattern.finditer(text)]
        if cut:
            places = sorted([*places, *((begin, len(text)) for begin in self._starts_of_cut_words(text))])
        found: list[tuple[int, int]] = []
        for first, last in places:
            if found and first <= found[-1][1]:
                first, last = found[-1][0], max(last, found.pop()[1])
            found.append((first, last))
        return found

    def _starts_of_cut_words(self, text: str) -> Iterator[int]:
        """Yield where words begin that *text* breaks off in."""
        for word in self.plain:
            for match in re.finditer("".join(map(_sign, word[:BEGINNING])), text):
                end = match.end()
                for sign in word[BEGINNING:]:
                    following = re.compile(_sign(sign)).match(text, end)
                    if following is None:
                        break
                    end = following.end()
                if _BEGUN.match(text, end):
                    yield match.start()


_known = SecretMatcher(())


def keep_secret(value: str) -> None:
    """
    Hide *value*, and each of its words, wherever a reply, a failure or a log would show it.

    Words that could as well be an answer's (fewer than 8 characters, or letters alone and fewer than 20)
    are left: an answer with stars in place of "english" would be scored for what nobody said. Of what
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
    Return *text* with ``***`` for each known secret, however encoded, and for the words in *more*.

    Args:
        text: Any text.
        more: Further secrets, besides those that this process was given.
        cut: Whether the text was cut off; then half a secret at its end is masked too.
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
    Return the raw reply *text* without secrets, including those that are split into pieces.

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
    """Yield (begin, end) of each part of *text* that belongs to a secret in the joined *pieces*."""
    starts = [0, *accumulate(last - first for first, last in pieces)]
    for begin, end in _known.places("".join(text[first:last] for first, last in pieces)):
        for number in range(bisect_right(starts, begin) - 1, bisect_left(starts, end)):
            first, last = pieces[number]
            if first < last:
                yield first + max(begin - starts[number], 0), min(first + end - starts[number], last)


def redact_reply(reply: ChatReply) -> ChatReply:
    """Return *reply* without secrets; the same object if no secrets are known."""
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
