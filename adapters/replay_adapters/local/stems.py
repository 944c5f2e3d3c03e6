"""
The words of questions and sentences: their stems, and what they tell of a question.

English endings are taken off and the commonest irregular verbs known, and no more: it only has to bring
"recorded", "recording" and "records" together, and "met" and "meet".

"Who" asks for a name, "when" and "how many" for a number, "why" for a reason: the oldest rule of answering
questions from a text (Hirschman et al., 1999, "Deep Read: A Reading Comprehension System"), and a rough one.
"""

from __future__ import annotations

import re
from functools import lru_cache

WORD = re.compile(r"\w+(?:['’]\w+)*")
_POSSESSIVE = re.compile(r"['’]s?$")
_STOPWORDS = frozenset(
    """
    a about above after again against all also am an and any anything are aren't as at be because been
    before being below between both but by can can't could couldn't did didn't do does doesn't doing don't
    down during each else ever few for from further get got had has hasn't have haven't having he her here
    hers herself him himself his how i if in into is isn't it its itself just let's like many may me might
    more most much must my myself no nor not now of off on once only or other others our ours ourselves out
    over own she should so some something such tell than that that's the their theirs them themselves then
    there there's these they this those through to too under until up upon us very was wasn't we were
    weren't what what's when where which while who who's whom whose why will with would yes you your yours
    yourself
    """.split()  # noqa: SIM905 - 150 words in quotes are no easier to read
)
_ENDINGS = (("sses", "ss"), ("ies", "y"), ("ied", "y"), ("ing", ""), ("edly", ""), ("ed", ""), ("ly", ""))


_IRREGULAR = {
    form: verb
    for forms in """
    become became
    begin began begun
    break broke broken
    bring brought
    build built
    burn burnt
    buy bought
    catch caught
    choose chose chosen
    come came
    draw drew drawn
    drive drove driven
    eat ate eaten
    fall fell fallen
    feel felt
    find found
    fly flew flown
    forget forgot forgotten
    give gave given
    go went gone
    grow grew grown
    hang hung
    hear heard
    hold held
    keep kept
    know knew known
    lead led
    leave left
    lend lent
    lose lost
    make made
    mean meant
    meet met
    pay paid
    ring rang rung
    rise rose risen
    run ran
    say said
    see saw seen
    sell sold
    send sent
    sing sang sung
    sit sat
    sleep slept
    speak spoke spoken
    spend spent
    stand stood
    swim swam swum
    take took taken
    teach taught
    tell told
    think thought
    wear wore worn
    win won
    write wrote written
    """.strip().splitlines()
    for verb, *others in [forms.split()]
    for form in others
}


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return *word*, in lower case, without plural, possessive and the endings of tense; "met" is "meet"."""
    word = _POSSESSIVE.sub("", word)
    word = _IRREGULAR.get(word, word)
    if len(word) <= 3 or not word.isalpha():
        return word
    if word.endswith("s") and not word.endswith(("ss", "us", "is", "ies")):
        word = word[:-1]
    for ending, replacement in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending) + replacement
            if not replacement and len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]  # "planned" -> "plan"
            break
    return word.removesuffix("e") if len(word) > 4 else word


@lru_cache(maxsize=4096)
def content_stems(text: str) -> tuple[str, ...]:
    """Return the stems of the words that carry meaning, each once, in order of appearance."""
    words = (match[0] for match in WORD.finditer(text.casefold()))
    return tuple(dict.fromkeys(stem(word) for word in words if word.replace("’", "'") not in _STOPWORDS))


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
