"""
Which candidates "he" and "she" can't mean: those that are evidently no person.

The networks have learned from articles most of which are about one person each, and take a title for a
person where the scene doesn't say otherwise. So what is evident is decided here, before a reading is
chosen: by what a text says that something is ("Two Spoons is a cooking show"), by the noun in a name
("Museum of Clocks"), by a name's article, and by the kind of candidate. Evidence of a person (a known
first name, "born", "is an accordionist") outweighs all but the noun in a name. A person whose sex the
text tells is not meant by the other pronoun. Nothing here is trained.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from replay.core.drift_evidence import Mention
from replay.coreference.embedded.candidates import Candidate, Topic
from replay.coreference.embedded.lexicon import (
    EVENTS,
    GROUPS,
    MONTHS,
    PEOPLE_NOUNS,
    PLURAL_PEOPLE,
    RELATIVES,
    TIMES,
    WORKS,
    gender,
)
from replay.coreference.embedded.scene import Scene
from replay.coreference.resolver import Document
from replay.coreference.words import content_words, singular, tokens, word_set, words

_ORGANIZATIONS = GROUPS | word_set(
    """
    museum quintet choir ensemble dairy cooperative hospital firm bank railway airline theatre theater
    gallery library institute institution foundation society union committee council ministry airport hotel
    restaurant cafe shop store brewery bakery factory station charity maker manufacturer service desk
    startup business brand expedition
    """
)
_OBJECTS = (
    WORKS
    | EVENTS
    | TIMES
    | word_set(
        """
        app application program software website device machine tool instrument brace trainer disease
        disorder drug medicine study report survey serial trilogy ballet sculpture building bridge tower
        castle city town village county country region river lake mountain valley island route trail road
        train ship boat aircraft car engine icebreaker hinge footrace marathon cup prize exhibition
        exposition conference meeting holiday recipe dish cheese soup plant species theory method law
        treaty help
        """
    )
)
_SURNAMES_TOO = word_set(
    "church bank crew people family party couple tribe label maker service desk shop store"
)
_NAME_ENDS = (_ORGANIZATIONS - _SURNAMES_TOO) | word_set(
    """
    act festival exhibition conference tournament marathon musical album symphony app software report
    serial trilogy expo clinic show help hinge
    """
)
"""Nouns that, as the last of a name, say that it is no person's, whatever its first word."""
_PERSON_NOUNS = (
    PEOPLE_NOUNS
    | RELATIVES
    | PLURAL_PEOPLE
    | word_set(
        """
        adult aide ally ambassador animal apprentice architect assistant athlete baby baron bishop boss
        candidate captain cat chair champion chef chief clerk coach colleague comedian cook count critic
        customer dog duke elephant employee emperor expert fan farmhand fellow figure general giant guard
        guest guide guru head hero heroine horse host hostess icon idol infant king knight lad lady lama
        leader lord major martyr mate mayor member migrant monk mystic native nun nurse officer opponent
        orphan parent patient patriarch patron peer physician pilot poet politician pope president priest
        prince princess prodigy prophet queen racehorse recruit relative rival saint scholar secretary
        sergeant servant sheriff spouse spy star student subject sultan surgeon survivor teen thief twin
        tyrant veteran vet victim villain widow witness youth
        """
    )
)
_PERSON_ENDINGS = ("ist", "er", "or", "ian", "man", "men", "woman", "women", "eer", "smith", "wright")
_NO_PERSONS = word_set(
    """
    answer banner barrier beer border bumper butter cancer career center chamber chapter charter cinder
    cluster color computer container copper corner counter cover december dinner disaster disorder door
    error factor fever fiber filter finger fist floor flower folder heater humor icebreaker ladder layer
    leather letter liquor list liver manner matter meter mirror monitor motor newspaper number october
    offer order paper parameter pepper playlist poster powder power printer quarter reactor river roster
    rumor sector sensor september server shelter shoulder silver slider sneaker soccer starter summer
    supper sweater terror theater thriller timer tower tractor trailer trainer trigger trouser twist water
    weather winter wonder wrist november rover mower laser
    """
)
"""Words with a person noun's ending that are none."""
_DEFINED = re.compile(
    r"(?:\s*\([^()]*\))?,?\s+(is|was|are|were)\s+(?:also\s+|still\s+|now\s+)?an?\s+([^.;:!?\n]{1,120})"
)
_BORN = re.compile(r"\s*+(?:\(|,)?\s*+(?:was\s+|is\s+)?(?:\([^()]{0,40}\)\s+was\s+)?born\b")
_ENDS_NOUN_PHRASE = re.compile(
    r"\b(?:of|on|in|for|at|that|which|who|whose|from|to|with|by|about|between|through|along|among|as|"
    r"based|founded|made|known|set|called|named|where|when)\b"
)
_AND = re.compile(r",|\band\b|\bor\b")
_NO_NAMES = word_set(
    """
    ok okay hello hi hey thanks sorry one two three four five six seven eight nine ten hundreds thousands
    healthy both several
    """
)
"""What may open a sentence like a name."""
_THINGS = _ORGANIZATIONS | _OBJECTS
_NAMED_THINGS = _THINGS - EVENTS - TIMES
"""Nouns that a thing's name follows: "the ship Kestrel"; "the race" may be followed by its winner."""
_SURE_OF_SEX = 0.7
_HE = word_set("he him his himself")
_SHE = word_set("she her hers herself")
_PERSONS_KINDS = ("title", "name", "section", "answer", "phrase", "words")


