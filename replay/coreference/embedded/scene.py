"""A document as a whole: its question's mentions, what they may mean, and whom its questions spoke of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replay.core.drift_evidence import Mention
from replay.coreference.embedded.asked import Asked, asked
from replay.coreference.embedded.candidates import Candidate, Topic, gather
from replay.coreference.embedded.lexicon import gender
from replay.coreference.embedded.pieces import Piece
from replay.coreference.resolver import Document
from replay.coreference.words import tokens, words

_NO_PERSONS_WORDS = frozenset({"and", "in", "on", "for", "with"})
"""Words that a long title of a work or an event may hold, and a person's name doesn't."""
_SPOKEN_OF = ("he", "she", "they", "it")


@dataclass(frozen=True, slots=True)
class Scene:
    """A document as the resolver sees it."""

    document: Document
    asked: Asked
    """The question."""
    topic: Topic
    topic_words: frozenset[str]
    candidates: Sequence[Candidate]
    pieces: tuple[Piece, ...]
    topic_is_person: bool
    topic_gender: float
    """1 a man, -1 a woman, 0 unknown; from the name, else from the pronouns used so far."""
    said_before: dict[str, int]
    """How many questions, this one too, use each kind of pronoun."""
    last_turn: int
    """0-based index of the newest turn; -1 without any."""
    named_in_question: frozenset[int]
    """Mentions of one person (by start) that the question itself names before."""

    @property
    def mentions(self) -> tuple[Mention, ...]:
        return self.asked.mentions

    @property
    def question_words(self) -> frozenset[str]:
        return self.asked.content


def look_at(document: Document) -> Scene:
    """The scene of *document*."""
    seen = gather(document)
    topic = seen.topic
    question = asked(document.question)
    said = dict.fromkeys(_SPOKEN_OF, 0)
    for spoken_of in [*(asked(turn.question) for turn in document.turns), question]:
        for kind in _SPOKEN_OF:
            said[kind] += kind in spoken_of.kinds
    is_person = _is_person(topic, said)
    return Scene(
        document=document,
        asked=question,
        topic=topic,
        topic_words=frozenset(topic.key),
        candidates=seen.candidates,
        pieces=seen.pieces,
        topic_is_person=is_person,
        topic_gender=gender(topic.key) or float((said["he"] > said["she"]) - (said["he"] < said["she"])),
        said_before=said,
        last_turn=len(document.turns) - 1,
        named_in_question=_named_before(document.question, question, topic.key if is_person else ()),
    )


def _is_person(topic: Topic, said: dict[str, int]) -> bool:
    if not topic.key or topic.text.lower().startswith("the ") or topic.is_organized:
        return False
    if len(topic.key) > 3 and _NO_PERSONS_WORDS.intersection(words(topic.text)):
        return False
    people, things = said["he"] + said["she"], said["they"] + said["it"]
    named_like_one = _looks_like_a_person(topic)
    if people and (gender(topic.key) or (named_like_one and 2 * people > things)):
        return True
    return people > things if people != things else bool(gender(topic.key)) or named_like_one


def _looks_like_a_person(topic: Topic) -> bool:
    """Two or three capitalised words; the short ones of "Guillermo del Toro" apart."""
    line = [token for token in tokens(topic.text) if token.is_word]
    return len(topic.key) in (2, 3) and all(
        token.is_capitalized or token.normal in ("de", "del", "van", "von", "of", "al") for token in line
    )


def _named_before(question: str, asked: Asked, topic_key: Sequence[str]) -> frozenset[int]:
    """Where "he" or "she" follows a name of that sex, or the topic's, in the same question."""
    if not {"he", "she"} & asked.kinds:
        return frozenset()
    earliest = {"he": len(question), "she": len(question)}
    for token in asked.line[1:]:
        if token.is_capitalized:
            sex = gender((token.normal,))
            named_topic = sex == 0 and token.normal in topic_key
            for kind, fits in (("he", sex > 0), ("she", sex < 0)):
                if fits or named_topic:
                    earliest[kind] = min(earliest[kind], token.start)
    return frozenset(m.start for m in asked.mentions if m.start > earliest.get(m.kind, len(question)))
