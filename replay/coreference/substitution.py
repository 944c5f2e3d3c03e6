"""
How an antecedent is put in a mention's place so that it reads like English.

Prepositions, articles, nouns, possessives, capitals and quotation marks; which mentions are replaced
at all is ``replay.coreference.rewriting``'s affair. The rules were made by reading rewritten questions
of CANARD beside the human ones.
"""

from __future__ import annotations

import re

from replay.core.drift_evidence import Mention, Reading
from replay.coreference.fitting import AMOUNT_NOUNS
from replay.coreference.leaning import at_a_place, at_a_time, one_of_several
from replay.coreference.mentions import GENERAL_NOUNS
from replay.coreference.words import ARTICLES, FUNCTION_WORDS, Token, content_words, tokens, word_set

MAX_INSERTED_WORDS = 15
"""A longer antecedent is left out: the mention then stays as it is."""
CLAUSE = "clause"
"""The source of a reading whose antecedent is a whole utterance."""
QUOTE = "quote"
"""The source of a reading whose antecedent stood in quotation marks."""
TITLES = frozenset({"title", "section", "name", "date", QUOTE})
"""Sources of what is a name even where it has the shape of a sentence."""

_POSSESSIVE_ENDING = re.compile(r"(?:['’]s|s['’])$", re.IGNORECASE)
_SENTENCE_START = re.compile(r"(?:^|[.?!]['\"”’)]*\s)[\s\"'“‘(\[]*$")
_TIMES = word_set("time year years period era decade day month week season moment date point")
_SAID_BY_THE_NAME = _TIMES - {"season"} | word_set(
    "man woman men women person people guy way place thing things question answer"
)
"""Nouns that add nothing to the name or date that takes their place."""
_ROLES = word_set("role position job part post title office")
_WANT_AN_ARTICLE = word_set(
    """
    war wars act tour season band team album trial campaign movement party league club series award awards
    show tournament trilogy project election era battle championship festival treaty strike affair
    """
)
"""Common nouns at a name's end: "the Civil War", but not "the Transylvania University"."""
WORK_NOUNS = word_set(
    "album song single film movie show series book novel play record track video documentary episode game"
)
GROUP_NOUNS = word_set("band group team company duo trio club university school party league label crew")
_COMPOUND = word_set(
    """
    member members leader leaders name names mate mates lineup player players manager video videos title
    titles cover producer director club deal history reader sales contract
    """
)
"""What makes one noun of "the band" and itself: "the band members"."""
_PREPOSITIONS = word_set(
    """
    in at on from with for during after before by near under of to about since until till through into over
    between against regarding within throughout around like than besides
    """
)
_OPENS_A_PHRASE = word_set("in at on from with for during after before by near under")
_DETERMINERS = ARTICLES | word_set("his her its their my our your this that these those")
_MODIFIERS = word_set("last same new first second third next particular specific other two three only")
_NOT_BEFORE_AN_ADVERB = word_set("is are was were be been do does did has have had this that the a an")
_AMOUNT = re.compile(r"[$€£]?\d")
_MAX_ECHO_WORDS = 3
_YEAR = re.compile(r"\b1\d\d\d|\b20\d\d|\d0s\b")
_RANGE = re.compile(r"\d\s*(?:-|–|—|to|and)\s*(?:\d|present)|\d0s\b")
_DAY = re.compile(
    r"^(?:(?:jan|febr)uary|march|april|may|june|july|august|(?:septem|octo|novem|decem)ber)\s\d\d?\b(?!\d)"
    r"|^\d\d?\s(?:january|february|march|april|may|june|july|august|september|october|november|december)\b",
    re.IGNORECASE,
)


def in_place(question: str, reading: Reading, antecedent: str) -> str | None:
    """
    What stands in *question* in the place of the reading's mention, *antecedent* being tidy.

    None where no wording would do: the mention is then better left as it is.
    """
    mention = reading.mention
    before, after = question[: mention.start], question[mention.end :]
    if before[-1:] in {'"', "“"} and after[:1] in {'"', "”"}:
        return None  # 'Who is "he"?' asks for the word
    put = _wording(reading, antecedent, before, after)
    if put is None:
        return None
    put = _without_echo(put, before, after)
    return capitalized(put) if at_sentence_start(question, mention.start) else put


