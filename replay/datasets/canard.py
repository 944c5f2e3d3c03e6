"""
CANARD (Elgohary et al., 2019): QuAC questions rewritten to need no context, one row a question.

Rows are put together again as dialogs. A row's ``History`` (title, section, q1, a1, q2, a2, ...) holds
the answers up to the question before, so turn k's gold answer is found in the history of a later
row, and a dialog's last one is in no row: that turn is asked but unscored. A question without a row of
its own that a later history shows is a turn too, without a standalone form.

CANARD writes QuAC's CANNOTANSWER as "I don't know."; gold answers have the mark back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from replay.core.conversation import CANNOT_ANSWER, Conversation, Passage, Turn
from replay.core.decoding import decoder_of
from replay.core.errors import DatasetError
from replay.datasets.answer_passages import AnswerPassages
from replay.datasets.json_outline import has_only, outline
from replay.datasets.json_rows import rows_of_list
from replay.datasets.place import SourceLocation
from replay.datasets.typed_json import decode
from replay.datasets.validation import conversations

DONT_KNOW = "I don't know."


class _Row(msgspec.Struct):
    History: list[str]
    QuAC_dialog_id: str
    Question: str
    Question_no: int
    Rewrite: str | None = None


class _Owner(msgspec.Struct):
    """What must be readable of a bad row to know which dialog it spoils."""

    QuAC_dialog_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dialog:
    id: str
    title: str
    section: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CanardReader:
    """Reads a CANARD split; turn ids are QuAC's, ``{dialog}_q#{n}`` with n from 0."""

    passages: Literal["none", "answers"] = "none"
    """``answers``: a dialog's known gold answers stand in for the passage, which CANARD doesn't have."""
    distractors: int = 0
    """So many answers of other dialogs are added to each dialog's passages."""

    def __post_init__(self) -> None:
        if self.distractors < 0:
            raise ValueError(f"distractors is {self.distractors}; expected 0 or more")
        if self.distractors and self.passages == "none":
            raise ValueError('distractors need passages to stand among: set passages to "answers"')

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first item has CANARD's fields and no others."""
        fields = {"History", "QuAC_dialog_id", "Question", "Question_no", "Rewrite"}
        return has_only(outline(head).get("[]"), required=fields, optional=set())

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """
        Yield one conversation a dialog, in the order of their first rows.

        Raises:
            DatasetError: the file can't be read.
        """
        dialogs = list(_dialogs(path))
        answers = AnswerPassages(
            {d.id: d.turns for _, d in dialogs if isinstance(d, _Dialog)}, distractors=self.distractors
        )

        def build(dialog: _Dialog, place: SourceLocation) -> Conversation:
            turns: tuple[Turn, ...] = dialog.turns
            passages: tuple[Passage, ...] = ()
            if self.passages == "answers":
                turns, passages = answers.of(dialog.id, place)
            return Conversation(
                id=dialog.id, turns=turns, title=dialog.title, section=dialog.section, passages=passages
            )

        yield from conversations(dialogs, build)


def rewrites(path: Path) -> Mapping[str, str]:
    """
    Return the rewritten questions in the CANARD file *path* by QuAC's question id.

    Raises:
        DatasetError: the file or a row of it can't be read.
    """
    found = {}
    for _, row in rows_of_list(path, _Row):
        if isinstance(row, DatasetError):
            raise row
        if row.Rewrite:
            found[_turn_id(row.QuAC_dialog_id, row.Question_no)] = row.Rewrite
    return found


def _turn_id(dialog: str, number: int) -> str:
    return f"{dialog}_q#{number - 1}"


def _dialogs(path: Path) -> Iterator[tuple[SourceLocation, _Dialog | DatasetError]]:
    """Yield the dialogs in the order of their first rows; one bad row spoils its dialog."""
    for dialog, rows in _rows_by_dialog(path).items():
        faults = [(where, row) for where, row in rows if isinstance(row, DatasetError)]
        if faults:
            yield faults[0]
            continue
        try:
            sound = [(where, row) for where, row in rows if not isinstance(row, DatasetError)]
            yield sound[0][0], _dialog(str(dialog), sound)
        except DatasetError as error:
            yield rows[0][0], error


def _rows_by_dialog(path: Path) -> Mapping[str | int, list[tuple[SourceLocation, _Row | DatasetError]]]:
    """Return the rows by dialog; a row that names no dialog stands alone, by its item number."""
    decoder, owner = decoder_of(_Row), decoder_of(_Owner)
    found: dict[str | int, list[tuple[SourceLocation, _Row | DatasetError]]] = {}
    for place, raw in rows_of_list(path, msgspec.Raw):
        assert isinstance(raw, msgspec.Raw)
        dialog: str | int | None = place.item
        row: _Row | DatasetError
        try:
            row = decode(decoder, raw, place)
            dialog = row.QuAC_dialog_id
        except DatasetError as error:
            row = error
            with suppress(DatasetError):
                dialog = decode(owner, raw, place).QuAC_dialog_id
        assert dialog is not None
        found.setdefault(dialog, []).append((place, row))
    return found


def _dialog(name: str, rows: Sequence[tuple[SourceLocation, _Row]]) -> _Dialog:
    by_number: dict[int, _Row] = {}
    _, last = max(rows, key=lambda pair: pair[1].Question_no)
    for place, row in rows:
        if row.Question_no in by_number:
            raise place.error(f'"{name}" has a question {row.Question_no} already', "Question_no")
        by_number[row.Question_no] = row
        _check_history(row, last, place)
    said = [*last.History[2:], last.Question]
    questions, answers = said[0::2], said[1::2]
    return _Dialog(
        id=name,
        title=last.History[0],
        section=last.History[1],
        turns=tuple(
            Turn(
                id=_turn_id(name, number),
                question=question,
                gold_answers=tuple(_gold(answer) for answer in answers[number - 1 : number]),
                standalone=(by_number[number].Rewrite or None) if number in by_number else None,
            )
            for number, question in enumerate(questions, 1)
        ),
    )


def _check_history(row: _Row, last: _Row, place: SourceLocation) -> None:
    """
    Raises:
        DatasetError: *row* doesn't tell the same dialog as its *last* row.
    """
    expected = 2 * row.Question_no
    if row.Question_no < 1 or len(row.History) != expected:
        raise place.error(
            f"has {len(row.History)} texts, expected {expected} before question {row.Question_no}: title, "
            "section, and each earlier question with its answer",
            "History",
        )
    said = [*last.History, last.Question]
    for index, (text, later) in enumerate(zip([*row.History, row.Question], said, strict=False)):
        if text.strip() != later.strip():
            field = f"History[{index}]" if index < expected else "Question"
            raise place.error(
                f'is "{_short(text)}", but question {last.Question_no} of "{row.QuAC_dialog_id}" has '
                f'"{_short(later)}" there; the rows of a dialog must agree',
                field,
            )


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _gold(answer: str) -> str:
    return CANNOT_ANSWER if answer.strip() == DONT_KNOW else answer