def is_person_noun(noun: str) -> bool:
    """Whether *noun*, in normal form, says that something is a person; animals count as such."""
    if noun in _PERSON_NOUNS or singular(noun) in _PERSON_NOUNS:
        return True
    noun = singular(noun)
    if noun in _NO_PERSONS or noun in _ORGANIZATIONS or noun in _OBJECTS:
        return False
    return len(noun) > 4 and noun.endswith(_PERSON_ENDINGS)


class Persons:
    """What a document tells of its candidates: which are evidently persons, and which evidently none."""

    def __init__(self, scene: Scene) -> None:
        self._context = scene.document.context()
        self._document = scene.document
        self._topic = scene.topic
        self._names = {c.key: c for c in scene.candidates if c.kind in ("title", "name", "section")}
        self._weighed: dict[tuple[str, ...], float] = {}

    def could_mean(self, mention: Mention, candidate: Candidate) -> bool:
        """Whether nothing forbids *candidate* as the antecedent of *mention*."""
        if mention.kind in ("he", "she"):
            return not (self.is_no_person(candidate) or self._is_other_sex(mention, candidate))
        return True

    def is_no_person(self, candidate: Candidate) -> bool:
        """Whether *candidate* is evidently no single person."""
        if candidate.kind not in _PERSONS_KINDS:
            return True
        if self._evidence(candidate.key) < 0:
            return True
        described = candidate.kind in ("answer", "section") and not _names_inside(candidate.text)
        if described or candidate.kind in ("phrase", "words"):
            return not _is_person_phrase(candidate.text, candidate.key)
        if not MONTHS.isdisjoint(candidate.key) and not gender(candidate.key):
            return True  # "Every Monday"
        if self._evidence(self._topic.key) >= 0:
            return False
        return _only_opens(candidate) or self._names_the_thing(candidate)

    def _names_the_thing(self, candidate: Candidate) -> bool:
        """Whether it is the topic by a shorter name: "Brackwater" for "Brackwater Museum"."""
        key = frozenset(candidate.key)
        return key <= set(self._topic.key) and not any(
            key.intersection(name) for name in self._names if self._evidence(name) > 0
        )

    def _is_other_sex(self, mention: Mention, candidate: Candidate) -> bool:
        """Whether the texts say that *candidate* is a man where the mention is "she", or the reverse."""
        wanted = 1.0 if mention.kind == "he" else -1.0
        if candidate.key == self._topic.key:
            if gender(candidate.key):
                return False
            return _sex_by_pronouns(self._document, self._topic) * wanted < 0
        return self._sex(candidate.key) * wanted < 0

    def _evidence(self, key: tuple[str, ...]) -> float:
        """1 for a name that is evidently a person's, -1 for one that is evidently a thing's, else 0."""
        name = self._names.get(key)
        if name is None:
            return 0.0
        if key not in self._weighed:
            self._weighed[key] = self._weigh(name)
        return self._weighed[key]

    def _weigh(self, candidate: Candidate) -> float:
        definitions = list(self._definitions(candidate))
        noun = _main_noun(candidate.text)
        if (candidate.key == self._topic.key and self._topic.is_organized) or (
            noun in _NAME_ENDS and len(candidate.key) > 1
        ):
            return -1.0
        is_person = any(is_person_noun(head) for one, _, heads in definitions if one for head in heads)
        if is_person or gender(candidate.key) or self._is_born(candidate):
            return 1.0
        is_defined = any(
            certain or not one or not _THINGS.isdisjoint(heads) for one, certain, heads in definitions
        )
        is_introduced = any(singular(o.before) in _NAMED_THINGS for o in candidate.occurrences)
        return -float(
            is_defined or is_introduced or _is_named_like_a_thing(candidate.text, candidate.key, noun)
        )

    def _sex(self, key: tuple[str, ...]) -> float:
        """
        The sex of a last name, by the fuller names it ends ("Lee", after "Mary Lee"), and of a name that
        follows a relative ("his aunt Keiko"); 0 where that is not of one mind.
        """
        name = self._names.get(key)
        if name is None or gender(key):
            return 0.0
        told = [gender((o.before,)) for o in name.occurrences if o.before in RELATIVES]
        if len(key) == 1:
            told += [gender(other) for other in self._names if len(other) > 1 and other[-1] == key[0]]
        return told[0] if told and (min(told) >= _SURE_OF_SEX or max(told) <= -_SURE_OF_SEX) else 0.0

    def _definitions(self, candidate: Candidate) -> Iterator[tuple[bool, bool, tuple[str, ...]]]:
        """
        What is said that *candidate* is: whether it is said of one, by the background, and the nouns.

        "X was the success of the year" defines nothing; an answer's "X was a success" counts where the
        noun is known.
        """
        for occurrence in candidate.occurrences:
            if occurrence.place in ("background", "answer"):
                found = _DEFINED.match(self._context, occurrence.end)
                if found is not None and (heads := tuple(_heads(found[2]))):
                    yield found[1] in ("is", "was"), occurrence.place == "background", heads

    def _is_born(self, candidate: Candidate) -> bool:
        return any(_BORN.match(self._context, o.end) for o in candidate.occurrences)


