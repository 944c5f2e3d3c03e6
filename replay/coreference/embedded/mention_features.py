"""Features of a mention: how it stands in its question, and in which scene it is asked."""

from __future__ import annotations

import math
from collections.abc import Sequence

from replay.core.drift_evidence import Mention, MentionKind
from replay.coreference.embedded.layout import holds_answer
from replay.coreference.embedded.lexicon import GROUPS, NOUN_CLASSES, WORKS, singular
from replay.coreference.embedded.scene import Scene
from replay.coreference.mentions import REFLEXIVES, find_mentions
from replay.coreference.words import word_set, words

KINDS: tuple[MentionKind, ...] = ("he", "she", "they", "it", "this", "this-noun", "the-noun")
"""The kinds of mentions that ``find_mentions`` finds."""

AUXILIARIES = word_set("is was did does do are were has have had can could will would")
PREPOSITIONS = word_set("in of for at on to with by from about after before during like than")
_QUESTION_WORDS = ("who", "what", "when", "where", "why", "how")
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


def setting(scene: Scene) -> list[float]:
    """The scene, as every mention of the question finds it."""
    document, turns = scene.document, scene.document.turns
    asked = len(turns) + 1
    kinds_before = {m.kind for m in find_mentions(turns[-1].question)} if turns else set()
    answer = turns[-1].answer if turns else ""
    said = words(document.question)
    note = [singular(word) for word in words(scene.topic.note)]
    topic_end = scene.topic.key[-1] if scene.topic.key else ""
    return [
        *(count / asked for count in scene.said_before.values()),
        *(float(kind in kinds_before) for kind in KINDS[:5]),
        float(scene.topic_is_person),
        float(scene.topic_gender > 0),
        float(scene.topic_gender < 0),
        float(bool(note)),
        *(float(not nouns.isdisjoint(note)) for nouns in (WORKS, GROUPS)),
        float(scene.topic.text.lower().startswith("the ")),
        float(len(scene.topic.key) == 1),
        float(len(scene.topic.key) in (2, 3)),
        float(topic_end.endswith("s")),
        float(bool(document.title)),
        float(bool(document.section)),
        float(bool(document.background)),
        math.log1p(len(turns)) / 2,
        float(bool(turns) and not holds_answer(answer)),
        math.log1p(len(answer)) / 8,
        len(said) / 20,
        float(len(said) < 6),
        *(float(word in said[:3]) for word in _QUESTION_WORDS),
        float(said[:1] != () and said[0] in AUXILIARIES),
        *(
            float(not verbs.isdisjoint(said))
            for verbs in (_VERBS_OF_WORKS, _VERBS_OF_PEOPLE, _VERBS_OF_EVENTS)
        ),
    ]


def asking(mention: Mention, mentions: Sequence[Mention], line: Sequence[str]) -> list[float]:
    """The mention among the other words of its question, whose normal forms are *line*."""
    inside = list(words(mention.text))
    size = len(inside)
    first = next((i for i in range(len(line)) if line[i : i + size] == inside), 0)
    before = line[first - 1] if first else ""
    after = line[first + size] if first + size < len(line) else ""
    has_noun = mention.kind in ("this-noun", "the-noun")
    noun = singular(inside[-1]) if has_noun else ""
    return [
        float(mention.possessive),
        float(mention.text.lower() in REFLEXIVES),
        float(first == 0),
        float(first + size >= len(line) - 1),
        first / len(line),
        float(len(mentions) > 1),
        float(any(m.kind == mention.kind and m.start < mention.start for m in mentions)),
        float(any(m.start < mention.start for m in mentions)),
        float(before in AUXILIARIES),
        float(before in PREPOSITIONS),
        float(after in AUXILIARIES),
        float(inside[0] == "that"),
        float(has_noun and inside[-1].endswith("s")),
        *(float(noun in nouns) for nouns in NOUN_CLASSES),
    ]
