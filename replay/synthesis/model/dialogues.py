"""
The two ways of making a conversation with a model.

In one a student, who doesn't see the document, asks a teacher, who may only quote it, as QuAC was made (Choi
et al., 2018). In the other the answers are the document's sentences in their order, and the model writes the
questions between them: dialog inpainting (Dai et al., 2022).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replay.core.asking.prompt import Prompt
from replay.core.conversation import CANNOT_ANSWER, Conversation, Turn
from replay.core.errors import AdapterError
from replay.synthesis.documents.document import SourceDocument, SourceSection, SourceSentence
from replay.synthesis.model.writer import (
    MOST_ANSWER_WORDS,
    MOST_QUESTION_WORDS,
    DocumentQuote,
    JsonWriter,
    NothingUsableError,
    find_quote,
    question_fault,
)
from replay.synthesis.pool import passage_of
from replay.synthesis.synthesis_settings import Shares

MOST_WORDS = 900
"""Of the passages that a model is shown at a time."""
_THIN_WORDS = 25
"""Sections below this are no passages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelArea:
    """Sections in a row of one document."""

    id: str
    title: str
    sections: tuple[SourceSection, ...]

    @property
    def sentences(self) -> list[tuple[SourceSection, SourceSentence]]:
        """Return whole sentences of paragraphs and items, in order."""
        return [
            (section, sentence)
            for section in self.sections
            for sentence in section.sentences
            if sentence.text.endswith((".", "!"))
        ]


def model_areas(documents: Iterable[SourceDocument], *, turns: int, rng: random.Random) -> list[ModelArea]:
    """
    Return areas with at least *turns* sentences, in an order that takes documents in turn, drawn by *rng*.

    Each can carry one conversation.
    """
    of_document = [_areas(document, turns) for document in documents]
    of_document = [areas for areas in of_document if areas]
    rng.shuffle(of_document)
    for areas in of_document:
        rng.shuffle(areas)
    deepest = max(map(len, of_document), default=0)
    return [areas[n] for n in range(deepest) for areas in of_document if n < len(areas)]


def _areas(document: SourceDocument, turns: int) -> list[ModelArea]:
    areas: list[ModelArea] = []
    taken: list[SourceSection] = []

    def close() -> None:
        area = ModelArea(id=f"{document.path}:{len(areas) + 1}", title=document.title, sections=tuple(taken))
        if len(area.sentences) >= turns:
            areas.append(area)
            taken.clear()

    for section in document.sections:
        if len(section.text.split()) < _THIN_WORDS:
            continue
        if taken and _word_count(taken) + len(section.text.split()) > MOST_WORDS:
            close()
            taken.clear()
        taken.append(section)
    if taken:
        close()
    return areas


def _word_count(sections: Sequence[SourceSection]) -> int:
    return sum(len(section.text.split()) for section in sections)


