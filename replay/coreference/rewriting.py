"""
A question rewritten so that it can be understood under another history: mentions get the text of
what they refer to.

Substitution alone, with the articles, possessives, capitals and punctuation of English kept right
(``replay.coreference.substitution``); outside the mentions nothing changes. As people do when they
rewrite, only the first mention of each antecedent is replaced ("When did Ann Lee meet her husband?"),
and a clause is never put in: of "Wine is made of grapes" at most "wine" takes the place of "it".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from replay.core.conversation import CANNOT_ANSWER
from replay.core.drift_evidence import Reading
from replay.coreference.clauses import is_clause, phrase_of
from replay.coreference.edit_evidence import edit_evidence
from replay.coreference.ellipsis import worded
from replay.coreference.fitting import fits
from replay.coreference.mentions import REFLEXIVES
from replay.coreference.substitution import CLAUSE, TITLES, in_place, is_name
from replay.coreference.words import comparable_words, content_words, tokens

MIN_PROBABILITY = 0.7
"""That an edit makes the question better; below it, it is not made. See docs/coreference.md for what other
values cost and bring."""
_MOST_PROPOSED = 4
_LEAST_PROPOSED = 0.08
"""Less probable antecedents are not thought of."""
_MAX_INSERTED_CHARACTERS = 160  # for text that is written without spaces

_AT_A_TIME = re.compile(r"\bat (?:this|that) (?:time|point|moment)$", re.IGNORECASE)
_LOOSE_VERB = re.compile(
    r"(?<=\w\s)(?<!\bthe\s)(?<!\ba\s)(?:serves|began|begins|is|was|includes?|provides?|represents?|received"
    r"|released|called|titled|named|required)$"
)
"""What a noun phrase that was cut out of a sentence may end in: "his memoirs called"."""
_LOOSE_END = re.compile(r"^(?:and|or)\s+|\s+(?:the|The|and|of)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What one reading would change in its question."""

    start: int
    end: int
    """The place in the question that is replaced; empty for an insertion."""
    put: str
    """What comes there."""
    names: frozenset[str]
    """The words that the question then names."""


def rewrite(question: str, readings: Sequence[Reading], *, min_probability: float = MIN_PROBABILITY) -> str:
    """
    *question* with its mentions replaced by their antecedents, where that makes it better.

    Left alone are mentions without an antecedent, reflexives, antecedents that the question names already,
    antecedents of more than ``MAX_INSERTED_WORDS`` words, clauses of which no noun phrase can be had,
    what can't stand in the mention's place (``replay.coreference.fitting``), a second mention of the same
    antecedent, any mention that overlaps one already replaced, and, where the reading has a
    distribution, edits that are less probable than *min_probability* to make the question better (a
    learned estimate); of several antecedents the one is put whose edit is most probable to.
    Returns *question* itself when nothing applies.
    """
    pieces: list[str] = []
    named: set[str] = set()
    done = 0
    chosen = [edit for reading in readings if (edit := _best(question, reading, min_probability))]
    for edit in sorted(chosen, key=lambda edit: (edit.start, -edit.end)):
        if edit.start >= done and not edit.names <= named:
            named |= edit.names
            pieces += [question[done : edit.start], edit.put]
            done = edit.end
    return "".join([*pieces, question[done:]]) if pieces else question


def _best(question: str, reading: Reading, least: float) -> Edit | None:
    """The edit that most probably makes *question* better, if with *least*; any is good enough for 0."""
    if not reading.distribution or least <= 0:
        return proposed(question, reading)
    weighed = [(_worth(question, read, edit.put), edit) for read, edit in proposals(question, reading)]
    good = [(worth, edit) for worth, edit in weighed if worth >= least]
    if not good:
        return None
    best = max(good, key=lambda pair: pair[0])[1]
    # "The Family plan" says more than "The Family", and is no worse.
    return max((edit for _, edit in good if edit.names >= best.names), key=lambda edit: len(edit.names))


def proposals(question: str, reading: Reading) -> Iterator[tuple[Reading, Edit]]:
    """
    What the antecedents in *reading*'s distribution would change in *question*, most probable first.

    Each comes with the reading that has it as its antecedent.
    """
    for probability, text in reading.distribution[:_MOST_PROPOSED]:
        if probability < _LEAST_PROPOSED:
            break
        source = reading.source if text == reading.antecedent else _source_of(text)
        read = replace(reading, antecedent=text, source=source)
        edit = proposed(question, read)
        if edit is not None:
            yield read, edit


def _source_of(antecedent: str) -> str:
    """What kind of antecedent it is, by its look."""
    if is_clause(antecedent):
        return CLAUSE
    return "name" if is_name(antecedent) else "phrase"


