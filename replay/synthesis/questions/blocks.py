"""The questions that lists, tables and headings answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from replay.coreference.reading.words import content_words, word_set
from replay.synthesis.documents.document import (
    SourceList,
    SourceParagraph,
    SourceSection,
    SourceSentence,
    SourceTable,
)
from replay.synthesis.questions.clauses import clause
from replay.synthesis.questions.phrases import OBJECT_STARTS, hides_a_verb, is_doing, names_something, wish_of
from replay.synthesis.questions.question import DocumentFact, Kind, QuestionTopic
from replay.synthesis.questions.words import (
    AUXILIARIES,
    BE,
    CONJUNCTIONS,
    LEANING,
    PREPOSITIONS,
    Vocabulary,
    in_first_person,
    points,
    verb,
    words_of,
)

MOST_ITEMS, MOST_WORDS = 10, 90
"""What a list may have that is an answer as a whole."""
LONGEST_CELL = 25
"""Words of a cell that is an answer."""

_SUPPORTS = re.compile(
    r" (?:the following|these|several|two|three|four|five|six)(?: different)?"
    r"(?P<what>(?: [a-z-]+){0,2} [a-z-]+s)$"
)
_THERE_ARE = re.compile(
    r"^There are (?:\w+ )?(?P<what>(?:[a-z-]+ )?(?:ways|types|kinds|modes|options|methods|levels|stages"
    r"|phases|categories)) (?P<after>(?:to|of|for) [^:;,()]{3,60})$"
)
_FOLLOWING = re.compile(
    r"^The following (?P<what>(?:[a-z-]+ ){0,3}[a-z-]+s) (?P<be>are|can be|must be|should be)"
    r" (?P<state>[^:;,()]{3,60})$"
)
_ITEM = re.compile(r"^(?P<term>[^:–—.,;()]{2,50}?)(?P<mark>:| [-–—])\s+(?=\S)")
_NO_TERMS = word_set(
    "note warning tip example important caution default optional required see type usage todo hint n.b"
)
_INCLUDES = word_set("include includes")
_KINDS = word_set(
    """
    parameter option flag field setting variable command argument attribute property key function method
    event status role permission environment plan metric label annotation resource type feature tool
    plugin component service header endpoint operator directive keyword branch line route course room
    """
)
"""Headers of a first column that say what its cells are: "the retries parameter"."""
_DESCRIBES = word_set("description meaning purpose explanation details summary definition usage")
_COLUMNS = word_set(
    """
    default type format unit units limit price cost fee size port status version license licence duration
    minimum maximum range capacity owner author location address phone email deadline frequency role
    language code region retention priority value syntax interval timeout quota population capital height
    length weight width distance year date currency manufacturer model colour color category scope time
    destination platform floor topic weekday teacher
    """
)
"""Last words of the headers that are asked for: "What is the retention of ...?"."""
_KEY = re.compile(r"(?=.*[A-Za-z])[\w./:-]{2,}(?: [\w./:]+[\w./:-]*){0,3}")
_MORE = {
    "higher": word_set("price cost fee limit rate minimum maximum temperature frequency"),
    "larger": word_set("size capacity quota population"),
    "longer": word_set("duration timeout interval retention length distance"),
}
"""What is asked of columns of numbers, by the last words of their headers."""
_NUMBER = re.compile(
    r"(?P<before>[$€£]?) ?(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r" ?(?P<unit>[A-Za-z%€£ ]{0,24})"
)
_YES = word_set("yes true required ✓ ✅ x")
_NO = word_set("no false optional ✗ ❌ -")


def facts_of_list(
    section: SourceSection, before: SourceSentence | None, found: SourceList, known: Vocabulary
) -> Iterator[DocumentFact]:
    """Yield what the list *found* answers; *before* is the sentence that opens it, if one does."""
    firsts = [item.sentences[0] for item in found.items]
    start, end = firsts[0].start, found.items[-1].sentences[-1].end
    whole = section.text[start:end]
    asked = _asked_of_list(before, known) if before is not None else None
    if (
        asked is not None
        and not points(asked)
        and 2 <= len(firsts) <= MOST_ITEMS
        and len(whole.split()) <= MOST_WORDS
    ):
        yield DocumentFact(
            kind="list", question=asked, answers=(whole,), start=start, section=section, list_start=start
        )
    kind = _kind_of(section.headings[-1]) if section.headings else ""
    for place, item in enumerate(firsts, 1):
        named = _ITEM.match(item.text)
        if named is None:
            continue
        term, said = named["term"].strip(), item.text[named.end() :]
        is_literal = any(at == 0 and stop >= named.end("term") for at, stop in item.literals)
        question = _asked_of_item(term, said, is_literal, kind, known)
        if question is None:
            continue
        thing, frame = question
        yield DocumentFact(
            kind="item", question=frame.format(thing), answers=(said,), start=item.start + named.end(),
            section=section, frame=frame, filler=thing, place=place, list_start=start,
            topic=QuestionTopic(text=thing, start=frame.index("{")),
        )  # fmt: skip


def _asked_of_item(
    term: str, said: str, is_literal: bool, kind: str, known: Vocabulary
) -> tuple[str, str] | None:
    """Return what an item ``term: said`` defines, and the question with a gap for it; None for neither."""
    words = [word.strip(",.").lower() for word in said.split()]
    does = verb(words[0], "third") is not None and words[1:2] != [] and not words[1].endswith("ing")
    if (
        len(words) < 3
        or hides_a_verb(words_of(SourceSentence(text=term, start=0)))
        or (not does and re.match(r"[a-z]+[^s]s$|\d", words[0]))  # a verb that nobody listed, or a default
        or (not does and verb(words[0], "base") is not None)
        or words[0] in CONJUNCTIONS | PREPOSITIONS | LEANING | AUXILIARIES
    ):
        return None
    if not does and clause(said, words_of(SourceSentence(text=said, start=0)), known) is not None:
        return None
    frame = "What does {} do?" if does else "What is {}?"
    if is_literal and kind:
        return f"the {term} {kind}", frame
    if is_literal:
        return (term, frame) if not term.isalpha() or not term.islower() else None
    # What the term of a list does is said of an option, a button, a step: who knows which?
    if (
        does
        or len(term.split()) > 4
        or any(word.lower() in _NO_TERMS | LEANING | PREPOSITIONS | _INCLUDES for word in term.split())
    ):
        return None
    is_name = term.isupper() or term.split()[0] in known.names or bool(re.search("[a-z][A-Z]", term))
    if not is_name and not " ".join(term.split()[1:]).islower() and " " in term:
        return None  # a title
    if BE & set(words[:8]) or re.search(r"\bby [A-Z]", said):
        return None  # a sentence or the title of something, and no definition
    if words[0] not in ("a", "an", "the") and not (term.isupper() and said[:1] == term[:1]):
        return None
    if verb(term.split()[0].lower(), "base") or (not is_name and term.endswith(("ed", "ing", "s"))):
        return None
    low = term.lower()
    if not is_name and (verb(low, "participle") or not known.common.issuperset(low.split())):
        return None
    is_one = words[0] == "the"
    article = "" if is_name else "the " if is_one else "an " if term[:1].lower() in "aeiou" else "a "
    return article + known.lower(term), frame


def _asked_of_list(before: SourceSentence, known: Vocabulary) -> str | None:
    text = before.text.rstrip()
    if not text.endswith(":"):
        return None
    text = text[:-1].rstrip()
    if (there := _THERE_ARE.match(text)) is not None:
        return f"Which {there['what']} are there {in_first_person(there['after'])}?"
    if (following := _FOLLOWING.match(text)) is not None and len(
        f"{following['what']} {following['state']}".split()
    ) > 3:
        be, _, more = following["be"].partition(" ")
        state = in_first_person(following["state"])
        return f"Which {following['what']} {be} {more} {state}?".replace("  ", " ")
    supports = _SUPPORTS.search(text)
    if supports is None:
        return None
    sentence = SourceSentence(text=text, start=0, literals=before.literals)
    words = words_of(sentence)
    told = clause(text, words, known) if words else None
    if (
        told is None
        or told.is_cut
        or not told.verb
        or not names_something(words[: len(told.subject.split())], known)
    ):
        return None
    return f"Which{supports['what']} {told.auxiliary} {told.subject} {told.verb}?"


def facts_of_table(section: SourceSection, table: SourceTable) -> Iterator[DocumentFact]:
    """Yield what the cells of *table* answer, row by row; the first column says of what."""
    kind = _kind_of(table.header[0])
    for row in table.rows:
        key = row[0].text.strip()
        if not _KEY.fullmatch(key) or any(word.lower() in LEANING for word in key.split()):
            continue
        if not kind and key.isalpha() and key.islower():
            continue
        thing = f"the {key} {kind}" if kind else key
        for header, cell in zip(table.header[1:], row[1:], strict=True):
            said = cell.text.strip()
            frame, kind_of = _asked_of_cell(header.strip(), said)
            is_title = " " in thing and not kind and frame.startswith("What is {}")  # it lacks an article
            if not frame or not said or is_title or len(said.split()) > LONGEST_CELL:
                continue
            yield DocumentFact(
                kind=kind_of, question=frame.format(thing), answers=(cell.text,), start=cell.start,
                section=section, frame=frame, filler=thing,
                is_denied=kind_of == "yes-no" and said.lower() in _NO,
                topic=QuestionTopic(text=thing, start=frame.index("{"), is_owner=" of {}" in frame),
            )  # fmt: skip


def facts_of_comparison(section: SourceSection, table: SourceTable) -> Iterator[DocumentFact]:
    """Yield which of two neighbouring rows of *table* has the higher price, the longer timeout ..."""
    kind = _kind_of(table.header[0])
    for header, column in zip(table.header[1:], range(1, len(table.header)), strict=True):
        words = header.strip().split()
        more = next((word for word, nouns in _MORE.items() if words and words[-1].lower() in nouns), "")
        if not more or not kind:
            continue
        noun = " ".join(word if word.isupper() else word.lower() for word in words)
        for one, other in pairwise(table.rows):
            sizes = [_number(row[column].text) for row in (one, other)]
            if sizes[0] is None or sizes[1] is None or sizes[0][1] != sizes[1][1] or sizes[0] == sizes[1]:
                continue
            if not all(_KEY.fullmatch(row[0].text.strip()) for row in (one, other)):
                continue
            larger = one if sizes[0][0] > sizes[1][0] else other
            thing, against = (f"the {row[0].text.strip()} {kind}" for row in (one, other))
            lead = f"Which has the {more} {noun}, "
            yield DocumentFact(
                kind="difference", question=f"{lead}{thing} or {against}?", answers=(larger[0].text,),
                start=larger[0].start, section=section, topic=QuestionTopic(text=thing, start=len(lead)),
            )  # fmt: skip


def _number(cell: str) -> tuple[float, str] | None:
    """Return a cell's number and what stands around it; None if it is no single number."""
    found = _NUMBER.fullmatch(cell.strip())
    if found is None:
        return None
    return float(found["number"].replace(",", "")), f"{found['before']} {found['unit']}".casefold()


