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
from collections.abc import Iterator, Sequence

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
    singular,
)
from replay.coreference.embedded.scene import Scene
from replay.coreference.resolver import Document
from replay.coreference.words import content_words, tokens, word_set, words

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
_BORN = re.compile(r"\s*(?:\(|,)?\s*(?:was\s+|is\s+)?(?:\([^()]{0,40}\)\s+was\s+)?born\b")
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
        self._topic = scene.topic
        self._persons: set[str] = set()
        """Words of those who are evidently persons; the last names of others with them."""
        self._things: set[tuple[str, ...]] = set()
        names = [c for c in scene.candidates if c.kind in ("title", "name", "section")]
        for name in names:
            self._weigh(name)
        self._sexes = _sexes(names)
        self._topic_sex = 0.0 if gender(self._topic.key) else _sex_by_pronouns(scene.document, self._topic)
        self._topic_is_thing = self._topic.key in self._things

    def could_mean(self, mention: Mention, candidate: Candidate) -> bool:
        """Whether nothing forbids *candidate* as the antecedent of *mention*."""
        if mention.kind in ("he", "she"):
            return not (self.is_no_person(candidate) or self._is_other_sex(mention, candidate))
        return True

    def is_no_person(self, candidate: Candidate) -> bool:
        """Whether *candidate* is evidently no single person."""
        if candidate.kind not in _PERSONS_KINDS:
            return True
        if candidate.key in self._things:
            return True
        said = tokens(candidate.text)
        named = any(token.is_capitalized for token in said[1:])
        if candidate.kind in ("phrase", "words") or (candidate.kind in ("answer", "section") and not named):
            return not _is_person_phrase(candidate)
        if not MONTHS.isdisjoint(candidate.key) and not gender(candidate.key):
            return True  # "Every Monday"
        return self._topic_is_thing and (self._names_the_thing(candidate) or _only_opens(candidate))

    def _names_the_thing(self, candidate: Candidate) -> bool:
        """Whether it is the topic by a shorter name: "Brackwater" for "Brackwater Museum"."""
        key = frozenset(candidate.key)
        return key <= set(self._topic.key) and not key & self._persons

    def _is_other_sex(self, mention: Mention, candidate: Candidate) -> bool:
        """Whether the texts say that *candidate* is a man where the mention is "she", or the reverse."""
        wanted = 1.0 if mention.kind == "he" else -1.0
        if candidate.key == self._topic.key:
            return self._topic_sex * wanted < 0
        return self._sexes.get(candidate.key, 0.0) * wanted < 0

    def _weigh(self, candidate: Candidate) -> None:
        definitions = list(self._definitions(candidate))
        noun = _main_noun(candidate.text)
        if (candidate.key == self._topic.key and self._topic.is_organized) or (
            noun in _NAME_ENDS and len(candidate.key) > 1
        ):
            self._things.add(candidate.key)
            return
        is_person = any(is_person_noun(head) for one, _, heads in definitions if one for head in heads)
        if is_person or gender(candidate.key) or self._is_born(candidate):
            self._persons.update(candidate.key)
            return
        is_defined = any(
            certain or not one or not _THINGS.isdisjoint(heads) for one, certain, heads in definitions
        )
        is_introduced = any(singular(o.before) in _NAMED_THINGS for o in candidate.occurrences)
        if is_defined or is_introduced or _is_named_like_a_thing(candidate, noun):
            self._things.add(candidate.key)

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


def _sexes(names: Sequence[Candidate]) -> dict[tuple[str, ...], float]:
    """
    The sex of last names, by the fuller names they end ("Lee", after "Mary Lee"), and of names that
    follow a relative ("his aunt Keiko"); left out where that is not of one mind.
    """
    fuller: dict[str, list[float]] = {}
    for name in names:
        if len(name.key) > 1:
            fuller.setdefault(name.key[-1], []).append(gender(name.key))
    sexes = {}
    for name in names:
        if not gender(name.key):
            told = [gender((o.before,)) for o in name.occurrences if o.before in RELATIVES]
            told += fuller.get(name.key[0], []) if len(name.key) == 1 else []
            if told and (min(told) >= _SURE_OF_SEX or max(told) <= -_SURE_OF_SEX):
                sexes[name.key] = told[0]
    return sexes


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


def _is_person_phrase(candidate: Candidate) -> bool:
    """ "their grandfather", "the owner of the shop"; not "the twins", not "her father's workshop"."""
    said = content_words(_noun_phrase(candidate.text))
    if not said or singular(said[-1]) != said[-1] or said[-1] in PLURAL_PEOPLE:
        return False
    owned = "'s " in candidate.text or "’s " in candidate.text
    return is_person_noun(said[-1]) or (not owned and bool(gender(candidate.key)))


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


def _main_noun(name: str) -> str:
    """The noun that says what is named: "museum" for "Museum of Clocks"."""
    said = content_words(_noun_phrase(name))
    return singular(said[-1]) if said else ""


def _noun_phrase(text: str) -> str:
    """*text* up to what describes its noun: "Museum " of "Museum of Clocks"."""
    return _ENDS_NOUN_PHRASE.split(text, maxsplit=1)[0]


def _is_named_like_a_thing(candidate: Candidate, noun: str) -> bool:
    """ "The Glass Ferry", "Kneewright hinge"; not "The Queen"."""
    if is_person_noun(noun):
        return False
    if candidate.text.lower().startswith("the "):
        return True
    last = [token for token in tokens(candidate.text) if token.is_word][-1:]
    return len(candidate.key) > 1 and candidate.text[0].isupper() and not any(t.is_capitalized for t in last)
