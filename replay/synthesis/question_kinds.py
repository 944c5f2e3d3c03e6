"""Of what kind a question is, by its words alone: rules of English grammar, no model."""

from __future__ import annotations

import re

from replay.coreference.reading.words import Token, tokens, word_set

QUESTION_WORDS = (
    "what", "which", "who", "when", "where", "why", "how", "how many", "yes/no", "request", "other",
)  # fmt: skip
"""``how many`` is also "how much"; ``request`` is "Tell me ..."; ``other`` has no word that asks."""

_WH = {
    "what": "what", "whats": "what", "which": "which", "who": "who", "whom": "who", "whose": "who",
    "whos": "who", "when": "when", "where": "where", "why": "why", "how": "how",
}  # fmt: skip
_AUXILIARIES = word_set(
    """
    is are was were am be do does did can could will would shall should may might must has have had
    isn't aren't wasn't weren't don't doesn't didn't can't cannot couldn't won't wouldn't shouldn't hasn't
    haven't hadn't isnt arent wasnt werent dont doesnt didnt cant couldnt wont wouldnt
    """
)
_REQUESTS = word_set(
    "tell explain describe list give show name compare summarize summarise elaborate help provide find let"
)
_OPENERS = word_set("and but or so ok okay well also then thanks yes no oh great please hi hello now")
_ASKS_FOR_REQUEST = re.compile(
    r"(?:can|could|would|will) you (?:please |also |just )?(?:\w+ )?"
    r"(?:tell|explain|describe|list|give|show|name|compare|summari[sz]e|elaborate|help|provide|find)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_PREPOSITIONS = word_set("in on at by for to from with about of under during after before since until into")


def question_word(question: str) -> str:
    """
    Return which of ``QUESTION_WORDS`` asks.

    Of several sentences the last with a question mark counts ("It hurts. What can I do?"), of that the word
    at the beginning ("In what year", "And who"), else the first one that asks later on ("After the war,
    what happened?").
    """
    asking = [
        sentence for sentence in _SENTENCE_END.split(question) if sentence.rstrip("\"'”’) ").endswith("?")
    ]
    question = asking[-1] if asking else question
    line = [token for token in tokens(question.replace("’", "'")) if token.is_word]
    while line and line[0].normal in _OPENERS:
        line = line[1:]
    if not line:
        return "other"
    first = line[0].normal
    if first in _WH:
        return _which(line, 0)
    if first in _PREPOSITIONS and len(line) > 1 and line[1].normal in _WH:
        return _which(line, 1)
    if _ASKS_FOR_REQUEST.match(question[line[0].start :]) or first in _REQUESTS:
        return "request"
    if first in _AUXILIARIES:
        return "yes/no"
    for at, token in enumerate(line):
        after_break = question[: token.start].rstrip().endswith((",", ";", ":", ".", "!", "?"))
        if token.normal in _WH and (after_break or _asks(line, at)):
            return _which(line, at)
    return "other"


def _which(line: list[Token], at: int) -> str:
    word = _WH[line[at].normal]
    following = line[at + 1].normal if at + 1 < len(line) else ""
    return "how many" if word == "how" and following in ("many", "much") else word


def _asks(line: list[Token], at: int) -> bool:
    """Return whether the word at *at* asks: it stands last, or an auxiliary follows and it is no relative."""
    if at >= len(line) - 2:
        return True
    is_relative = _WH[line[at].normal] in ("who", "which")
    return not is_relative and any(token.normal in _AUXILIARIES for token in line[at + 1 : at + 4])


def is_yes_no(question: str) -> bool:
    """Return whether yes or no could answer *question*; one between two things ("red or blue") is none."""
    return question_word(question) == "yes/no" and " or " not in question.lower()


_MORE = re.compile(
    r"\b(?:(?:what|who|where|how|anything|anyone|something|nothing|everything) else"
    r"|(?:any|what|which) (?:other|more)|other than (?:that|this)"
    r"|(?:besides|aside from|apart from) (?:that|this|these|those))\b",
    re.IGNORECASE,
)
_FRAGMENT = re.compile(
    r"(?:(?:what|how) about|(?:and|but|or|so)\b"
    r"|(?:why|when|where|how|who|which|what)(?: so| not| then| exactly)?\W*$"
    r"|(?:really|such as|like what|like who|for example|since when|for how long|in what way|meaning)\W*$)",
    re.IGNORECASE,
)
_OPENS_CLAUSE = re.compile(
    r"(?:and|but|or|so)\W+(?:what|which|who|whose|when|where|why|how|in|is|are|was|were|do|does|did|can|could|will"
    r"|would|has|have|had|i|you|we|he|she|it|they|there|the|this|that)\b[\s\w'’]+\w",
    re.IGNORECASE,
)


def is_elliptical(question: str) -> bool:
    """
    Return whether *question* leaves out what it asks about: a fragment, or a question for more.

    "Why?", "And for children?", "How about the second?", "What else?", "Any other albums?". A question of six
    words or fewer without an auxiliary and without a word that asks is a fragment too.
    """
    text = question.strip()
    if _MORE.search(text):
        return True
    if _FRAGMENT.match(text) and not _OPENS_CLAUSE.match(text):
        return True
    line = [token.normal for token in tokens(text.replace("’", "'")) if token.is_word]
    is_short = 0 < len(line) <= 6
    return is_short and question_word(text) == "other" and not _AUXILIARIES.intersection(line)
