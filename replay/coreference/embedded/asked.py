"""What a question tells by itself: its mentions, and how each stands in it. Looked at once."""

from __future__ import annotations

from functools import lru_cache

import msgspec
import numpy as np

from replay.core.drift_evidence import Mention, MentionKind
from replay.coreference.embedded.lexicon import NOUN_CLASSES
from replay.coreference.embedded.looks import Matrix
from replay.coreference.mentions import REFLEXIVES, ellipsis_of, find_mentions
from replay.coreference.vectors import SIZE, mean_of, means_of, rows_of
from replay.coreference.words import FUNCTION_WORDS, Token, singular, tokens, word_set

KINDS: tuple[MentionKind, ...] = (
    "he", "she", "they", "it", "this", "this-noun", "the-noun", "one", "there", "then", "ellipsis",
)  # fmt: skip
"""The kinds of mentions that are read. A mention's first columns are its kind, in this order."""
_KIND_ROWS = dict(zip(KINDS, np.eye(len(KINDS)).tolist(), strict=True))
_WITH_NOUN = ("this-noun", "the-noun")

AUXILIARIES = word_set("is was did does do are were has have had can could will would")
PREPOSITIONS = word_set("in of for at on to with by from about after before during like than")
_QUESTION_WORDS = ("who", "what", "when", "where", "why", "how", "which")
_VERBS_OF_WORKS = word_set(
    """
    release released record recorded sell sold write written wrote chart charted perform performed called
    publish published produce produced air aired star starred direct directed review reviews track tracks
    """
)
_VERBS_OF_PEOPLE = word_set(
    """
    born die died marry married play played join joined leave left live lived attend attended study studied
    retire retired work worked move moved meet met say said think thought feel felt want wanted
    """
)
_VERBS_OF_EVENTS = word_set("happen happened win won lose lost take took end ended start started occur")
_ELSE = word_set("else other others another more additional further different besides")
_INTERESTING = word_set("interesting important notable aspects information article facts")
_ACTS = word_set(
    "yes no ok okay thanks thank sure great please hello hi goodbye bye tell give show find book"
)
_ORDERS = {
    "first": 1, "former": 1, "second": 2, "latter": -1, "third": 3, "fourth": 4, "fifth": 5, "last": -1,
}  # fmt: skip
_YOU = word_set("i me my you your we our us")


class Seen(msgspec.Struct, frozen=True):
    """One mention of a question."""

    noun: str
    """In the singular, for a mention that has one."""
    words: frozenset[str]
    """Its content words, in the singular."""
    order: int
    """Which of a list it asks for: 1 the first, -1 the last; 0 for any."""
    wanted_sex: float


class Asked(msgspec.Struct, frozen=True):
    """A question."""

    line: list[Token]
    mentions: tuple[Mention, ...]
    """In order of position, the ellipsis last."""
    seen: tuple[Seen, ...]
    """One for each mention."""
    standing: Matrix
    """One row for each mention: how it stands in the question; its kind first."""
    around: Matrix
    """One column for each mention: what its noun means, or else the words beside it."""
    kinds: frozenset[str]
    """Which kinds of mentions it has, the ellipsis apart."""
    content: frozenset[str]
    row: Matrix
    """What holds of the whole question."""
    meanings: Matrix
    """What it means as a whole, then one row for each content word that has a vector, or a zero one."""


@lru_cache(maxsize=8192)
def asked(question: str) -> Asked:
    """What *question* tells by itself."""
    line = tokens(question)
    mentions = (*find_mentions(question), ellipsis_of(question))
    normals = [token.normal for token in line]
    content = [t.normal for t in line if t.is_word and t.normal not in FUNCTION_WORDS]
    meaning = mean_of(content)
    meanings = rows_of(content)
    looked = [_seen(mention, mentions, line, normals) for mention in mentions]
    around = means_of([said for _, _, said in looked])
    return Asked(
        line=line,
        mentions=mentions,
        seen=tuple(seen for seen, _, _ in looked),
        standing=np.concatenate([np.asarray([row for _, row, _ in looked], np.float32), around], axis=1),
        around=around.T,
        kinds=frozenset(mention.kind for mention in mentions[:-1]),
        content=frozenset(content),
        row=np.concatenate(
            [np.asarray(_whole(question, line, content, len(mentions) - 1), np.float32), meaning]
        ),
        meanings=np.concatenate(
            [meaning[None], meanings if len(meanings) else np.zeros((1, SIZE), np.float32)]
        ),
    )


