"""
Conversations and answers for benchmarks, no two alike: made up with a seed, or taken from a data set.

What is asked again and again with the same answers measures a cache. So everything made up here has names of
its own: a conversation is about one person and one work, its questions (7 words in the mean, as CANARD's)
lean on what was said with a pronoun in two of three, and an answer (20 words in the mean) brings names, a
place or a number that no other has.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

from replay.coreference.reading.resolver import Document, recorded_document
from replay.datasets.loading import read_conversations

SEED = 13
WINDOW = 6
"""The scenario's default: exchanges that drift detection looks at."""


def _listed(words: str) -> list[str]:
    return words.split()


_ONSETS = _listed("B Br C D Dr F G H K L M N P R S St T Tr V W")
_VOWELS = _listed("a e i o u ea ai")
_ENDS = _listed("ll n nd r rs s st t th lm rk")
_SECOND = _listed("more wood field son ley ham wick dale berg mont ford by")
_FIRST = {
    "he": _listed("Arthur Boris Carl Edwin Felix George Henry Ivan Jonas Karl Martin Oscar Paul Thomas"),
    "she": _listed("Ada Alice Clara Dora Ellen Greta Hanna Irene Julia Laura Maria Nora Olga Ruth Vera"),
}
_POSSESSIVE = {"he": "his", "she": "her"}
_OBJECT = {"he": "him", "she": "her"}
_CRAFTS = _listed("singer painter architect novelist engineer composer chemist actor sculptor explorer")
_WORKS = _listed("album novel bridge opera film play garden engine atlas mural")
_QUESTIONS = (
    "When did {they} begin to work on it?",
    "Who helped {them} with the {work}?",
    "What did people say about {their} {work} then?",
    "Did {they} ever win a prize for it?",
    "Why did {they} leave {place} after that?",
    "How long did it take to finish?",
    "Where was it shown for the first time?",
    "What happened to {name} in {year}?",
    "Did that {work} sell well in those years?",
    "Were they still friends when it came out?",
    "Are there any other interesting facts about this?",
    "What else did {they} do in {year}?",
    "Was {their} family living in {place}?",
    "Which {work} by {name} is known best?",
)
_ANSWERS = (
    "In {year} {name} moved to {place}, where the {craft} {other} lent {them} a room and some money",
    "{name} and {other} finished the {work} in {place}, though most of the work had been done by {year}",
    "It was first shown at the {place} fair of {year}, and {other} wrote that nobody there liked the {work}",
    "The {craft} {name} had met {other} in {place}, and they worked on one {work} after another until {year}",
    "{they} said in {year} that {other} had taught {them} all that a {craft} has to know about it",
    "After the war {other} bought the {work} for the museum of {place}, which had been opened in {year}",
    "{place}, as {name} told the paper in {year}",
    "The {work} was called {title} and sold more than {number} times, which made {name} known in {place}",
)
_LONGER = (
    ", and {other} never forgave {them} for that",
    ", which {their} cousin {other} denied",
    ", but the people of {place} had other plans for it",
    ", for {number} pounds a year",
)


class _Texts:
    """Made-up texts; each call goes on in the same random sequence."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._number = 0

    def _syllable(self) -> str:
        pick = self._random.choice
        return pick(_ONSETS) + pick(_VOWELS) + pick(_ENDS)

    def _name(self, pronoun: str) -> str:
        pick = self._random.choice
        return f"{pick(_FIRST[pronoun])} {self._syllable()}{pick(_SECOND)}"

    def _slots(self) -> dict[str, Any]:
        pick, self._number = self._random.choice, self._number + 1
        pronoun = pick(("he", "she"))
        return {
            "they": pronoun,
            "them": _OBJECT[pronoun],
            "their": _POSSESSIVE[pronoun],
            "name": self._name(pronoun),
            "other": self._name(pick(("he", "she"))),
            "place": f"{self._syllable()}{pick(_SECOND)}",
            "title": f"{self._syllable()} {pick(_WORKS)}".title(),
            "craft": pick(_CRAFTS),
            "work": pick(_WORKS),
            "year": self._random.randint(1840, 1999),
            "number": f"{1000 + self._number:,}",
        }

    def answer(self, words: int | None = None) -> str:
        """An answer; with exactly so many *words*, where that is said."""
        slots = self._slots()
        text = self._random.choice(_ANSWERS) + "".join(
            self._random.sample(_LONGER, self._random.choice((0, 0, 0, 1)))
        )
        said = text.format_map(slots)
        said = said[0].upper() + said[1:]
        while words and len(said.split()) < words:
            said += self._random.choice(_LONGER).format_map(self._slots())
        return " ".join(said.split()[:words]).rstrip(",") + "."

    def conversation(self, number: int, turns: int) -> dict[str, Any]:
        """Of the native format."""
        slots = self._slots()
        first = f"Who was {slots['name']} of {slots['place']}?"
        asked = [first, *self._random.sample(_QUESTIONS, min(turns - 1, len(_QUESTIONS)))]
        asked += self._random.choices(_QUESTIONS, k=turns - len(asked))
        return {
            "id": f"c{number}",
            "title": f"{slots['name']} ({slots['title']})",
            "turns": [
                {"question": question.format_map(slots), "gold_answer": self.answer()} for question in asked
            ],
        }


def made_up_conversations(count: int, turns: int, seed: int = SEED) -> Iterator[dict[str, Any]]:
    """*count* conversations of the native format, of *turns* turns each."""
    texts = _Texts(seed)
    return (texts.conversation(number, turns) for number in range(count))


def made_up_answers(count: int, words: int | None = None, seed: int = SEED + 1) -> list[str]:
    """*count* different answers; of exactly *words* words where that is said."""
    texts = _Texts(seed)
    answers = dict.fromkeys(texts.answer(words) for _ in range(count))
    while len(answers) < count and (words is None or words > 3):
        answers[texts.answer(words)] = None
    return list(answers)


def recorded_conversations(path: Path, turns: int) -> Iterator[dict[str, Any]]:
    """
    The conversations of a data file in any format that we read, as ones of the native format.

    Each ends after *turns* turns, or before a turn whose answer is unknown. One in which a question is asked
    after a history that an earlier one had too is left out, since only the first of them would be looked at.
    """
    seen: set[Document] = set()
    for number, one in enumerate(read_conversations([path], reader=None, on_bad=lambda _: None, limit=None)):
        known = list(takewhile(lambda turn: turn.gold_answer is not None, one.turns[:turns]))
        documents = {
            recorded_document(one, depth, window=WINDOW, background=True)
            for depth in range(1, len(known) + 1)
        }
        if len(documents) == len(known) > 0 and not documents & seen:
            seen |= documents
            yield {
                "id": f"c{number}",
                **{name: getattr(one, name) for name in ("title", "section", "background")},
                "turns": [{"question": turn.question, "gold_answer": turn.gold_answer} for turn in known],
            }


def recorded_answers(path: Path, turns: int, seed: int = SEED) -> list[str]:
    """The different answers of ``recorded_conversations``, shuffled: each comes to another conversation."""
    said = {turn["gold_answer"]: None for one in recorded_conversations(path, turns) for turn in one["turns"]}
    answers = list(said)
    random.Random(seed).shuffle(answers)
    return answers