def _asked_of_cell(header: str, said: str) -> tuple[str, Kind]:
    low = header.lower()
    if not re.fullmatch(r"[A-Za-z][A-Za-z -]{2,30}", header) or len(low.split()) > 3:
        return "", "cell"
    if low in _DESCRIBES:
        does = verb(said.split()[0].lower(), "third") is not None if said else False
        return ("What does {} do?" if does else "What is {}?"), "cell"
    if low in ("required", "mandatory", "optional", "supported", "deprecated") and said.lower() in _YES | _NO:
        return f"Is {{}} {low}?", "yes-no"
    if said.lower() in _YES | _NO or low.endswith(("ed", "able", "ing")):
        return "", "cell"
    if low.split()[-1] not in _COLUMNS:
        return "", "cell"
    named = " ".join(word if word.isupper() else word.lower() for word in header.split())
    noun = "default value" if low == "default" else named
    return (
        f"What {'are' if noun.endswith('s') and not noun.endswith('ss') else 'is'} the {noun} of {{}}?",
        "cell",
    )


def _kind_of(heading: str) -> str:
    """Return what one of the things under *heading* is: "parameter" of "Query parameters"; else empty."""
    words = heading.lower().split()
    last = words[-1] if words else ""
    singular = (last, last.removesuffix("s"), last.removesuffix("es"), last.removesuffix("ies") + "y")
    return next((one for one in singular if one in _KINDS), "")