def _whole(question: str, line: list[Token], content: list[str], mentions: int) -> list[float]:
    said = [t.normal for t in line if t.is_word]
    start = said[:3]
    names = sum(t.is_capitalized for t in line[1:])
    flags = (
        len(said) < 4,
        len(said) < 6,
        *(word in start for word in _QUESTION_WORDS),
        bool(said) and said[0] in AUXILIARIES,
        *(
            not verbs.isdisjoint(said)
            for verbs in (_VERBS_OF_WORKS, _VERBS_OF_PEOPLE, _VERBS_OF_EVENTS, _INTERESTING)
        ),
        "else" in said,
        "other" in said,
        not _ELSE.isdisjoint(said),
        "any" in said,
        "also" in said,
        start[:2] in (["what", "about"], ["how", "about"]),
        said[:1] in (["and"], ["or"], ["but"]),
        bool(said) and said[-1] in PREPOSITIONS,
        bool(said) and said[0] in _ACTS,
        not _YOU.isdisjoint(said),
        any(word in AUXILIARIES for word in said),
        mentions == 0,
        mentions > 1,
        names > 0,
        names > 1,
        any(word[0].isdigit() for word in said),
        any(word in ("a", "an") for word in said),
        "the" in said,
        not content,
        len(content) == 1,
        len(content) == 2,
        question.rstrip()[-1:] == "?",
        question.rstrip()[-1:] in (".", "!"),
    )
    return [*map(float, flags), min(len(said), 40) / 20, min(len(content), 20) / 10, names / 4]


def _seen(
    mention: Mention, mentions: tuple[Mention, ...], line: list[Token], normals: list[str]
) -> tuple[Seen, list[float | bool], list[str]]:
    """The mention, the row of how it stands, and the words of its noun or else those around it."""
    places = [i for i, t in enumerate(line) if mention.start <= t.start and t.end <= mention.end]
    first = places[0] if places else len(line)
    end = places[-1] + 1 if places else len(line)
    inside = normals[first:end]
    before = normals[first - 1] if first else ""
    after = normals[end] if end < len(line) else ""
    noun = singular(inside[-1]) if mention.kind in _WITH_NOUN else ""
    own = [word for word in inside if word not in FUNCTION_WORDS]
    order = next((_ORDERS[word] for word in inside if word in _ORDERS), 0) if mention.kind == "one" else 0
    flags = (
        mention.possessive,
        mention.text.lower() in REFLEXIVES,
        first == 0,
        end >= len(line) - 1,
        any(m.kind == mention.kind and m.start < mention.start for m in mentions),
        any(m.start < mention.start for m in mentions),
        before in AUXILIARIES,
        before in PREPOSITIONS,
        after in AUXILIARIES,
        after in PREPOSITIONS,
        after in ("?", ".", "", ","),
        inside[:1] == ["that"],
        bool(noun) and inside[-1].endswith("s"),
        len(own) > 1,
        *(noun in nouns for nouns in NOUN_CLASSES),
        order != 0,
        "other" in inside or "others" in inside,
        len(inside) > 0 and inside[-1] in ("ones", "others", "two", "rest"),
    )
    around = [word for word in (before, after) if word not in FUNCTION_WORDS]
    row = [*_KIND_ROWS[mention.kind], *flags, min(first, 20) / max(1, len(line))]
    seen = Seen(
        noun=noun,
        words=frozenset(map(singular, own)),
        order=order,
        wanted_sex={"he": 1.0, "she": -1.0}.get(mention.kind, 0.0),
    )
    return seen, row, own if noun else around
