"""
CANARD (Elgohary et al., 2019): QuAC questions rewritten to need no context, one row a question.

Rows are put together again as dialogs. A row's ``History`` (title, section, q1, a1, q2, a2, ...) holds
the answers up to the question before, so turn k's gold answer is found in the history of a later
row, and a dialog's last one is in no row: that turn is asked but unscored. A question without a row of
its own that a later history shows is a turn too, without a standalone form.

CANARD writes QuAC's CANNOTANSWER as "I don't know."; gold answers have the mark back.

Passages made of gold answers, for data sets that have none.

A dialog's own answers are mixed with answers of other dialogs, so that a system has something to
find and something to get wrong. Which ones, and their order, depends only on the dialogs in the file
and the dialog's id: ``random()`` of a generator seeded with a SHA-256 gives the same numbers in every
Python version, ``sample()`` and ``shuffle()`` need not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal

import msgspec
from msgspec.structs import replace

from replay.core.conversation import CANNOT_ANSWER, Conversation, Passage, Turn
from replay.core.decoding import decoder_of
from replay.core.errors import DatasetError
from replay.datasets.data_file import SourceLocation, decode
from replay.datasets.json_rows import has_only, outline, rows_of_list
from replay.datasets.reader import conversations


class AnswerPassages:
    """The answers of all dialogs, by dialog id, to make passages of."""

    def __init__(self, dialogs: Mapping[str, Sequence[Turn]], *, distractors: int) -> None:
        self._dialogs = dialogs
        self._distractors = distractors
        self._pool = [
            Passage(id=turn.id, text=turn.gold_answers[0])
            for turns in dialogs.values()
            for turn in turns
            if _has_answer(turn)
        ]

    def of(self, dialog: str, place: SourceLocation) -> tuple[tuple[Turn, ...], tuple[Passage, ...]]:
        """
        Return the turns of *dialog*, naming their gold passages, and the passages.

        An answer that is given twice is one passage, named after the first turn.

        Raises:
            DatasetError: the other dialogs have too few different answers.
        """
        own: dict[str, Passage] = {}
        turns = []
        for turn in self._dialogs[dialog]:
            if _has_answer(turn):
                passage = Passage(id=turn.id, text=turn.gold_answers[0])
                turn = replace(turn, gold_passages=(own.setdefault(_same(passage.text), passage).id,))
            turns.append(turn)
        # Seeded per dialog, so that a dialog's passages don't depend on which were asked for before.
        rng = Random(int.from_bytes(hashlib.sha256(dialog.encode()).digest()[:8], "big"))
        passages = [*own.values(), *self._others(own, rng, place)]
        return tuple(turns), tuple(sorted(passages, key=lambda _: rng.random()))

    def _others(self, own: Mapping[str, Passage], rng: Random, place: SourceLocation) -> list[Passage]:
        chosen: dict[str, Passage] = {}
        tried: set[int] = set()
        while len(chosen) < self._distractors:
            if len(tried) == len(self._pool):
                raise place.error(
                    f"found {len(chosen)} different answers in the other dialogs of the file, "
                    f"expected {self._distractors}; lower the setting",
                    "distractors",
                )
            index = int(rng.random() * len(self._pool))
            tried.add(index)
            passage = self._pool[index]
            if _same(passage.text) not in own:
                chosen.setdefault(_same(passage.text), passage)
        return list(chosen.values())


def _has_answer(turn: Turn) -> bool:
    return turn.gold_answer is not None and turn.gold_answer != CANNOT_ANSWER


def _same(text: str) -> str:
    """Return *text* in lower case with single spaces, the same for texts that read the same."""
    return " ".join(text.casefold().split())


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