PROMPTS = Path(__file__).resolve().parent / "prompts"
_KEYS = ("question", "standalone")
_QUESTIONS_TRIED = 3
"""For one turn, before the conversation is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterPrompts:
    """Prompts by what they ask for."""

    student: Prompt
    teacher: Prompt
    inpainting: Prompt


def writer_prompts(folder: Path = PROMPTS) -> WriterPrompts:
    """
    Return the prompts ``student.txt``, ``teacher.txt`` and ``inpainting.txt`` of *folder*, ours by default.

    Raises:
        ValueError: one can't be read, or uses an unknown variable.
    """
    shared = ("title", "history", "rejected", "wish", "most_words")
    teacher = ("passages", "history", "question", "standalone", "rejected")
    return WriterPrompts(
        student=Prompt(folder / "student.txt", (*shared, "headings"), needs=("history",)),
        teacher=Prompt(folder / "teacher.txt", teacher, needs=("question", "standalone")),
        inpainting=Prompt(folder / "inpainting.txt", (*shared, "heading", "answer"), needs=("answer",)),
    )


@dataclass(slots=True)
class _MadeTurns:
    """What a conversation has so far."""

    turns: list[Turn] = field(default_factory=list)
    quotes: list[DocumentQuote | None] = field(default_factory=list)
    wishes: list[str] = field(default_factory=list)

    @property
    def earlier_questions(self) -> list[str]:
        return [text for turn in self.turns for text in (turn.question, turn.standalone or "")]

    @property
    def history(self) -> list[dict[str, str]]:
        return [{"question": turn.question, "answer": turn.gold_answer or ""} for turn in self.turns]

    def add(self, area: ModelArea, found: dict[str, Any], quote: DocumentQuote | None, wish: str) -> None:
        self.turns.append(
            Turn(
                id=f"{area.id}#{len(self.turns) + 1}",
                question=found["question"].strip(),
                standalone=found["standalone"].strip(),
                gold_answers=(quote.text if quote else CANNOT_ANSWER,),
                gold_passages=(quote.section.id,) if quote else (),
            )
        )
        self.quotes.append(quote)
        self.wishes.append(wish)


@dataclass(slots=True, kw_only=True)
class DialogueMaker:
    """Makes conversations of areas; what is left out on the way is counted in *rejected*."""

    writer: JsonWriter
    prompts: WriterPrompts
    turns: int
    shares: Shares
    seed: int
    rejected: Counter[str] = field(default_factory=Counter)

    async def ask_teacher(self, area: ModelArea) -> Conversation | None:
        """
        Return a conversation of a student with a teacher; None if it could not be made to its end.

        Raises:
            RunStoppedError: the endpoint refuses our key and has answered nothing yet.
            NotCachedError: nothing may be asked, and a reply isn't in the cache.
        """
        rng = random.Random(f"{self.seed}:{area.id}")
        made = _MadeTurns()
        while len(made.turns) < self.turns:
            wish, may_be_unanswered = _wish(made, area, self.shares, rng)
            try:
                if not await self._turn(area, made, wish, may_be_unanswered):
                    return None
            except AdapterError as error:
                self.rejected[f"no reply came: {error.outcome}"] += 1
                return None
        return _build(area, made, "student and teacher")

    async def _turn(self, area: ModelArea, made: _MadeTurns, wish: str, may_be_unanswered: bool) -> bool:
        """Add a turn; returns whether one came of it."""
        depth = len(made.turns) + 1
        wrong: list[dict[str, str]] = []
        for _ in range(_QUESTIONS_TRIED):
            student = {
                "title": area.title,
                "headings": _headings(area),
                "history": made.history,
                "wish": wish,
                "most_words": MOST_QUESTION_WORDS,
            }
            try:
                found = await self.writer.write(
                    "student", self.prompts.student, student, _KEYS, _question_check(made),
                    depth=depth, seed=self.seed, rejected=wrong,
                )  # fmt: skip
            except NothingUsableError as error:
                self.rejected[f"no question: {_kind(error)}"] += 1
                return False
            try:
                quote = await self._quote(area, made, found, depth)
            except NothingUsableError as error:
                self.rejected[f"no quote: {_kind(error)}"] += 1
                wrong.append({"text": found["question"], "reason": "nobody could answer it with a quote"})
                continue
            reason = None
            if quote is None and not may_be_unanswered:
                reason = "the document doesn't answer it"
            elif quote is not None:
                reason = question_fault(
                    found["question"], found["standalone"], made.earlier_questions, quote.text
                )
                used = [(old.section.id, old.start) for old in made.quotes if old]
                if (quote.section.id, quote.start) in used:
                    reason = "that was answered before"
            if reason is None:
                made.add(area, found, quote, wish)
                return True
            self.rejected[reason] += 1
            wrong.append({"text": found["question"], "reason": reason})
        return False

    async def _quote(
        self, area: ModelArea, made: _MadeTurns, found: dict[str, Any], depth: int
    ) -> DocumentQuote | None:
        """
        Return what the teacher quotes; None if that is CANNOTANSWER.

        Raises:
            NothingUsableError: the teacher won't quote.
        """
        variables = {
            "passages": [
                {"number": number, "title": " > ".join(section.headings) or area.title, "text": section.text}
                for number, section in enumerate(area.sections, 1)
            ],
            "history": made.history,
            "question": found["question"],
            "standalone": found["standalone"],
        }

        def fault(reply: dict[str, Any]) -> str | None:
            if reply["quote"].strip(" .") == CANNOT_ANSWER:
                return None
            if len(reply["quote"].split()) > MOST_ANSWER_WORDS:
                return f"the quote is longer than {MOST_ANSWER_WORDS} words"
            if find_quote(reply["quote"], area.sections, _number(reply)) is None:
                return "these words don't stand in the document like this"
            return None

        reply = await self.writer.write(
            "teacher", self.prompts.teacher, variables, ("quote",), fault, depth=depth, seed=self.seed
        )
        return find_quote(reply["quote"], area.sections, _number(reply))

    async def inpaint(self, area: ModelArea) -> Conversation | None:
        """
        Return a conversation whose answers are sentences of *area*; None if it could not be made to its end.

        Raises:
            RunStoppedError: the endpoint refuses our key and has answered nothing yet.
            NotCachedError: nothing may be asked, and a reply isn't in the cache.
        """
        rng = random.Random(f"{self.seed}:{area.id}")
        sentences = area.sentences
        chosen = sorted(rng.sample(range(len(sentences)), self.turns))
        made = _MadeTurns()
        for depth, (section, sentence) in enumerate((sentences[at] for at in chosen), 1):
            wish, _ = _wish(made, area, self.shares, rng)
            variables = {
                "title": area.title,
                "heading": " > ".join(section.headings),
                "history": made.history,
                "answer": sentence.text,
                "wish": wish,
                "most_words": MOST_QUESTION_WORDS,
            }
            answer = sentence.text
            try:
                found = await self.writer.write(
                    "inpainting", self.prompts.inpainting, variables, _KEYS, _question_check(made, answer),
                    depth=depth, seed=self.seed,
                )  # fmt: skip
            except NothingUsableError as error:
                self.rejected[f"no question: {_kind(error)}"] += 1
                return None
            except AdapterError as error:
                self.rejected[f"no reply came: {error.outcome}"] += 1
                return None
            made.add(
                area, found, DocumentQuote(section=section, start=sentence.start, end=sentence.end), wish
            )
        return _build(area, made, "inpainting")


_OPENING = "an opening question that needs no context, about what matters most in the document."
_LEAN = 'a question on the last answer that says "it", "they", "that ..." for what was named there.'
_ELLIPSIS = 'a fragment that leaves out what was said before, such as "And for children?" or "Why?".'
_SHIFT = "a question on another section than the last, which needs no context."
_UNANSWERABLE = "a question on this subject that such a document may well not answer."
_SAME = "a question on another point of the same section, which needs no context."
_YES_NO = " It is to be answered by yes or no."


def _wish(made: _MadeTurns, area: ModelArea, shares: Shares, rng: random.Random) -> tuple[str, bool]:
    """Return what the next question is to be, drawn by *shares*, and whether it may have no answer."""
    yes_no = _YES_NO if rng.random() < shares.yes_no else ""
    drawn = rng.random()
    if not made.turns:
        return _OPENING, False
    for share, wish in (
        (shares.anaphora, _LEAN + yes_no),
        (shares.ellipsis, _ELLIPSIS),
        (shares.unanswerable, _UNANSWERABLE + yes_no),
        (shares.shift if len(area.sections) > 1 else 0.0, _SHIFT + yes_no),
    ):
        if drawn < share:
            return wish, wish.startswith(_UNANSWERABLE)
        drawn -= share
    return _SAME + yes_no, False


def _question_check(made: _MadeTurns, answer: str | None = None) -> Callable[[dict[str, Any]], str | None]:
    return lambda reply: question_fault(
        reply["question"], reply["standalone"], made.earlier_questions, answer
    )


def _headings(area: ModelArea) -> list[str]:
    return list(dict.fromkeys(section.headings[-1] for section in area.sections if section.headings))


def _number(reply: dict[str, Any]) -> int | None:
    number = reply.get("passage")
    return number if isinstance(number, int) else None


def _kind(error: NothingUsableError) -> str:
    """Return the reason without what is quoted in it, so that equal ones are counted together."""
    text = str(error)
    return "the reply can't be read as JSON" if "object" in text and "has no text" not in text else text


def _build(area: ModelArea, made: _MadeTurns, by: str) -> Conversation:
    about: list[dict[str, Any]] = []
    for quote, wish in zip(made.quotes, made.wishes, strict=True):
        one: dict[str, Any] = {"by": by, "wish": wish}
        if quote:
            one["answer"] = {"passage": quote.section.id, "start": quote.start, "end": quote.end}
        about.append(one)
    return Conversation(
        id=area.id,
        title=area.title,
        turns=tuple(made.turns),
        passages=tuple(passage_of(section) for section in area.sections),
        metadata={"synthesized": about},
    )
