"""
Words of a text: with their offsets, in a normal form, and which of them carry content; and its sentences
and their parts, as far as they can be told by their words.

Everything that compares or finds text in this package counts words as this module does. Case,
accents, punctuation, articles, pronouns and other function words make no difference between two
texts; see ``content_words``. The function words are English, the rest is not tied to a language:
marks stay with their letters, and scripts written without spaces (Chinese, Japanese) count a
character as a word, so that two names in them can share one.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import msgspec

# Python's \w leaves out combining marks, which would split words of most Indic scripts. From U+0300
# on, everything but spaces and the blocks of punctuation is taken for a part of a word.
_CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LETTER = (
    r"(?:[^\W" + _CJK + r"]|[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0900-\u0903"
    r"\u093a-\u094f\u0981-\u0983\u09bc-\u09cd\u0a01-\u0a03\u0a3c-\u0a4d\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03"
    r"\u0b3c-\u0b57\u0b82\u0bbe-\u0bcd\u0c00-\u0c04\u0c3e-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03"
    r"\u0d3b-\u0d4d\u0e31-\u0e3a\u0e47-\u0e4e\u1ab0-\u1aff\u1dc0-\u1dff])"
)
_CLITIC = r"['’](?:s|re|ll|ve|d|m)(?!\w)"


def _token(letter: str, alone: str, space: str, flags: re.RegexFlag) -> re.Pattern[str]:
    return re.compile(
        rf"\d+(?:[.,]\d+)*{letter}*"  # 1,000  3.5  1980s
        r"|(?:[^\W\d_]\.){2,}"  # U.S.
        rf"|{_CLITIC}"
        rf"|{letter}+(?:&{letter}+|['’](?!(?:s|re|ll|ve|d|m)(?!\w)){letter}+)*"  # R&B  O'Brien  don't
        rf"{alone}|[^\w{space}]",
        re.IGNORECASE | flags,
    )


_TOKEN = _token(_LETTER, rf"|[{_CJK}]", r"\s", re.NOFLAG)
_ASCII_TOKEN = _token(r"\w", "", r"\s\x1c-\x1f", re.ASCII)
"""The same tokens of a text in ASCII, found in half the time. That \\x1c to \\x1f are spaces, only the \\s of
Unicode knows."""


def word_set(listed: str) -> frozenset[str]:
    """Return the set of the words *listed* in a text with spaces between them."""
    return frozenset(listed.split())


ARTICLES = frozenset({"a", "an", "the"})

PRONOUNS = word_set(
    """
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she
    her hers herself it its itself they them their theirs themselves themself this that these those who
    whom whose which what one ones someone somebody something anyone anybody anything everyone everybody
    everything nobody nothing none each other another both all some any
    """
)

FUNCTION_WORDS = (
    ARTICLES
    | PRONOUNS
    | word_set(
        """
        of in on at by for to from with about as into over after before between during through against
        without within under upon among up down out off and or but nor not no yes so if then than too very
        when where why how is are was were be been being am do does did done doing has have had having
        will would shall should can could may might must there here also else besides aside addition more
        most much many such own same just only ever again while because since until although though
        however 's 're 'll 've 'd 'm don't doesn't didn't isn't aren't wasn't weren't hasn't haven't
        hadn't won't wouldn't can't cannot couldn't shouldn't s t
        """
    )
)
"""Words that say nothing of what a phrase is about."""

ASKS_FOR_MORE = word_set("else other others another more additional further different besides also")
"""What a question says that wants more than was said."""


class Token(msgspec.Struct, frozen=True, gc=False):
    """A word, a clitic such as ``'s``, or one punctuation mark."""

    text: str
    start: int
    end: int
    """Character offsets in the text, end exclusive."""
    normal: str
    """The word's normal form."""

    @property
    def is_word(self) -> bool:
        return self.text[0].isalnum()

    @property
    def is_capitalized(self) -> bool:
        return self.text[0].isupper()


@lru_cache(maxsize=65536)
def normal_form(word: str) -> str:
    """Lower case without accents, typographic apostrophes or thousands separators; "U.S." is "u.s"."""
    if not word.isascii():
        word = unicodedata.normalize("NFKD", word.replace("’", "'").casefold())
        word = "".join(c for c in word if not unicodedata.combining(c))
    word = word.lower().rstrip(".") or word
    return word.replace(",", "") if word[:1].isdigit() else word


def tokens(text: str) -> list[Token]:
    """Return the tokens of *text* in order; only spaces are between them."""
    found = _tokens_in(text).finditer(text)
    return [Token(m.group(), m.start(), m.end(), normal_form(m.group())) for m in found]


def words(text: str) -> tuple[str, ...]:
    """Return the normal forms of the words of *text*, without punctuation and clitics."""
    return tuple([normal_form(token) for token in _tokens_in(text).findall(text) if token[0].isalnum()])


def _tokens_in(text: str) -> re.Pattern[str]:
    return _ASCII_TOKEN if text.isascii() else _TOKEN


