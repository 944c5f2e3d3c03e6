"""A document as a whole: its question's mentions, what they may mean, and whom its questions spoke of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replay.core.drift_evidence import Mention
from replay.coreference.embedded.candidates import Candidate, Topic, gather
from replay.coreference.embedded.lexicon import gender
from replay.coreference.mentions import find_mentions
from replay.coreference.resolver import Document
from replay.coreference.words import content_words, tokens, words

_NO_PERSONS_WORDS = frozenset({"and", "in", "on", "for", "with"})
"""Words that a long title of a work or an event may hold, and a person's name doesn't."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A document as the resolvers see it."""

    document: Document
    mentions: tuple[Mention, ...]
    """Those of the question, in order of position."""
    topic: Topic
    candidates: Sequence[Candidate]
    topic_is_person: bool
    topic_gender: float
    """1 a man, -1 a woman, 0 unknown; from the name, else from the pronouns used so far."""
    said_before: dict[str, int]
    """How many questions, this one too, use each kind of pronoun."""
    last_turn: int
    """0-based index of the newest turn; -1 without any."""
    question_words: frozenset[str]
    named_in_question: frozenset[int]
    """Mentions of one person (by start) that the question itself names before."""


def look_at(document: Document) -> Scene | None:
    """The scene of *document*; None where its question has no mention."""
    mentions = find_mentions(document.question)
    if not mentions:
        return None
    topic, candidates = gather(document)
    said = {"he": 0, "she": 0, "they": 0, "it": 0}
    for spoken_of in [*(find_mentions(turn.question) for turn in document.turns), mentions]:
        kinds = [mention.kind for mention in spoken_of]
        for kind in said:
            said[kind] += kind in kinds
    is_person = _is_person(topic, said)
    return Scene(
        document=document,
        mentions=mentions,
        topic=topic,
        candidates=candidates,
        topic_is_person=is_person,
        topic_gender=gender(topic.key) or float((said["he"] > said["she"]) - (said["he"] < said["she"])),
        said_before=said,
        last_turn=len(document.turns) - 1,
        question_words=frozenset(content_words(document.question)),
        named_in_question=_named_before(document.question, mentions, topic.key if is_person else ()),
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


def _named_before(question: str, mentions: Sequence[Mention], topic_key: Sequence[str]) -> frozenset[int]:
    """Where "he" or "she" follows a name of that sex, or the topic's, in the same question."""
    earliest = {"he": len(question), "she": len(question)}
    for token in tokens(question)[1:]:
        if token.is_capitalized:
            sex = gender((token.normal,))
            named_topic = sex == 0 and token.normal in topic_key
            for kind, fits in (("he", sex > 0), ("she", sex < 0)):
                if fits or named_topic:
                    earliest[kind] = min(earliest[kind], token.start)
    return frozenset(m.start for m in mentions if m.start > earliest.get(m.kind, len(question)))
