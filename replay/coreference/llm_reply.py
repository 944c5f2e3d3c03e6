"""
What a model says a question leans on, checked: nothing of it is taken on trust that can be looked up.

A mention has to stand in the question and an antecedent in the history that it is said to come from, case,
spaces and the punctuation around it aside. Where each stands is found here, since models can't count
characters; the antecedent is the history's own wording.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import msgspec

from replay.core.asking.json_reply import first_object, json_problem
from replay.core.decoding import converted
from replay.core.drift_evidence import Drift, Mention, MentionDrift, MentionKind, Reading
from replay.coreference.drift_hard import mention_drift
from replay.coreference.mentions import is_possessive, kind_of
from replay.coreference.resolver import Document
from replay.coreference.words import PRONOUNS, words

T = TypeVar("T")

MODE = "llm"
VERSION = 1
"""Raised whenever the same replies could get another verdict."""

_AROUND = " \t\r\n\"“”„'‘’`.,;:?!"
_END = re.compile(r"[\s?!.…]*$")
_LATIN = r"[^\W\u0250-\U0010ffff]"
"""What may not go on where a text ends: in other scripts words may stand without spaces."""
_ONE_OF_SEVERAL = frozenset({"one", "ones", "other", "others"})
_BY_FIRST_WORD: dict[str, MentionKind] = {"the": "the-noun", "there": "there", "then": "then"}


class UnusableReplyError(ValueError):
    """Why a reply can't be used, in words for the model that gave it."""


class _Reference(msgspec.Struct):
    text: str
    recorded: str | None


class _ComparedReference(msgspec.Struct):
    text: str
    recorded: str | None
    own: str | None
    same: bool


class _Readings(msgspec.Struct):
    references: list[_Reference]


class _Comparison(msgspec.Struct):
    references: list[_ComparedReference]
    same_meaning: bool


def readings_in(reply: str, document: Document) -> tuple[Reading, ...]:
    """
    What the question of *document* leans on, in order of position.

    Raises:
        UnusableReplyError: *reply* holds no such list, or a mention or quote in it is nowhere to be found.
    """
    references = _read(reply, _Readings).references
    mentions = _mentions(document.question, [one.text for one in references])
    readings = (
        _reading(mention, one.recorded, document, "recorded")
        for mention, one in zip(mentions, references, strict=True)
    )
    return tuple(sorted(readings, key=_position))


def drift_in(reply: str, gold: Document, predicted: Document) -> Drift:
    """
    The verdict in *reply* on a question that stands in both documents.

    A mention's probability is 1 where the model says that it doesn't mean the same, else 0.

    Raises:
        UnusableReplyError: as for ``readings_in``, or the reply contradicts itself.
    """
    said = _read(reply, _Comparison)
    mentions = _mentions(gold.question, [one.text for one in said.references])
    found = [
        _compared(mention, one, gold, predicted)
        for mention, one in zip(mentions, said.references, strict=True)
    ]
    if said.same_meaning != all(one.same for one in said.references):
        raise UnusableReplyError(
            f'"same_meaning" is {str(said.same_meaning).lower()}, but "same" '
            + ("is false for a reference" if said.same_meaning else "is true for every reference")
        )
    return Drift(
        valid=said.same_meaning,
        mentions=tuple(sorted(found, key=lambda one: _position(one.gold))),
        mode=MODE,
        probability=0.0 if said.same_meaning else 1.0,
    )


def _read(reply: str, shape: type[T]) -> T:
    found: dict[str, Any] | None = first_object(reply, ("references",))
    if found is None:
        raise UnusableReplyError(json_problem(reply))
    try:
        return converted(found, shape)
    except msgspec.ValidationError as error:
        raise UnusableReplyError(f"the object has another form: {error}") from error