@lru_cache(maxsize=8192)
def content_words(text: str) -> tuple[str, ...]:
    """Return the normal forms of the words of *text* that are no function words; may be empty."""
    return tuple(word for word in words(text) if word not in FUNCTION_WORDS)


@lru_cache(maxsize=8192)
def comparable_words(text: str) -> tuple[str, ...]:
    """
    Return the content words of *text*, by which it is compared.

    A text of nothing but function words (the band "The Who", the film "It") is compared by all its
    words, and one without any word by its characters: a text always agrees with itself unless blank.
    """
    return content_words(text) or words(text) or tuple(text.casefold().split())


def word_f1(first: Sequence[str], second: Sequence[str]) -> float:
    """Return the F1 of two bags of words, in [0, 1]; symmetric; 0 if either is empty."""
    shared = sum((Counter(first) & Counter(second)).values())
    return 2 * shared / (len(first) + len(second)) if shared else 0.0


def singular(word: str) -> str:
    """Return *word* without a plural s, for comparing nouns."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


_AUXILIARIES = word_set(
    """
    is are was were has have had does did do will would can could should may might must isn't aren't wasn't
    weren't hasn't haven't hadn't doesn't didn't don't won't wouldn't can't couldn't
    """
)
_PASTS = word_set(
    """
    became began bought broke brought built came chose did drew fell felt flew fought found gave got grew had
    held kept knew left led lost made met paid played ran rose said sang sat saw sent sold spent spoke stood
    took taught thought told took went won wore wrote
    """
)
"""Past tenses without "-ed" that are hardly ever adjectives or nouns."""
_RELATIVES = word_set("who whom whose which that where when")
_SUBJECTS = word_set("he she they it i we you there")
_AFTER_A_VERB = ARTICLES | word_set("his her its their in to him them")

_SENTENCE_END = re.compile(r"(?<=[^\W\d_]{3}[.!?])['\"”’)]*\s+|(?<=\d[.!?])['\"”’)]*\s+(?=[A-Z])")
_BREAK = re.compile(
    r"(?!(?<=\s)\s)(?:"  # a run of spaces is looked at from its beginning alone
    r"\s*[;:—]\s+|\s+[–-]+\s+|,\s+(?=(?:and|but|or|while|which|who|where|when|because|although)\s)"
    r"|\s+(?=(?:and|but)\s(?:he|she|they|it|was|were|had|has|is|are|then|later)\s)"
    r"|\s+(?=(?:which|while|because|although|after|before|until)\s))"
)
"""Where a sentence may end early. A comma alone may be one of a list."""
_ADJUNCT = re.compile(
    r"^(?:in|at|on|by|after|before|during|when|while|although|though|as|since|with|for|because|rather"
    r"|despite|upon|following|looking|\w+ing)\s[^,]*,\s+",
    re.IGNORECASE,
)
_LEADING = re.compile(
    r"^(?:(?:and|but|so|still|also|however|then|well)\b,?\s+|(?:yes|no|not really|sure|okay|ok)[,.]\s+)+",
    re.IGNORECASE,
)


def is_clause(text: str) -> bool:
    """
    Return whether *text* is a sentence or has the shape of one ("Hedin supported the movement").

    A noun phrase stays one whatever its relative clause says ("the man who was king"). Told by words
    alone, so it errs with verbs that are no auxiliaries and don't end in "-ed".
    """
    said = [token for token in tokens(text) if token.is_word]
    if len(said) < 3:
        return False
    if said[0].normal in _SUBJECTS and not said[1].is_capitalized:
        return True
    for before, word, after in zip(said, said[1:], [*said[2:], None], strict=False):
        if word.normal in _RELATIVES:
            return False
        if word.text in _AUXILIARIES:
            return True
        # "Hedin supported the ...", but not "Thriller, produced by ..."
        regular = word.text.islower() and word.text.endswith("ed")
        if regular and after is not None and after.normal in _AFTER_A_VERB and before.is_capitalized:
            return True
        if before.is_capitalized and word.text in _PASTS:
            return True
    return False


def sentences(text: str) -> list[str]:
    """Return the sentences of *text*, each on one line; the stop of an abbreviation ends none."""
    return [found for found in _SENTENCE_END.split(" ".join(text.split())) if found]


def cut_sentence(text: str, max_words: int) -> str:
    """
    Return the first sentence of *text*, cut to *max_words* words; empty if it can't be cut cleanly.

    "But" and its like at the start go first, then what stands before the main clause ("After the war,
    ..."); then the sentence ends where a clause of it ends, if at least four words are left.
    """
    line = _LEADING.sub("", next(iter(sentences(text)), ""))
    while len(line.split()) > max_words and (adjunct := _ADJUNCT.match(line)):
        line = line[adjunct.end() :]
    if len(line.split()) > max_words:
        ends = [found.start() for found in _BREAK.finditer(line)]
        fitting = [end for end in ends if 4 <= len(line[:end].split()) <= max_words]
        line = line[: fitting[-1]] if fitting else ""
    # A cut inside a quotation or a parenthesis is none.
    balanced = line.count('"') % 2 == 0 and line.count("(") == line.count(")")
    return line.rstrip(" ,;:—–-") if balanced else ""