def with_possessive(text: str, *, plural: bool) -> str:
    """ "Ann Lee's", "the Beatles'"; a text that ends in a possessive stays."""
    if _POSSESSIVE_ENDING.search(text):
        return text
    return f"{text}'" if plural and text[-1:] in "sS" else f"{text}'s"


def at_sentence_start(text: str, position: int) -> bool:
    """Whether a sentence begins at *position*."""
    return _SENTENCE_START.search(text[max(0, position - 40) : position]) is not None


def capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def is_name(text: str) -> bool:
    """Whether every word of *text* that could be is capitalised ("The Old Man and the Sea")."""
    line = [token for token in tokens(text) if token.is_word]
    telling = [t for t in line if t.normal not in FUNCTION_WORDS and t.text[0].isalpha()]
    rest = [t for t in line if t.text[0].isalpha()]
    return bool(rest) and all(t.is_capitalized for t in telling or rest)


def _wording(reading: Reading, antecedent: str, before: str, after: str) -> str | None:
    mention = reading.mention
    last, following = _last_word(before), _first_word(after)
    text = _without_sentence_capital(antecedent, reading.source)
    if len(text.split()) > MAX_INSERTED_WORDS:
        return None
    if mention.kind == "one":
        one = one_of_several(mention, text, after)
        return with_possessive(one, plural=False) if one and mention.possessive else one
    if mention.kind == "there":
        return at_a_place(before, mention, text)
    if mention.kind == "then":
        return at_a_time(before, mention, text, after)
    if mention.kind == "this" and following in _MODIFIERS:
        return None  # "this last work" is more than its "this"
    opening, _, rest = text.partition(" ")
    if rest and opening in _OPENS_A_PHRASE:
        if last in _PREPOSITIONS:
            text = rest  # "in that year" and "in 1990"
        elif mention.kind not in ("this-noun", "the-noun"):
            return None
    if mention.kind in ("this-noun", "the-noun"):
        return _with_noun(reading, text, last, following)
    if mention.possessive:
        return with_possessive(text, plural=mention.kind == "they" or _is_plural_name(text))
    return _quoted(reading, text)


def _with_noun(reading: Reading, antecedent: str, last: str, following: str) -> str | None:
    """ "this album" and "Thriller" make "the album Thriller"; a whole noun phrase stands alone."""
    mention = reading.mention
    noun = mention.text.partition(" ")[2].strip()
    head = noun.split()[-1].lower() if noun else ""
    if antecedent.find(mention.text) > 0:
        return None  # "the focus of the band" says no more about the band
    if head in _TIMES and _YEAR.search(antecedent):
        return _time(mention, head, antecedent, last, following)
    if _AMOUNT.match(antecedent) and head in AMOUNT_NOUNS:
        return antecedent
    line = tokens(antecedent)
    has_noun = any(token.normal.rstrip("s") == head.rstrip("s") for token in line)
    possessive = with_possessive if mention.possessive else _as_it_is
    if mention.kind == "the-noun" and head not in GENERAL_NOUNS and not has_noun:
        whole = is_name(antecedent) or line[0].normal == "the"
        return f"the {noun} of {_definite(antecedent)}" if whole and following != "of" else None
    if line[0].text in _OPENS_A_PHRASE and head not in _SAID_BY_THE_NAME:
        return f"the {noun} {antecedent}"
    if head in _SAID_BY_THE_NAME:
        return possessive(antecedent, plural=False)
    named = reading.source in ("title", "words", QUOTE)
    if line[0].text in _DETERMINERS or line[0].normal in ARTICLES:
        if has_noun or (is_name(antecedent) and (head in GROUP_NOUNS or mention.kind == "this-noun")):
            return possessive(_definite(antecedent), plural=False)
        return f"the {noun} {antecedent}" if head in WORK_NOUNS else None
    if not is_name(antecedent):
        phrase = _sentence_case(antecedent) if reading.source == "section" else antecedent
        if head in _ROLES and not line[0].is_capitalized:
            return f"the {noun} of {antecedent}"
        wants_article = phrase != antecedent and line[-1].normal.rstrip("s") == head.rstrip("s")
        if has_noun:
            return f"the {phrase}" if wants_article else antecedent
        return f"the {noun} {phrase}" if named else None
    name = _quoted(reading, antecedent)
    if following in _COMPOUND:
        return f"the {_without_last(antecedent, following)} {noun}"
    if has_noun:
        wants_article = line[-1].normal == head and head in _WANT_AN_ARTICLE
        return f"the {antecedent}" if wants_article else antecedent
    return f"the {noun} {name}"


