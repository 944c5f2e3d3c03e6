"""
QuAC and CoQA, in the formats of their own JSON files: questions about one passage.

QuAC (Choi et al., 2018):

One paragraph is one conversation about one passage. The recorded answer comes first among the gold
answers and the other annotators' answers follow, repeats included: QuAC's human F1 leaves one
reference out at a time and so depends on how many agree. An answer list that holds the recorded
answer, as in the published files, doesn't count it twice.

CoQA (Reddy et al., 2019), in the format of its own JSON files.

Gold answers are the free-form ones: the recorded one first, then the additional annotators' in the
order of their keys. CoQA says "unknown" where QuAC says CANNOTANSWER; gold answers have the latter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from replay.core.conversation import CANNOT_ANSWER, Conversation, Passage, Turn
from replay.core.errors import DatasetError
from replay.datasets.canard import rewrites
from replay.datasets.data_file import SourceLocation
from replay.datasets.json_rows import has_only, outline, rows_of_list
from replay.datasets.reader import conversations


class _Answer(msgspec.Struct):
    text: str


class _QuacQuestion(msgspec.Struct):
    id: str
    question: str
    answers: list[_Answer] = []
    orig_answer: _Answer | None = None


class _Paragraph(msgspec.Struct):
    id: str
    context: str
    qas: list[_QuacQuestion]


class _Article(msgspec.Struct):
    paragraphs: list[_Paragraph]
    title: str = ""
    section_title: str = ""
    background: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuacReader:
    """Reads QuAC's ``{"data": [...]}``. ``yesno`` and ``followup`` are left out."""

    standalone: Path | None = None
    """A CANARD file; its rewrites become the standalone questions of the dialogs they belong to."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first question has ``orig_answer``, which SQuAD's similar format lacks."""
        found = outline(head)
        return (
            has_only(found.get(""), required={"data"}, optional={"version"})
            and has_only(
                found.get(".data[]"),
                required={"paragraphs"},
                optional={"title", "section_title", "background"},
            )
            and {"question", "orig_answer"} <= found.get(".data[].paragraphs[].qas[]", frozenset())
        )

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """
        Yield one conversation a paragraph.

        Raises:
            DatasetError: the file or the CANARD file can't be read.
        """
        standalone = {} if self.standalone is None else rewrites(self.standalone)

        def build(row: tuple[_Article, _Paragraph], place: SourceLocation) -> Conversation:
            return _conversation(*row, standalone)

        yield from conversations(_paragraphs(path), build)


def _paragraphs(path: Path) -> Iterator[tuple[SourceLocation, tuple[_Article, _Paragraph] | DatasetError]]:
    for place, article in rows_of_list(path, _Article, key="data"):
        if isinstance(article, DatasetError):
            yield place, article
        else:
            for paragraph in article.paragraphs:
                yield place, (article, paragraph)


def _conversation(article: _Article, paragraph: _Paragraph, standalone: Mapping[str, str]) -> Conversation:
    return Conversation(
        id=paragraph.id,
        turns=tuple(_turn(question, paragraph.id, standalone) for question in paragraph.qas),
        title=article.title,
        section=article.section_title,
        background=article.background,
        passages=(
            # The mark at the end is a span for annotators to select, not part of the article.
            Passage(id=paragraph.id, text=paragraph.context.removesuffix(CANNOT_ANSWER).rstrip()),
        ),
    )


def _turn(row: _QuacQuestion, passage: str, standalone: Mapping[str, str]) -> Turn:
    answers = [answer.text for answer in row.answers]
    if row.orig_answer is not None:
        recorded = row.orig_answer.text
        if recorded in answers:
            answers.remove(recorded)
        answers = [recorded, *answers]
    answerable = bool(answers) and answers[0] != CANNOT_ANSWER
    return Turn(
        id=row.id,
        question=row.question,
        gold_answers=tuple(answers),
        standalone=standalone.get(row.id),
        gold_passages=(passage,) if answerable else (),
    )


class _CoqaQuestion(msgspec.Struct):
    input_text: str
    turn_id: int


class _CoqaAnswer(msgspec.Struct):
    input_text: str
    turn_id: int


class _Story(msgspec.Struct):
    id: str
    story: str
    questions: list[_CoqaQuestion]
    answers: list[_CoqaAnswer]
    additional_answers: dict[str, list[_CoqaAnswer]] = {}
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoqaReader:
    """Reads CoQA's ``{"data": [...]}``: one conversation a story. Spans (rationales) are left out."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first item of ``data`` has a story and questions."""
        found = outline(head)
        return has_only(found.get(""), required={"data"}, optional={"version"}) and (
            {"id", "story", "questions"} <= found.get(".data[]", frozenset())
        )

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """Yield one conversation a story. Raises a ``DatasetError`` if the file can't be read."""
        yield from conversations(rows_of_list(path, _Story, key="data"), _build)


def _build(row: _Story, place: SourceLocation) -> Conversation:
    recorded = {answer.turn_id: answer.input_text for answer in row.answers}
    others = [
        {answer.turn_id: answer.input_text for answer in answers}
        for _, answers in sorted(row.additional_answers.items(), key=lambda pair: (len(pair[0]), pair[0]))
    ]
    asked = [question.turn_id for question in row.questions]
    astray = [number for number in recorded if number not in asked]
    if astray:
        raise place.error(
            f"has an answer to turn {astray[0]}, which no question has as its turn_id", "answers"
        )
    turns = []
    for question in row.questions:
        # Additional annotators' answers are no history of their own: without a recorded answer, none.
        given = [answers.get(question.turn_id) for answers in (recorded, *others)]
        golds = tuple(_coqa_gold(text) for text in given if text and text.strip())
        if question.turn_id not in recorded:
            golds = ()
        turns.append(
            Turn(
                id=f"{row.id}#{question.turn_id}",
                question=question.input_text,
                gold_answers=golds,
                gold_passages=(row.id,) if golds and golds[0] != CANNOT_ANSWER else (),
            )
        )
    return Conversation(
        id=row.id,
        turns=tuple(turns),
        passages=(Passage(id=row.id, text=row.story),),
        metadata={"source": row.source} if row.source else {},
    )


def _coqa_gold(answer: str) -> str:
    return CANNOT_ANSWER if answer.strip().casefold() == "unknown" else answer
