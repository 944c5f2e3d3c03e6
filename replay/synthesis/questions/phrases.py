"""
Phrases of a sentence, as far as a list of verbs tells them.

Where noun phrases and clauses end, what somebody wants to do, and which noun phrases say by themselves what
they mean.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from replay.coreference.reading.words import word_set
from replay.synthesis.documents.document import SourceSentence
from replay.synthesis.questions.words import (
    AUXILIARIES,
    DETERMINERS,
    LEANING,
    PREPOSITIONS,
    Vocabulary,
    Word,
    in_first_person,
    looks_plural,
    points,
    verb,
    words_of,
)

_INSIDE_A_SUBJECT = word_set("of for in between with on")


def noun_phrase(words: Sequence[Word], start: int) -> int:
    """Return where the noun phrase at *start* ends; *start* if there is none."""
    at = start
    if at < len(words) and words[at].low in DETERMINERS:
        at += 1
    first = at
    while at < len(words) and words[at].is_noun_like and at - first < 6:
        at += 1
    return at if at > first else start


def subject_end(words: Sequence[Word], start: int) -> int:
    """Return where the subject at *start* ends, "of" phrases among it, as if no verb were among its words."""
    at = noun_phrase(words, start)
    for _ in range(2):
        if at == start or at >= len(words) or words[at].low not in _INSIDE_A_SUBJECT:
            break
        after = noun_phrase(words, at + 1)
        if after == at + 1:
            break
        at = after
    return at


def hides_a_verb(words: Sequence[Word]) -> bool:
    """Return whether a noun phrase could as well be a subject with its verb: "latency ensures members"."""
    if any(word.low in DETERMINERS and before.low not in PREPOSITIONS for before, word in pairwise(words)):
        return True
    for before, word in pairwise(words[:-1]):
        if before.low in DETERMINERS | PREPOSITIONS or word.is_literal or not word.text.islower():
            continue
        is_third = verb(word.low, "third") is not None and not looks_plural(before)
        if is_third or (
            looks_plural(before) and any(verb(word.low, form) for form in ("base", "gerund", "past"))
        ):
            return True
    return len(words) > 1 and looks_plural(words[-2]) and verb(words[-1].low, "gerund") is not None


LONGEST_WISH = 14
"""Words."""
_NO_ACTS = word_set("be find see notice have get now")
_WITH_IN = word_set("log sign check opt zoom plug type fill")
_OFFERS = word_set("can should must need have may could")


def wish_of(said: str) -> str | None:
    """Return the verb phrase *said* as somebody says it who wants to do it, None for what is none."""
    words = said.split()
    first = words[0].lower()
    if verb(first, "base") is None or first in ("see", "learn", "summarize", "be", "avoid", "help"):
        return None
    if words[1:2] == ["in"] and first not in _WITH_IN:
        return None
    if points(said) or " but " in said or "not want" in said:
        return None
    if words[-1].lower() in PREPOSITIONS | DETERMINERS or not 2 <= len(words) <= LONGEST_WISH:
        return None
    return in_first_person(said)


def is_doing(main: str) -> bool:
    """Return whether *main* says what to do: an imperative, or what "you" can, should or must."""
    words = main.removeprefix("please ").split()
    low = [word.lower().strip(",.") for word in words[:4]]
    if low[:1] == ["you'll"] or low[:1] == ["you’ll"]:
        return low[1:3] in (["need", "to"], ["have", "to"])
    if low[:1] == ["you"]:
        if low[1:2] in (["need"], ["have"]) and low[2:3] != ["to"]:
            return False  # "you need Ruby"
        return len(low) > 2 and low[1] in _OFFERS and low[2] not in _NO_ACTS
    if not low or low[0] in ("see", "refer", "read", "check"):
        return False
    return verb(low[0], "base") is not None and words[0].islower() and low[1:2] != ["is"]


OBJECT_STARTS = (
    DETERMINERS
    | PREPOSITIONS
    | word_set(
        """
        you your up to that whether how when if what multiple several many more additional new existing only
        one two three four five different certain specific other another zero its their various certain
        additional
        """
    )
)
_ENDS_A_REST = re.compile(
    r",?\s+(?:because|so that|since|although|though|unless|whereas|while|but|including|such as)\s"
    r"|,?\s(?:and|or) (?:it|they|you|then)\s"
    r"|,\s(?:which|and|so|if|when|where|or|for example|making|allowing|ensuring|meaning)\s"
    r"|;|:\s|\s[-–—]+\s|\s\([^()]*\)$|,\s\w+ing\s"
)
"""What may end a clause early."""
_NO_PLAIN_END = re.compile(
    r"[,;()–—\"“”]|\. "
    r"|\b(?:and|or) (?:[\w-]+ ){0,4}(?:is|are|was|were|can|must|will|should|has|have|had|does|do|did)\b"
)
"""What a clause of ours never holds: lists are cut nowhere, and neither are parentheses."""
_NEGATIONS_INSIDE = word_set("not no don't doesn't isn't anymore yet")
LONGEST_REST = 16
_AND_VERB = re.compile(r"\b(?:and|or) ([a-z]+s)\b")


def rest_of(text: str, words: Sequence[Word], at: int) -> tuple[str | None, bool, int]:
    """
    Return what *text* says from the word at *at* to the end of its clause, and whether that is cut.

    Last comes the offset of an "and" that joins a second verb, -1 without one. The text is None where nobody
    can tell where the clause ends.
    """
    if at >= len(words):
        return None, False, -1
    whole = text[words[at].start :].rstrip(" .!;:")
    literals = [
        (word.start - words[at].start, word.end - words[at].start) for word in words[at:] if word.is_literal
    ]
    cut = next(
        (
            found.start()
            for found in _ENDS_A_REST.finditer(whole)
            if not any(start <= found.start() < end for start, end in literals)
        ),
        None,
    )
    rest = whole if cut is None else whole[:cut].rstrip()
    second = _second_verb(words, at, words[at].start + len(rest))
    if second is not None:
        rest, cut = text[words[at].start : second].rstrip(" ,"), second
    bare = rest
    for start, end in reversed(literals):
        if end <= len(rest):
            bare = bare[:start] + "x" * (end - start) + bare[end:]
    joined = _AND_VERB.findall(bare)
    if _NO_PLAIN_END.search(bare) or not rest or any(verb(word, "third") for word in joined):
        return None, False, -1
    inside = [word for word in words[at:] if word.start - words[at].start < len(rest)]
    if (
        not inside
        or len(inside) > LONGEST_REST
        or inside[-1].low in PREPOSITIONS | DETERMINERS | {"and", "or", "to"}
        or (len(inside) > 1 and inside[-2].low in ("that", "which", "who"))
        or (second is not None and inside[-1].is_adverb)
    ):
        return None, False, -1
    if any(_leans(before, word) for before, word in pairwise([words[at - 1], *inside])):
        return None, False, -1
    return rest, cut is not None, -1 if second is None else second


def _leans(before: Word, word: Word) -> bool:
    """Return whether *word* points at what stands elsewhere; not the "that" of "a flag that skips"."""
    if word.is_literal or word.low in ("its", "their") or (word.low == "that" and before.is_noun_like):
        return False
    return word.low in LEANING or word.low in _NEGATIONS_INSIDE


def _second_verb(words: Sequence[Word], start: int, end: int) -> int | None:
    """Return the offset of an "and" that joins a second verb to the first, before *end*."""
    for at in range(start, len(words) - 1):
        if words[at].end > end or words[at].low in ("that", "which", "who", "whether"):
            return None  # whose verb a second one would be, nobody can tell
        shares_object = at == start + 1 or (at > start + 1 and words[at - 2].low == "to")
        if shares_object and verb(words[at - 1].low, "base"):
            continue  # "ask to explain or follow the rules"
        if words[at].low in ("and", "or", "but") and not words[at + 1].is_literal:
            ahead = at + 1
            while ahead < len(words) - 1 and words[ahead].is_adverb:
                ahead += 1
            word, after = words[ahead], words[ahead + 1] if ahead + 1 < len(words) else words[ahead]
            joins = word.low in AUXILIARIES or (
                word.text.islower()
                and (
                    (
                        (verb(word.low, "third") or verb(word.low, "past"))
                        and (after.low in OBJECT_STARTS - PREPOSITIONS or after.is_literal)
                    )
                    or (verb(word.low, "base") and after.low in DETERMINERS)
                )
            )
            if joins:
                return words[at].start
    return None


VAGUE = word_set(
    """
    value values option options command commands file files example examples page section table list
    result results output input step steps process method methods function functions argument arguments
    parameter parameters field fields name names number numbers type types object objects class item
    items default reason purpose goal idea case cases way ways thing things problem issue problems
    issues change changes difference version system user users code data first second third last rest
    part parts point note time key keys line lines string text message error errors setting settings
    feature features behavior behaviour approach answer question attribute attributes property
    properties information content contents document documentation tool tools test tests project team
    variable variables column columns row rows
    """
)
"""Heads of noun phrases that name nothing by themselves."""
_META = word_set(
    """
    documentation docs page article post example examples table figure diagram section guide tutorial
    screenshot list
    """
)
"""Heads of noun phrases that mean the document itself."""
_OPENINGS = word_set(
    """
    available new both old resulting provided given perhaps maybe first second third fourth fifth last next
    rest
    only following main additional different another two three four five lot number someone something anything
    couple few bit everything everyone anyone nothing people most some many all both none
    """
)
"""First words of noun phrases that only their surroundings complete."""
_POINTING_ADJECTIVES = word_set(
    """
    resulting given new old specified selected corresponding respective provided generated equivalent actual
    available remaining desired appropriate proper correct relevant entire first second third last next
    necessary
    """
)
"""What "the" goes with where something was spoken of before."""
_SHOWN = word_set("section statement example variant snippet sample line screenshot diagram listing figure")
"""What "the products ..." means that a page shows."""
_KNOWN_TO_ALL = word_set(
    """
    user users browser internet world web network terminal keyboard screen mouse clock time day week month
    year future past end start beginning background
    """
)
"""What "the" needs no telling before."""


def names_something(words: Sequence[Word], known: Vocabulary) -> bool:
    """Return whether the noun phrase *words* says by itself what it means."""
    inside = [word for word in words if word.low not in DETERMINERS]
    if not inside or any(word.low in LEANING and not word.is_literal for word in inside):
        return False
    if inside[0].low in _OPENINGS or (
        verb(inside[0].low, "gerund") is not None and inside[0].text[:1].isupper()
    ):
        return False
    if any(word.is_literal and re.search("[A-Za-z]", word.text) for word in inside):
        return len(inside) > 1 or not (inside[0].text.isalpha() and inside[0].text.islower())
    head = words[noun_phrase(words, 0) - 1].low
    if head in _META:
        return False
    content = [word for word in inside if word.low not in PREPOSITIONS]
    if len(content) >= 2:
        return not all(word.low in VAGUE for word in content)
    word = content[0]
    if word.low in VAGUE or len(word.low) < 3:
        return False
    if words[0].low in ("the", "your"):
        return known.has_named(word.low)
    return (
        word is not words[0] or word.text in known.names or (word.low in known.common and word.low[-1] == "s")
    )


_COMPARES = re.compile(r"\b(?:older|newer|earlier|later|higher|lower|bigger|smaller|larger)\b(?!.*\bthan\b)")
_NAMES_LITTLE = re.compile(r"(?<!\w)(?:-\w|[A-Z]{1,3}|my[A-Z]\w*|step \d+|steps)(?!\w)")
"""Short options, abbreviations, names of examples and steps, which mean something on their own page alone."""


def _acts(word: Word, following: Sequence[Word]) -> bool:
    """Return whether *word* after a noun is its verb, as far as *following* tells: "the command finishes"."""
    ends = any(one.low in DETERMINERS | PREPOSITIONS or not one.text[:1].isalnum() for one in following)
    return verb(word.low, "base") is not None or (ends and verb(word.low, "third") is not None)


def is_told_elsewhere(question: str, known: Vocabulary) -> bool:
    """Return whether *question* speaks of something that only the page around it tells ("the form")."""
    if _COMPARES.search(question) or _NAMES_LITTLE.search(question.replace("I ", "").replace("I'", "")):
        return True
    words = words_of(SourceSentence(text=question, start=0))
    for at, (word, noun, after) in enumerate(zip(words, words[1:], [*words[2:], None], strict=False)):
        thing = noun.text.removesuffix("'s").removesuffix("’s")
        if word.low != "the" or thing[:1].isupper() or not thing.isalpha():
            continue
        is_done = thing.endswith("ed") and verb(thing, "participle") is not None
        if thing in _POINTING_ADJECTIVES or (is_done and not known.has_named(thing)):
            return True
        if after is not None and after.low.removesuffix("s") in _SHOWN and not noun.is_literal:
            return True
        goes_on = after is not None and (after.is_noun_like or after.low == "of")
        if after is not None and goes_on and not _acts(after, words[at + 3 : at + 4]):
            continue
        if thing not in _KNOWN_TO_ALL and not known.has_named(thing):
            return True
    return False
