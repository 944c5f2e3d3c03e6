"""
Training data made from other data: recorded histories with wrong or merely different answers, and questions
made to lean on their history.

Of a history the human rewrite tells: a question has changed its meaning when the rewrite adds a content word
that stood in a recorded answer and stands nowhere in the history that is shown instead.

Questions lean by undoing standalone ones, so what they lean on is known exactly. A standalone question names
something that the history says as well. The name gives way to a pronoun or to "that one", or is left out with
its preposition ("in Ghent", "for children").
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from replay.core.conversation import CANNOT_ANSWER
from replay.core.history import Exchange
from replay.coreference.reading.resolver import Document
from replay.coreference.reading.words import content_words, words
from replay.coreference.training.annotated import Example
from replay.coreference.training.examples import lower_content_words

Way = Literal["same", "cannot", "foreign", "harmless", "name", "both"]
"""Another answer of the dialog; none; one of another dialog; the same answer shortened, lengthened or in
another order; another name in it; the last two answers at once."""
WRONG: tuple[Way, ...] = ("same", "cannot", "foreign")
BACK = 2
"""So many of the last answers are replaced."""
_NAME = re.compile(r"(?<![.?!] )(?<!^)\b[A-Z][\w'’-]+(?:\s[A-Z][\w'’-]+)*")
_OPENINGS = ("Sure. ", "As far as I know: ", "I think that ", "According to my information, ")


@dataclass(frozen=True, slots=True, kw_only=True)
class CorruptedExample:
    """An example under another history."""

    example: Example
    document: Document
    way: Way
    turns_back: int
    lost: frozenset[str]
    """The words of the human rewrite that went with the recorded answer; the question is invalid with any."""


def corrupt(
    examples: Sequence[Example], *, seed: int = 0, harmless: bool = False
) -> Iterator[CorruptedExample]:
    """
    Yield every example with each of its last ``BACK`` answers replaced in the ways of ``WRONG``.

    With *harmless* in the other ways too. Answers come from dialogs of the same source.
    """
    rng = random.Random(seed)
    by_dialog: dict[tuple[str, str], list[str]] = defaultdict(list)
    for example in examples:
        known = by_dialog[example.source, example.dialog]
        for turn in example.document.turns:
            if turn.answer and turn.answer not in known:
                known.append(turn.answer)
    pools: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for (source, dialog), answers in by_dialog.items():
        pools[source] += [(dialog, answer) for answer in answers]
    names = {source: [n for _, a in pool for n in _NAME.findall(a)] for source, pool in pools.items()}
    for example in examples:
        if example.document.turns and pools[example.source]:
            drawing = _Drawing(
                rng,
                example,
                pools[example.source],
                names[example.source],
                by_dialog[example.source, example.dialog],
            )
            yield from drawing.all(harmless)


@dataclass(frozen=True, slots=True)
class _Drawing:
    rng: random.Random
    example: Example
    pool: Sequence[tuple[str, str]]
    names: Sequence[str]
    said: Sequence[str]
    """The answers of the example's own dialog."""

    def all(self, harmless: bool) -> Iterator[CorruptedExample]:
        turns = self.example.document.turns
        for at in range(max(0, len(turns) - BACK), len(turns)):
            gold = turns[at].answer
            if not gold.strip() or gold == CANNOT_ANSWER:
                continue
            for way, wrong in self._instead(gold, harmless):
                if way == "harmless" or set(content_words(wrong)) != set(content_words(gold)):
                    yield self._with(way, {at: wrong})
        if harmless and len(turns) > 1:
            yield self._with(
                "both", {at: self._any(turns[at].answer) for at in range(len(turns) - 2, len(turns))}
            )

    def _instead(self, gold: str, harmless: bool) -> Iterator[tuple[Way, str]]:
        others = [answer for answer in self.said if answer != gold]
        shown = {turn.answer for turn in self.example.document.turns}
        same = [answer for answer in others if answer not in shown] or others
        if same:
            yield "same", self.rng.choice(same)
        yield "cannot", CANNOT_ANSWER
        yield "foreign", self._foreign()
        if harmless:
            yield "harmless", self._reword(gold)
            named = _NAME.findall(gold)
            if named and self.names:
                yield "name", gold.replace(self.rng.choice(named), self.rng.choice(self.names))

    def _foreign(self) -> str:
        for _ in range(20):
            dialog, answer = self.rng.choice(self.pool)
            if dialog != self.example.dialog:
                return answer
        return CANNOT_ANSWER

    def _any(self, gold: str) -> str:
        ways = [self._foreign(), CANNOT_ANSWER, self._reword(gold) if gold else CANNOT_ANSWER]
        return self.rng.choice(ways)

    def _reword(self, gold: str) -> str:
        """Return *gold* with much the same content: with another answer added, reordered, or cut."""
        way = self.rng.randrange(3)
        sentences = re.split(r"(?<=[.;])\s+", gold)
        if way == 0:
            pair = [gold, self._foreign()]
            self.rng.shuffle(pair)
            return " ".join(pair)
        if way == 1 and len(sentences) > 1:
            self.rng.shuffle(sentences)
            return " ".join(sentences)
        said = gold.split()
        if way == 2 and len(said) > 6:
            return " ".join(said[: max(4, len(said) * 2 // 3)])
        return self.rng.choice(_OPENINGS) + gold

    def _with(self, way: Way, answers: dict[int, str]) -> CorruptedExample:
        document = self.example.document
        turns = tuple(
            Exchange(question=turn.question, answer=answers.get(at, turn.answer))
            for at, turn in enumerate(document.turns)
        )
        shown = replace(document, turns=turns)
        added = set(content_words(self.example.rewrite)) - set(words(document.question))
        gold = {word for at in answers for word in content_words(document.turns[at].answer)}
        return CorruptedExample(
            example=self.example,
            document=shown,
            way=way,
            turns_back=len(turns) - min(answers),
            lost=frozenset(added & gold - set(words(shown.context()))),
        )


_STANDS_FOR = ("it", "it", "that", "this one", "that one", "them")
_OWNS = ("its", "its", "their")
_LEAD = re.compile(r"(?P<preposition>\b(?:in|of|to|with|for|at|about|on|from|by|during)\s)?(?:\bthe\s)?$")
_POSSESSIVE = re.compile("['’]s\\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """A phrase of a standalone question that its history says as well."""

    name: str
    preposition: str
    """With its space; empty without one."""
    is_possessive: bool
    start: int
    """Where the phrase begins with its preposition and article."""
    end: int
    """Where it ends with its possessive."""


def undo_rewrite(document: Document, standalone: str, rng: random.Random) -> tuple[Document, str, str] | None:
    """
    Return *document* with a question made of *standalone*, its standalone form, and what it leans on.

    None where *standalone* names nothing that the history says.
    """
    said = [text for turn in document.turns[-3:] for text in (turn.answer, turn.question)]
    found = list(_shared_phrases(standalone, said))
    if not found:
        return None
    named = rng.choice(found)
    before, after = standalone[: named.start], standalone[named.end :]
    if named.preposition and before and rng.random() < 0.5:
        question = before.rstrip() + after  # the adjunct is left out
    else:
        word = rng.choice(_OWNS if named.is_possessive else _STANDS_FOR)
        if not named.is_possessive and rng.random() < 0.25 and named.name[:1].isupper() and " " in named.name:
            word = rng.choice(("him", "her") if named.preposition else ("he", "she"))
        question = f"{before}{named.preposition}{word}{after}"
    question = question.strip()
    if len(question.split()) < 2 or question == standalone:
        return None
    return replace(document, question=question), standalone, named.name


def _shared_phrases(standalone: str, said: Sequence[str]) -> Iterator[_Named]:
    """Yield the longest phrases of *standalone* that a text in *said* holds."""
    done = 0
    words = list(re.finditer(r"[^\W_][\w'’-]*", standalone))
    for i, first in enumerate(words):
        if first.start() < done or i == 0:
            continue
        for last in reversed(words[i : i + 5]):
            name = re.sub(r"['’]s$", "", standalone[first.start() : last.end()])
            inside = name.lower().split()
            edges = lower_content_words(inside[0]) and lower_content_words(inside[-1])
            if not edges or len(name) < 4 or not any(name in text for text in said):
                continue
            stop = first.start() + len(name)
            possessive = _POSSESSIVE.match(standalone, stop)
            lead = _LEAD.search(standalone[: first.start()])
            assert lead is not None  # it matches the empty text
            yield _Named(
                name=name,
                preposition=lead["preposition"] or "",
                is_possessive=possessive is not None,
                start=lead.start(),
                end=possessive.end() if possessive else stop,
            )
            done = stop
            break
