"""
What a model says a question leans on, checked: nothing of it is taken on trust that can be looked up.

A mention has to stand in the question, an antecedent's words in the history that it is said to come from
(``quotes``). Where each stands is found here, since models can't count characters; the
antecedent is the history's own wording. The question as it was meant, for someone who has heard nothing, has
to name what was quoted (``replay.coreference.service.quotes``). The first reading carries it
(``Reading.put``), for whoever rewrites; the verdict never looks at it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar

import msgspec

from replay.core.asking.prompt import first_object, json_problem
from replay.core.decoding import convert_to
from replay.core.drift_evidence import Drift, Mention, MentionDrift, MentionKind, Reading
from replay.coreference.reading.mentions import is_possessive, kind_of
from replay.coreference.reading.resolver import Document
from replay.coreference.reading.verdict import mention_drift
from replay.coreference.reading.words import PRONOUNS, words
from replay.coreference.service.quotes import (
    QuotedText,
    find_quote,
    pattern_of,
    plain,
    shorten_quote,
    wording_fault,
)

T = TypeVar("T")

MODE = "llm"
VERSION = 2
"""Raised whenever the same replies could get another verdict."""

_AROUND = " \t\r\n\"“”„'‘’`.,;:?!"
_END = re.compile(r"[\s?!.…]*$")
_ONE_OF_SEVERAL = frozenset({"one", "ones", "other", "others"})
_BY_FIRST_WORD: dict[str, MentionKind] = {"the": "the-noun", "there": "there", "then": "then"}


class UnusableReplyError(ValueError):
    """Why a reply can't be used, in words for the model that gave it."""


_Texts = Sequence[QuotedText]


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
    standalone: str | None = None


class _Comparison(msgspec.Struct):
    references: list[_ComparedReference]
    meaning: Literal["same", "other", "nothing"]
    standalone: str | None = None


def readings_in(reply: str, document: Document, *, needs_wording: bool = True) -> tuple[Reading, ...]:
    """
    Return what the question of *document* leans on, in order of position.

    Args:
        reply: What the model replied.
        document: What it was shown.
        needs_wording: Whether a wording that can't be used is a fault. Otherwise it is left out.

    Raises:
        UnusableReplyError: *reply* holds no such list, a mention or quote in it is nowhere to be found, or
            its wording doesn't name what is quoted.
    """
    said = _read(reply, _Readings)
    texts = _texts(document)
    mentions = _mentions(document.question, [one.text for one in said.references])
    readings = (
        _reading(mention, one.recorded, texts, "recorded")
        for mention, one in zip(mentions, said.references, strict=True)
    )
    in_order = sorted(readings, key=_position)
    return tuple(_with_wording(in_order, said.standalone, document.question, needs_wording))


def drift_in(reply: str, gold: Document, predicted: Document, *, needs_wording: bool = True) -> Drift:
    """
    Return the verdict in *reply* on a question that stands in both documents.

    A mention's probability is 1 where the model says that it doesn't mean the same, else 0. Where neither
    history says what a mention means, and no other one differs, the question is not judged.

    Args:
        reply: What the model replied.
        gold: The recorded history that it was shown.
        predicted: The system's own.
        needs_wording: As for ``readings_in``.

    Raises:
        UnusableReplyError: as for ``readings_in``, or the reply contradicts itself.
    """
    said = _read(reply, _Comparison)
    sides = _texts(gold), _texts(predicted)
    found = [
        _read_drift(mention, one, *sides)
        for mention, one in zip(
            _mentions(gold.question, [one.text for one in said.references]), said.references, strict=True
        )
    ]
    unknown = [one for one in found if one.gold.antecedent is one.predicted.antecedent is None]
    differs = any(one.probability for one in found)
    _check_meaning(said.meaning, found, differs=differs, is_known=not unknown)
    found.sort(key=lambda one: _position(one.gold))
    worded = _with_wording([one.gold for one in found], said.standalone, gold.question, needs_wording)
    not_judged = None
    if unknown and not differs:
        name = unknown[0].gold.mention.text
        what = f"“{name}”" if name else "what it leaves out"
        not_judged = f"neither history says what the question leans on: {what}"
    return Drift(
        valid=None if not_judged else not differs,
        mentions=tuple(replace(one, gold=reading) for one, reading in zip(found, worded, strict=True)),
        mode=MODE,
        probability=float(differs),
        not_judged=not_judged,
        shortened=gold.shortened + predicted.shortened,
    )