def _compared(mention: Mention, one: _ComparedReference, gold: Document, predicted: Document) -> MentionDrift:
    recorded = _reading(mention, one.recorded, gold, "recorded")
    own = _reading(mention, one.own, predicted, "own")
    sides = (("recorded", recorded), ("own", own))
    empty = [f'"{side}"' for side, reading in sides if reading.antecedent is None]
    if empty and one.same == (len(empty) == 1):
        raise UnusableReplyError(
            f'"same" is {str(one.same).lower()} for {_shown(one.text)}, but {" and ".join(empty)} '
            f"{'is' if one.same else 'are'} null"
        )
    found = mention_drift(recorded, own, probability=0.0 if one.same else 1.0)
    if found.state not in ("same", "drifted"):
        return found
    # "The band" and "King Crimson" share no word and may be the same all the same.
    return replace(found, state="same" if one.same else "drifted")


def _mentions(question: str, texts: Sequence[str]) -> list[Mention]:
    """Where each of *texts* stands; of equal expressions the first is the first one in the question."""
    found: list[Mention] = []
    looked_to: dict[str, int] = {}
    for text in map(str.strip, texts):
        if not text:
            if any(mention.kind == "ellipsis" for mention in found):
                raise UnusableReplyError(
                    'two references have an empty "text"; one has to say all that the question leaves out'
                )
            place = _end_of(question)
            found.append(Mention(start=place, end=place, text="", kind="ellipsis"))
            continue
        match = _pattern(text).search(question, looked_to.get(text.casefold(), 0))
        if match is None:
            often = " so often" if text.casefold() in looked_to else ""
            raise UnusableReplyError(f"{_shown(text)} does not stand in the question{often}")
        looked_to[text.casefold()] = match.end()
        found.append(
            Mention(
                start=match.start(),
                end=match.end(),
                text=match[0],
                kind=_kind(match[0]),
                possessive=is_possessive(match[0], question[match.end() :]),
            )
        )
    return found


def _end_of(question: str) -> int:
    """Where something could be added to *question*: before the punctuation at its end."""
    end = _END.search(question)
    assert end is not None
    return end.start()


def _kind(text: str) -> MentionKind:
    kind = kind_of(text)
    if kind != "other":
        return kind
    line = words(text)
    if _ONE_OF_SEVERAL.intersection(line):
        return "one"
    return _BY_FIRST_WORD.get(line[0], "other") if line else "other"


def _reading(mention: Mention, quote: str | None, document: Document, side: str) -> Reading:
    """*mention* as what *quote* says, in the wording of the history, with where that stands as its source."""
    text = (quote or "").strip(_AROUND)
    if not text:
        return Reading(mention=mention, antecedent=None)
    pattern = _pattern(text)
    for source, said in _said(document):
        if match := pattern.search(said):
            if source != "title" and (line := words(text)) and PRONOUNS.issuperset(line):
                raise UnusableReplyError(f'{_shown(text)} in "{side}" names nothing: quote the words that do')
            return Reading(mention=mention, antecedent=match[0], source=source)
    raise UnusableReplyError(
        f'{_shown(text)} in "{side}" does not stand in that history: copy its words letter by letter'
    )


def _said(document: Document) -> Iterator[tuple[str, str]]:
    """What a quote may come from, each with what it is called as a source; the newest turn first."""
    yield "title", document.title
    yield "section", document.section
    yield "background", document.background
    for turn in reversed(document.turns):
        yield "answer", turn.answer
        yield "question", turn.question


def _pattern(text: str) -> re.Pattern[str]:
    """Finds *text* as whole words, whatever its case, spaces and kind of apostrophe."""
    spaced = r"\s+".join(map(re.escape, text.split()))
    either = re.sub("['’]", "['’]", spaced)
    return re.compile(rf"(?<!{_LATIN}){either}(?!{_LATIN})", re.IGNORECASE)


def _position(reading: Reading) -> tuple[int, int]:
    return reading.mention.start, -reading.mention.end


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return f'"{line if len(line) <= 80 else line[:77] + "..."}"'
