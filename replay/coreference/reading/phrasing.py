"""
How what is meant is said at its place in a question: preposition, article, possessive and capital as the
network chose them, with the English grammar around that the words ask for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from replay.coreference.reading.network import ARTICLES, PREPOSITIONS, NetworkOutput
from replay.coreference.reading.rewriting import is_plural_name, with_possessive
from replay.coreference.reading.sequence import Role, Segment
from replay.coreference.reading.words import PRONOUNS, is_clause, word_set

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
    is_one = question[place.start : place.end].lower() == "they" and is_singular(put)
    if is_one and (verb := singular_verb_before(question, place.start)):
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
        article, text = "", instead_of_one(question, place.start, replaced, whole)
    if preposition in ("on", "in", "at") and (fitting := time_preposition(text)):
        preposition = fitting if fitting != "after" or replaced.lower() == "then" else preposition
        article = "the" if re.match(r"\d{1,2}(?:st|nd|rd|th)\b", text) else article
    if replaced and is_clause(text):
        if replaced.lower() in PRONOUNS - {"one", "ones"}:
            return ""  # "Can I withdraw money from the card has no fee?"
        if replaced.lower() == "and" and (clause := invert_clause(f"{article} {text}".strip())):
            article, text = "", clause  # "And on Tuesdays?"
    if not (replaced or preposition):
        if not before and _opens_with_a_verb(question):
            return ""  # nothing comes before "Do they"
        if article and before.rpartition(" ")[2] in _PARTS:
            preposition = "of"
        elif not question[place.end :].strip(" ?.!") and len(before.split()) <= 3:
            said = f"the {text}" if _word_before(span) in _ARTICLES else f"{article} {text}".strip()
            if clause := invert_clause(said):
                article, text = "", clause
    put = " ".join(part for part in (preposition, article, text) if part).replace(" ,", ",")
    put += contraction_for(replaced, put)
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


_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
_NUMBER = r"(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty)"
_TIMES = (
    ("at", r"\d{1,2}(?::\d\d)?\s*(?:[ap]\.?m\b|o['’]clock)|\d{1,2}:\d\d\b|noon\b|midnight\b|night\b"),
    (
        "on",
        rf"(?:the\s+)?(?:{_DAY}|\d{{1,2}}(?:st|nd|rd|th)\b|\d{{1,2}}\.?\s+{_MONTH}|{_MONTH}\s+\d{{1,2}}\b)",
    ),
    (
        "in",
        rf"(?:the\s+)?(?:(?:early|mid|late)[\s-]+)?(?:{_MONTH}|spring\b|summer\b|autumn\b|winter\b|(?:19|20)\d\d\b)",
    ),
    ("in", r"(?:the\s+)?(?:morning|afternoon|evening)s?\b"),
    ("after", rf"{_NUMBER}\s+(?:minute|hour|day|week|month|year)s?$"),
)
_SINGULAR_VERBS = {
    "do": "does", "don't": "doesn't", "are": "is", "aren't": "isn't", "were": "was", "weren't": "wasn't",
    "have": "has", "haven't": "hasn't",
}  # fmt: skip
_INVERTIBLE = word_set("is are was were has will can could would should must may might")
_PLURALS = word_set(
    """
    people children men women police staff personnel feet teeth mice geese fish sheep cattle oxen data media
    bacteria criteria phenomena alumni fungi cacti
    """
)
_QUANTITIES = word_set(
    """
    two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty all both these those
    many several few some
    """
)
_BEFORE_A_PHRASE = word_set("of in at on from with for to by who which that made")
_BEFORE_A_NOUN = word_set("a an the my your our his her its their this that these those")
_WITH_A_NOUN = _BEFORE_A_NOUN | word_set("another which what any some no each every")


def time_preposition(text: str) -> str | None:
    """Return what stands before *text* where it is a time ("at 11 pm", "after ten years"); else None."""
    for preposition, pattern in _TIMES:
        if re.match(pattern, text, re.IGNORECASE):
            return preposition
    return None


def is_singular(text: str) -> bool:
    """Return whether *text*, a noun phrase, is one thing for sure ("the hotel", "your team in Dublin")."""
    words = text.split()
    if not words or re.search(r"\band\b|&|,", text):
        return False
    if words[0].lower() in _QUANTITIES or any(re.fullmatch(r"\d+", word) for word in words):
        return False
    if words[0].lower() in _BEFORE_A_NOUN and len(words) > 1:
        if words[1].lower() in _QUANTITIES:
            return False
        words = words[1:]
    head = next((n for n, word in enumerate(words) if n and word.lower() in _BEFORE_A_PHRASE), len(words))
    noun = words[head - 1]
    if re.search(r"['’]s$|['’]$", noun):
        return False
    return noun.lower() not in _PLURALS and (
        not noun.lower().endswith(("s", "ae")) or noun.lower().endswith(("ss", "us", "is"))
    )


def singular_verb_before(question: str, start: int) -> tuple[int, str] | None:
    """Return where the plural verb right before *start* begins, and its singular; None for another word."""
    found = re.search(r"([a-z]+(?:n['’]t)?)\s+$", question[:start], re.IGNORECASE)
    verb = found[1].lower().replace("’", "'") if found else ""
    if found is None or verb not in _SINGULAR_VERBS:
        return None
    singular = _SINGULAR_VERBS[verb]
    return found.start(1), singular.capitalize() if found[1][0].isupper() else singular


def contraction_for(mention: str, subject: str) -> str:
    """Return what *mention* has behind its pronoun, for *subject*: "'s" of "it's", " will" of "she'll"."""
    found = re.fullmatch(
        r"(?:it|he|she|that|this|there|they|mine)(['’](?:s|ll|re|ve))", mention.strip(), re.IGNORECASE
    )
    if found is None:
        return ""
    said = found[1].lower()[1:]
    plural = not is_singular(subject)
    return {"s": "'s", "ll": " will", "re": " are" if plural else " is", "ve": " have" if plural else " has"}[
        said
    ]


def invert_clause(clause: str) -> str | None:
    """Return "is the pool closed" for the clause "the pool is closed"; None where there is no auxiliary."""
    words = clause.split()
    for n, word in enumerate(words[1:6], 1):
        if word.lower() in _INVERTIBLE:
            return " ".join([word, *words[:n], *words[n + 1 :]])
    return None


def instead_of_one(question: str, start: int, mention: str, text: str) -> str:
    """
    Return *text*, a noun phrase, for the "one" or "ones" that is *mention* at *start* of *question*.

    "borrow one" becomes "borrow a charger", or "one of the three chargers"; "a new one" "a new charger".
    """
    first, _, rest = text.partition(" ")
    noun = rest if rest and first.lower() in _BEFORE_A_NOUN else text
    said = [word.strip("?,.!").lower() for word in question[:start].split()[-2:]]
    if mention.lower() == "ones" or any(word in _WITH_A_NOUN for word in said):
        return noun
    if not is_singular(noun):
        return f"one of the {noun}" if noun[:1].islower() or noun[:1].isdigit() else text
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"