def proposed(question: str, reading: Reading) -> Edit | None:
    """What *reading* would change in *question*; None where nothing can be put so that it reads well."""
    mention = reading.mention
    if question[mention.start : mention.end] != mention.text:
        return None
    reading = _standing(_widened(question, reading))
    mention, antecedent = reading.mention, reading.antecedent or ""
    if not _is_insertable(antecedent):
        return None
    names = frozenset(comparable_words(antecedent))
    if mention.kind == "ellipsis" and (short := _shorter_name(question, antecedent)):
        return Edit(start=short[0], end=short[1], put=antecedent, names=names)
    if not _says_more(question, reading, antecedent) or not fits(question, mention, antecedent):
        return None
    if mention.kind == "ellipsis":
        put = _spaced(question, mention.start, worded(question, mention, antecedent))
    else:
        put = in_place(question, reading, antecedent) if mention.text else None
    return None if put is None else Edit(start=mention.start, end=mention.end, put=put, names=names)


def _shorter_name(question: str, name: str) -> tuple[int, int] | None:
    """Where *question* says a part of the name *name* for the whole: "Amos", of Tori Amos."""
    key = content_words(name)
    if not is_name(name) or len(key) not in (2, 3):
        return None
    line = [token for token in tokens(question) if token.is_word]
    inside = [token for token in line if token.normal in key]
    if len(inside) != 1:
        return None
    after = question[inside[0].end : inside[0].end + 1]
    alone = not any(t.is_capitalized and abs(line.index(t) - line.index(inside[0])) == 1 for t in line[1:])
    return (inside[0].start, inside[0].end) if alone and after != "-" else None


def _worth(question: str, reading: Reading, put: str) -> float:
    """The probability that *put* in the place of *reading*'s mention makes *question* better."""
    # numpy is loaded by whoever rewrites, never by `replay --help`.
    from replay.coreference.small_network import EDIT, shipped

    return shipped(EDIT).probabilities([edit_evidence(question, reading, put)])[0]


def _spaced(question: str, at: int, put: str | None) -> str | None:
    """*put* with the spaces that it needs at the position *at* of *question*."""
    if put is None:
        return None
    before = "" if question[:at][-1:].isspace() or at == 0 else " "
    after = " " if question[at : at + 1].isalnum() else ""
    return f"{before}{put}{after}"


def _standing(reading: Reading) -> Reading:
    """With the antecedent as it may stand in the mention's place; "" where a clause gives no such phrase."""
    antecedent = tidy(reading.antecedent or "")
    if reading.source == CLAUSE or (reading.source not in TITLES and is_clause(antecedent)):
        phrase = phrase_of(reading.antecedent or "", reading.mention) or ""
        return replace(reading, antecedent=tidy(phrase), source="phrase")
    if reading.source in ("phrase", "words"):
        antecedent = _LOOSE_VERB.sub("", antecedent).rstrip()
    if reading.source == "list" and reading.mention.start > 0:
        antecedent = re.sub(r"^The\s", "the ", antecedent)  # its capital is that of the answer's sentence
    # Whose "your plan" and "our shop" are depends on who said it; asked again, it is "the plan".
    return replace(reading, antecedent=re.sub(r"^(?:your|our)\s(?=[a-z])", "the ", antecedent, flags=re.I))


def _widened(question: str, reading: Reading) -> Reading:
    """With the "at" of "at that time" in the mention, since "in 1990" takes the place of both."""
    mention = reading.mention
    found = _AT_A_TIME.search(question[: mention.end]) if mention.kind == "this-noun" else None
    if found is None or found.start() >= mention.start:
        return reading
    wider = replace(mention, start=found.start(), text=found[0], kind="then")
    return replace(reading, mention=wider)


def tidy(antecedent: str) -> str:
    """On one line, without the punctuation around it."""
    text = " ".join(antecedent.split()).strip(' ,;:!?"“”')
    text = _LOOSE_END.sub("", text) or text
    # "Washington D.C." and "Ray Jr." keep their stop, the end of a sentence doesn't.
    return text.rstrip(".") if re.search(r"[^\W\d_]{4,}\.+$|\d\.+$", text) else text


def certainty(reading: Reading) -> float:
    """The probability of the reading's antecedent, in [0, 1]; 1 where there is no distribution."""
    if not reading.distribution:
        return 1.0
    return sum(probability for probability, text in reading.distribution if text == reading.antecedent)


def _is_insertable(antecedent: str) -> bool:
    short = len(antecedent) <= _MAX_INSERTED_CHARACTERS
    return any(c.isalnum() for c in antecedent) and short and antecedent != CANNOT_ANSWER


def _says_more(question: str, reading: Reading, antecedent: str) -> bool:
    mention = reading.mention
    if mention.text.lower() in REFLEXIVES:
        return False
    around = f"{question[: mention.start]} {question[mention.end :]}"
    new = set(comparable_words(antecedent)) - set(content_words(around))
    if mention.kind != "other":
        return bool(new)
    # A resolver may link names and whole noun phrases too. Those mean something as they stand, so
    # only a fuller form of the same words takes their place ("Zappa" -> "Frank Zappa").
    own = content_words(mention.text)
    return bool(own) and set(own) < set(content_words(antecedent)) and bool(new - set(own))