def facts_of_heading(section: SourceSection, paragraphs: Sequence[SourceParagraph]) -> Iterator[DocumentFact]:
    """Yield how to do what the heading names ("Installing the CLI"), if the section begins by saying it."""
    if not section.headings or not paragraphs:
        return
    said = re.sub(r"^(?:How to|Step \d+:?|\d+\.)\s+", "", section.headings[-1]).strip(" .:")
    first, _, title = said.partition(" ")
    inside = set(re.findall(r"\b[a-z]+\b", section.text))
    thing = " ".join(word.lower() if word.lower() in inside else word for word in title.split())
    base = verb(first.lower(), "gerund") or verb(first.lower(), "base")
    if base is None or not thing or re.search(r"[,()#]", thing) or " and " in f" {thing}":
        return
    do = wish_of(f"{base} {thing}")
    opening = paragraphs[0].sentences[0]
    if do is None or not opening.text.endswith(".") or len(opening.text.split()) < 5:
        return
    imperative = opening.text[:1].lower() + opening.text[1:]
    purpose = re.match(r"To (?P<what>[^,]+), (?P<main>.+)", opening.text)
    shares = (
        purpose is not None
        and set(content_words(purpose["what"])) & set(content_words(thing))
        and base in purpose["what"].split()
        and is_doing(purpose["main"])
    )
    act, what = imperative.split()[:2]
    is_imperative = act not in (base, "you") and (what in OBJECT_STARTS or not what.islower())
    if shares or (is_imperative and is_doing(imperative)):
        yield DocumentFact(
            kind="procedure",
            question=f"How do I {do}?",
            answers=(opening.text,),
            start=opening.start,
            section=section,
        )
