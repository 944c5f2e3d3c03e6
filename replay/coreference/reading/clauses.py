"""
Sentences and their parts, as far as they can be told by their words: whether a text is a clause, and
how much of it can stand alone.
"""

from __future__ import annotations

import re

from replay.coreference.reading.words import ARTICLES, tokens, word_set

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


def capped(text: str, max_words: int) -> str:
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
