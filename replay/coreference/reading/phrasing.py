"""
How what is meant is said at its place in a question: preposition, article, possessive and capital as the
network chose them, with the English around that the words ask for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from replay.coreference.reading import grammar
from replay.coreference.reading.clauses import is_clause
from replay.coreference.reading.network import ARTICLES, PREPOSITIONS, NetworkOutput
from replay.coreference.reading.sequence import Role, Segment
from replay.coreference.reading.substitution import is_plural_name, with_possessive
from replay.coreference.reading.words import PRONOUNS, word_set

_SENTENCE_ENDS = frozenset('.!?:\n|-*•"“([')
_ARTICLES = ("the", "a", "an")
_TURNED = {"your": "my", "our": "your", "my": "your"}
_DETERMINERS = word_set("all both each every some any no this that these those his her its their my your our")
_OWNERS = word_set("his her its their my your our")
AUXILIARIES = word_set(
    "do does did is are was were has have had can could will would shall should may might must"
)
_PARTS = word_set("one some any each both all none few many most")


@dataclass(frozen=True, slots=True)
class MentionSpans:
    """Where a question leans on its history."""

    position: int
    """The token before which something has to be put."""
    start: int
    end: int
    """Characters of the question that give way; equal for what was left out."""
    probability: float


@dataclass(frozen=True, slots=True)
class PointedSpan:
    """A span of the history with its probability."""

    probability: float
    text: str
    segment: Segment
    first: int
    """Its first token's number in the segment."""


def phrase(
    question: str, output: NetworkOutput, place: MentionSpans, span: PointedSpan, possessive: bool
) -> tuple[int, int, str]:
    """
    Return what comes into *question* for *place*, as (start, end, words with the spaces they need).

    Start and end are those of *place*, or take in a verb before it that has to agree ("Do they", "Does the
    hotel").
    """
    put = _put(question, output, place, span, possessive)
    is_one = question[place.start : place.end].lower() == "they" and grammar.is_singular(put)
    if is_one and (verb := grammar.singular_verb_before(question, place.start)):
        return verb[0], place.end, f"{verb[1]} {put}"
    return place.start, place.end, put


def _put(
    question: str, output: NetworkOutput, place: MentionSpans, span: PointedSpan, possessive: bool
) -> str:
    there = span.segment.first + span.first
    preposition = PREPOSITIONS[int(output.preposition[place.position].argmax())]
    article = ARTICLES[int((output.article_here[place.position] + output.article_there[there]).argmax())]
    text = span.text
    replaced, before = question[place.start : place.end], question[: place.start].strip().lower()
    if span.segment.role == Role.ANSWER:
        # The assistant's "your order" is the user's own, also within what is said.
        text = re.sub(r"(?<= )(?:your|our)\b", lambda found: _TURNED[found[0]], text)
        if replaced and not preposition and _is_sentence_initial(span, text):
            text = re.sub(r"^(?:From|In|At|On|With|For|By) (?=[a-z])", "", text)
    first, _, rest = text.partition(" ")
    if rest and first.lower() in _ARTICLES:
        article, text = "the", rest
        there += 1
    elif rest and span.segment.role == Role.ANSWER and first.lower() in _TURNED:
        article, text = "", f"{_TURNED[first.lower()]} {rest}"
    elif rest and first.lower() in _DETERMINERS:
        article = ""
        if first.lower() in _OWNERS and _is_sentence_initial(span, text):
            text = f"{first.lower()} {rest}"
    elif whose := _whose(span):
        article = whose
    elif not article and place.start < place.end and text[:1].islower() and _word_before(span) in _ARTICLES:
        article = "the"
    if next(reversed(question[: place.start].lower().split()), "") in _ARTICLES:
        article = ""  # "the" of "the second one" stays
    if _is_sentence_initial(span, text) and output.capital[min(there, len(output.capital) - 1)] < 0:
        text = text[:1].lower() + text[1:]
    if possessive:
        theirs = question[place.start : place.end].lower().startswith("the")
        text = with_possessive(text, plural=theirs or is_plural_name(f"{article} {text}"))
    opening, _, rest = text.partition(" ")
    if not replaced and before.endswith(f" {opening.lower()}"):
        # "the entrance" that is "entrance on Molenweg" doesn't become "the entrance of entrance on Molenweg".
        preposition, article, text = "", "", rest
    if replaced.lower() in ("one", "ones") and not possessive:
        whole = f"{article} {text}".strip()
        article, text = "", grammar.instead_of_one(question, place.start, replaced, whole)
    if preposition in ("on", "in", "at") and (fitting := grammar.time_preposition(text)):
        preposition = fitting if fitting != "after" or replaced.lower() == "then" else preposition
        article = "the" if re.match(r"\d{1,2}(?:st|nd|rd|th)\b", text) else article
    if replaced and is_clause(text):
        if replaced.lower() in PRONOUNS - {"one", "ones"}:
            return ""  # "Can I withdraw money from the card has no fee?"
        if replaced.lower() == "and" and (clause := grammar.invert_clause(f"{article} {text}".strip())):
            article, text = "", clause  # "And on Tuesdays?"
    if not (replaced or preposition):
        if not before and _opens_with_a_verb(question):
            return ""  # nothing comes before "Do they"
        if article and before.rpartition(" ")[2] in _PARTS:
            preposition = "of"
        elif not question[place.end :].strip(" ?.!") and len(before.split()) <= 3:
            said = f"the {text}" if _word_before(span) in _ARTICLES else f"{article} {text}".strip()
            if clause := grammar.invert_clause(said):
                article, text = "", clause
    put = " ".join(part for part in (preposition, article, text) if part).replace(" ,", ",")
    put += grammar.contraction_for(replaced, put)
    if not before and put[:1].islower() and question[:1].isupper():
        put = put[:1].upper() + put[1:]
    return _add_spaces(question, place, put)


def _opens_with_a_verb(question: str) -> bool:
    return question.partition(" ")[0].lower() in AUXILIARIES


def _whose(span: PointedSpan) -> str:
    """Return "my" for "daughter" in the assistant's "your daughter"; empty where nobody's is said."""
    said = _word_before(span)
    return _TURNED.get(said, "") if span.segment.role == Role.ANSWER else said if said in _TURNED else ""


def _word_before(span: PointedSpan) -> str:
    before = span.segment.text[: span.segment.tokens[span.first].start].split()
    return before[-1].lower() if before else ""


def _is_sentence_initial(span: PointedSpan, text: str) -> bool:
    """Return whether a capital may come from the beginning of a sentence, and not from more than the first
    letter."""
    first = text.split(" ", 1)[0]
    if not first[:1].isupper() or not first[1:].islower():
        return False
    before = span.segment.text[: span.segment.tokens[span.first].start].rstrip()
    return not before or before[-1] in _SENTENCE_ENDS


def _add_spaces(question: str, place: MentionSpans, put: str) -> str:
    """Return *put* with the spaces that it needs where it comes."""
    if any(c.isalnum() for c in question[place.start : place.end]):
        return put
    before = (
        ""
        if not question[: place.start] or question[place.start - 1].isspace() or put.startswith(",")
        else " "
    )
    after = " " if question[place.end : place.end + 1].isalnum() else ""
    return f"{before}{put}{after}"
