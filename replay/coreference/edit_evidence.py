"""What the decision to edit a question or to leave it weighs, in numbers."""

from __future__ import annotations

from functools import lru_cache

from replay.core.drift_evidence import MENTION_KINDS, Reading
from replay.coreference.words import ARTICLES, ASKS_FOR_MORE, content_words, word_set, words

_SOURCES = ("title", "section", "name", "quote", "phrase", "words", "date", "answer", "clause", "list")
_MINE = word_set("i me my mine we our us")
_YOURS = word_set("you your yours")
_ASKING = word_set("who what when where why how which whose")
_AUXILIARIES = word_set("is was did does do are were has have had can could will would should")
_PREPOSITIONS = word_set("in of for at on to with by from about after before during like than besides")
_COURTESY = word_set("yes no ok okay thanks thank please great hello hi goodbye bye sure sorry good")


def edit_evidence(question: str, reading: Reading, put: str) -> list[float]:
    """
    Numbers of about one's size: how sure *reading* is, and what *put* in its place looks like.
    """
    mention, distribution = reading.mention, reading.distribution
    antecedent = reading.antecedent or ""
    ranked = [p for p, _ in distribution]
    own = sum(p for p, text in distribution if text == antecedent)
    said = words(antecedent)
    content = set(content_words(antecedent))
    kin = sum(p for p, text in distribution if not content.isdisjoint(content_words(text)))
    asked = set(content_words(question))
    placed = words(put)
    flags = (
        *(mention.kind == kind for kind in MENTION_KINDS),
        *(reading.source == source for source in _SOURCES),
        mention.possessive,
        mention.start == 0,
        mention.end >= len(question.rstrip(" ?.!")),
        antecedent[:1].isupper(),
        all(word[:1].isupper() or len(word) < 4 for word in antecedent.split()),
        any(c.isdigit() for c in antecedent),
        " and " in antecedent or "," in antecedent,
        said[:1] != () and said[0] in ARTICLES,
        antecedent[-1:] == "s",
        len(said) == 1,
        len(said) > 4,
        len(said) > 8,
        placed[:1] != () and placed[0] in _PREPOSITIONS,
        antecedent in put,
        not content.isdisjoint(asked),
    )
    return [
        own,
        ranked[0] if ranked else 1.0,
        ranked[1] if len(ranked) > 1 else 0.0,
        kin,
        1 - sum(ranked),
        len(ranked) / 10,
        min(len(said), 15) / 5,
        min(len(placed), 15) / 5,
        *map(float, flags),
        *_question(question),
    ]


@lru_cache(maxsize=8192)
def _question(question: str) -> tuple[float, ...]:
    said = words(question)
    content = content_words(question)
    flags = (
        not ASKS_FOR_MORE.isdisjoint(said),
        not _MINE.isdisjoint(said),
        not _YOURS.isdisjoint(said),
        not _ASKING.isdisjoint(said[:3]),
        said[:1] != () and said[0] in _AUXILIARIES,
        said[:1] != () and said[0] in _COURTESY,
        said[:1] in (("and",), ("or",)) or "about" in said[:2],
        said[-1:] != () and said[-1] in _PREPOSITIONS,
        "the" in said,
        any(word[0].isupper() for word in question.split()[1:]),
        any(c.isdigit() for c in question),
        question.rstrip().endswith("?"),
        "." in question.rstrip(". "),
        question[:1].islower(),
    )
    return (*map(float, flags), min(len(said), 30) / 10, min(len(content), 15) / 5)
