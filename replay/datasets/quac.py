"""
QuAC (Choi et al., 2018), in the format of its own JSON files.

One paragraph is one conversation about one passage. The recorded answer comes first among the gold
answers and the other annotators' answers follow, repeats included: QuAC's human F1 leaves one
reference out at a time and so depends on how many agree. An answer list that holds the recorded
answer, as in the published files, doesn't count it twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from replay.core.conversation import CANNOT_ANSWER, Conversation, Passage, Turn
from replay.core.errors import DatasetError
from replay.datasets.canard import rewrites
from replay.datasets.json_outline import has_only, outline
from replay.datasets.json_rows import rows_of_list
from replay.datasets.place import SourceLocation
from replay.datasets.validation import conversations


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