def _definite(phrase: str) -> str:
    """ "an east restaurant", said before, is "the east restaurant"."""
    opening, _, rest = phrase.partition(" ")
    return f"the {rest}" if opening in ("a", "an") else phrase


def _time(mention: Mention, head: str, date: str, last: str, following: str) -> str | None:
    """ "in that year" -> "in 1990", "he won that year" -> "he won in 1990"."""
    if head in ("day", "date", "week", "month", "moment") and not _DAY.search(date) and last != "during":
        return None  # a year says less than "that day"
    if last == "between" and not _RANGE.search(date):
        return None
    adverb = (
        last
        and last not in _PREPOSITIONS | _NOT_BEFORE_AN_ADVERB
        and (not following or following in ("and", "or"))
    )
    return f"{'on' if _DAY.search(date) else 'in'} {date}" if adverb else date


def _as_it_is(text: str, *, plural: bool) -> str:
    return text


def _quoted(reading: Reading, text: str) -> str:
    """A quotation, and a title of several words that was quoted, keeps its quotation marks."""
    if reading.source != QUOTE or '"' in text or reading.mention.possessive or " " not in text:
        return text
    return f'"{text}"'


def _without_echo(put: str, before: str, after: str) -> str:
    """Without words that stand right before or behind already: no "the the Beatles", no "town of town"."""
    first, _, rest = put.partition(" ")
    if rest and first.lower() in ARTICLES | _PREPOSITIONS and first.lower() == _last_word(before):
        put = rest
    following = re.findall(r"[\w'’]+", after.lower())[:_MAX_ECHO_WORDS] if after[:1].isspace() else []
    for count in range(len(following), 0, -1):
        said = put.split()
        if len(said) > count and [word.lower() for word in said[-count:]] == following[:count]:
            return " ".join(said[:-count])
    return put


def _without_last(name: str, word: str) -> str:
    kept, _, last = name.rpartition(" ")
    return kept if kept and last.lower() == word else name


def _last_word(before: str) -> str:
    """The word right before, in lower case; empty where punctuation stands between."""
    found = re.search(r"([\w'’]+)\s+$", before)
    return found[1].lower() if found else ""


def _first_word(after: str) -> str:
    found = re.match(r"\s+([\w'’]+)", after)
    return found[1].lower() if found else ""


def _without_sentence_capital(antecedent: str, source: str) -> str:
    """ "The first album" from a sentence's start becomes "the first album"; "The Beatles" stays."""
    first, _, rest = antecedent.partition(" ")
    if not rest or rest[0].isupper() or first in ("I", "May", "Will") or first.lower() not in FUNCTION_WORDS:
        return antecedent
    names_something = source == QUOTE or (content_words(rest) and is_name(rest))
    opens_phrase = (first[1:].islower() or first == "A") and not names_something
    return f"{first.lower()} {rest}" if opens_phrase else antecedent


def _sentence_case(heading: str) -> str:
    """ "Self-titled debut album" -> "self-titled debut album", the other words showing that it is no name."""
    line: list[Token] = [t for t in tokens(heading) if t.is_word]
    if len(line) > 1 and not any(t.is_capitalized for t in line[1:]):
        return heading[:1].lower() + heading[1:]
    return heading


def _is_plural_name(text: str) -> bool:
    """ "the Beatles", "the United States", but not "Charles"."""
    return text.lower().startswith("the ") and text[-1:] in "sS" and text[-2:].lower() != "ss"
