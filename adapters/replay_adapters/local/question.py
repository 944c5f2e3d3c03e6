"""
What can be told of a question from its words: whether it leans on what was said before, what it names, and
which kind of answer it asks for.

"Who" asks for a name, "when" and "how many" for a number, "why" for a reason: the oldest rule of answering
questions from a text (Hirschman et al., 1999, "Deep Read: A Reading Comprehension System"), and a rough one.
"""

from __future__ import annotations

import re
from functools import lru_cache

from replay_adapters.local.stems import WORD, content_stems

_LEANING = frozenset(
    """
    he she it they him her them his hers its their theirs this that these those there then one ones else
    others
    """.split()  # noqa: SIM905 - words in quotes are no easier to read
)
_WHO = re.compile(r"\bwho(?:se|m|['’]s)?\b", re.IGNORECASE)
_HOW_MANY = re.compile(
    r"\b(?:when|how (?:long|many|much|old|often|high|far|big|large|tall)|what (?:time|year))\b", re.IGNORECASE
)
_WHY = re.compile(r"\b(?:why|how come)\b", re.IGNORECASE)
_NUMBER = re.compile(
    r"""\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen
    |seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million
    |half|once|twice|single)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_REASON = re.compile(r"\b(?:because|since|as|to|in order|due|caused|wanted|so)\b", re.IGNORECASE)


@lru_cache(maxsize=4096)
def leans(text: str) -> bool:
    """Return whether *text* has a word that stands for something said before, as far as single words tell."""
    words = (match[0].casefold() for match in WORD.finditer(text))
    return any(re.split("['’]", word)[0] in _LEANING for word in words)


@lru_cache(maxsize=65_536)
def can_answer(sentence: str, question: str) -> bool:
    """Return whether *sentence* has what *question* asks for: true where the question's kind isn't known."""
    return (
        (not _WHO.search(question) or bool(name_stems(sentence) - set(content_stems(question))))
        and (not _HOW_MANY.search(question) or bool(_NUMBER.search(sentence)))
        and (not _WHY.search(question) or bool(_REASON.search(sentence)))
    )


@lru_cache(maxsize=4096)
def name_stems(text: str) -> frozenset[str]:
    """Return the stems of the words with a capital, but for the first word and "I"."""
    words = [match[0] for match in WORD.finditer(text)][1:]
    names = (word for word in words if word[0].isupper() and re.split("['’]", word)[0] != "I")
    return frozenset(content_stems(" ".join(names)))