def _check_meaning(meaning: str, found: Sequence[MentionDrift], *, differs: bool, is_known: bool) -> None:
    """
    Compare what the question is said to mean with what its references say.

    Raises:
        UnusableReplyError: what the question means is not what its references say.
    """
    contradiction = None
    if differs and meaning == "same":
        contradiction = '"same" is false for a reference'
    elif not differs and is_known and meaning != "same":
        contradiction = '"same" is true for every reference'
    elif meaning == "nothing" and all(one.predicted.antecedent for one in found):
        contradiction = '"own" says something for every reference'
    if contradiction:
        raise UnusableReplyError(f'"meaning" is "{meaning}", but {contradiction}')


def _read(reply: str, shape: type[T]) -> T:
    found: dict[str, Any] | None = first_object(reply, ("references",))
    if found is None:
        raise UnusableReplyError(json_problem(reply))
    try:
        return convert_to(found, shape)
    except msgspec.ValidationError as error:
        raise UnusableReplyError(f"the object has another form: {error}") from error


def _read_drift(mention: Mention, one: _ComparedReference, gold: _Texts, predicted: _Texts) -> MentionDrift:
    recorded = _reading(mention, one.recorded, gold, "recorded")
    own = _reading(mention, one.own, predicted, "own")
    if recorded.antecedent is own.antecedent is None:
        return mention_drift(recorded, own, probability=0.0)
    for side, reading in (("recorded", recorded), ("own", own)):
        if one.same and reading.antecedent is None:
            raise UnusableReplyError(f'"same" is true for {shorten_quote(one.text)}, but "{side}" is null')
    found = mention_drift(recorded, own, probability=0.0 if one.same else 1.0)
    if found.state not in ("same", "drifted"):
        return found
    # "The band" and "King Crimson" share no word and may be the same all the same.
    return replace(found, state="same" if one.same else "drifted")


def _mentions(question: str, texts: Sequence[str]) -> list[Mention]:
    """
    Return a mention for each of *texts*; equal texts are found in *question* one after another.

    Raises:
        UnusableReplyError: a text is not in *question*, or two are empty.
    """
    found: list[Mention] = []
    looked_to: dict[str, int] = {}
    for text in (text.strip(_AROUND) for text in texts):
        if not text:
            if any(mention.kind == "ellipsis" for mention in found):
                raise UnusableReplyError(
                    'two references have an empty "text"; one has to say all that the question leaves out'
                )
            place = _end_of(question)
            found.append(Mention(start=place, end=place, text="", kind="ellipsis"))
            continue
        match = pattern_of(text).search(question, looked_to.get(text.casefold(), 0))
        if match is None:
            often = " so often" if text.casefold() in looked_to else ""
            raise UnusableReplyError(f"{shorten_quote(text)} does not stand in the question{often}")
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
    """Return the index where *question* can be continued: before the punctuation at its end."""
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


def _reading(mention: Mention, quote: str | None, texts: _Texts, side: str) -> Reading:
    """Return *mention* as what *quote* says, in the history's words, with where they stand as its source."""
    text = plain(quote or "").strip(_AROUND)
    if not text:
        return Reading(mention=mention, antecedent=None)
    found = find_quote(text, texts)
    if found is None:
        raise UnusableReplyError(
            f'{shorten_quote(text)} in "{side}" does not stand in that history: copy its words'
        )
    source, antecedent = found
    if source != "title" and (line := words(text)) and PRONOUNS.issuperset(line):
        raise UnusableReplyError(f'{shorten_quote(text)} in "{side}" names nothing: quote the words that do')
    return Reading(mention=mention, antecedent=antecedent, source=source)


def _texts(document: Document) -> _Texts:
    """Return what a quote may come from, each after what it is called as a source; the newest turn first."""
    said = [("title", document.title), ("section", document.section), ("background", document.background)]
    for turn in reversed(document.turns):
        said += [("answer", turn.answer), ("question", turn.question)]
    return [QuotedText(source, text) for source, text in said]


def _with_wording(
    readings: Sequence[Reading], said: str | None, question: str, needs_wording: bool
) -> list[Reading]:
    """Return *readings*; the first one that says what is meant puts the whole question as *said*."""
    found = list(readings)
    quoted = [reading.antecedent for reading in readings if reading.antecedent]
    text = (said or "").strip()
    fault = wording_fault(text, question, quoted) if quoted else None
    if fault and needs_wording:
        raise UnusableReplyError(f'"standalone" {fault}')
    if quoted and not fault:
        first = next(n for n, reading in enumerate(found) if reading.antecedent)
        found[first] = replace(found[first], put=text, put_at=(0, len(question)))
    return found


def _position(reading: Reading) -> tuple[int, int]:
    return reading.mention.start, -reading.mention.end