def _sex_by_pronouns(document: Document, topic: Topic) -> float:
    """1 or -1 by the pronouns of the background and of questions that name the topic first, else 0."""
    said = list(words(document.background))
    for question in (*(turn.question for turn in document.turns), document.question):
        line = words(question)
        if topic.key and set(topic.key) <= set(line):
            last = max(index for index, word in enumerate(line) if word in topic.key)
            said += line[last + 1 :]
    he, she = not _HE.isdisjoint(said), not _SHE.isdisjoint(said)
    return float(he - she)


@lru_cache(maxsize=8192)
def _names_inside(text: str) -> bool:
    """Whether a word of *text* behind the first has a capital."""
    return any(token.is_capitalized for token in tokens(text)[1:])


@lru_cache(maxsize=8192)
def _is_person_phrase(text: str, key: tuple[str, ...]) -> bool:
    """ "their grandfather", "the owner of the shop"; not "the twins", not "her father's workshop"."""
    said = content_words(_noun_phrase(text))
    if not said or singular(said[-1]) != said[-1] or said[-1] in PLURAL_PEOPLE:
        return False
    owned = "'s " in text or "’s " in text
    return is_person_noun(said[-1]) or (not owned and bool(gender(key)))


def _only_opens(candidate: Candidate) -> bool:
    """A plain word that has its capital from opening a sentence only: "Passengers", "Three"."""
    if len(candidate.key) > 1 or any(occurrence.before for occurrence in candidate.occurrences):
        return False
    word = candidate.key[0]
    return word in _NO_NAMES | PLURAL_PEOPLE or (
        singular(word) != word and is_person_noun(word) and not gender((word,))
    )


def _heads(definition: str) -> Iterator[str]:
    """The last word of each noun in *definition*: "an accordionist and songwriter from" has two."""
    return filter(None, map(_main_noun, _AND.split(_noun_phrase(definition))))


@lru_cache(maxsize=8192)
def _main_noun(name: str) -> str:
    """The noun that says what is named: "museum" for "Museum of Clocks"."""
    said = content_words(_noun_phrase(name))
    return singular(said[-1]) if said else ""


def _noun_phrase(text: str) -> str:
    """*text* up to what describes its noun: "Museum " of "Museum of Clocks"."""
    return _ENDS_NOUN_PHRASE.split(text, maxsplit=1)[0]


@lru_cache(maxsize=8192)
def _is_named_like_a_thing(text: str, key: tuple[str, ...], noun: str) -> bool:
    """ "The Glass Ferry", "Kneewright hinge"; not "The Queen"."""
    if is_person_noun(noun):
        return False
    if text.lower().startswith("the "):
        return True
    last = [token for token in tokens(text) if token.is_word][-1:]
    return len(key) > 1 and text[0].isupper() and not any(t.is_capitalized for t in last)
