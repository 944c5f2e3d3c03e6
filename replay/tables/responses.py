"""
Responses that are recorded in a file, as cases for judges: FED, Topical-Chat in both its forms, any table.

An item's id is the one that ``replay agree`` gives it, so that the judges' numbers and people's ratings of
the same file are joined by it. The speakers of Topical-Chat have no names: the response is the System's,
and before it User and System take turns, backwards from the last utterance, which is the User's.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from replay.core.asking.costs import AskTally, CostEstimate
from replay.core.conversation import Conversation, Passage, Turn
from replay.core.errors import DatasetError, InputError
from replay.core.record import TurnRecord
from replay.datasets.tables import DataTable, TableRow, read_table
from replay.scorers.judges.judge import RECORDED, Case, Level
from replay.scorers.judges.judging import estimate, judge_all, ready_cases
from replay.scorers.judges.panel import Panel, Verdict
from replay.scorers.scorer import Unscored
from replay.scorers.stored_scorer import StoredScorer
from replay.statistics.score_column import ScoreColumn
from replay.tables.rating_files import is_fed, recognizes_unieval, recognizes_usr

ResponseFormat = Literal["fed", "usr", "unieval", "table"]

NO_FACT = "_nofact"
"""What Topical-Chat's files say where the speakers were given no fact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedResponse:
    """One response in its context, or one whole dialogue."""

    id: str
    system: str
    level: Level
    case: Case


def read_responses(path: Path, format: ResponseFormat | None = None) -> list[RecordedResponse]:
    """
    Return the responses in *path*, in the file's order; *format* is found out from the columns when left out.

    Raises:
        DatasetError: the file can't be read in that format, or an item lacks its response or context.
    """
    table = read_table(path)
    recognized = (name for name, (recognizes, _) in _FORMATS.items() if recognizes(table))
    found = list(_FORMATS[format if format is not None else next(recognized)][1](table))
    if not found:
        raise DatasetError("holds no response", path=str(path))
    twice = next((id for id, count in Counter(one.id for one in found).items() if count > 1), None)
    if twice is not None:
        raise DatasetError(f"has two responses with the id {twice}", path=str(path))
    return found


Line = tuple[str, str]
"""Who speaks, ``User`` or ``System``, and what."""


def dialogue_case(
    id: str, lines: Sequence[Line], response: str | None, *, system: str = "", **turn: Any
) -> Case:
    """
    Return the case of *response* after *lines*, or, without one, of the dialogue that *lines* are.

    A speaker's neighbouring lines are one utterance; where nobody asks or replies, the text is empty. *turn*
    are more fields of the judged turn: its fact, its gold answers.
    """
    exchanges: list[list[str | None]] = []
    for who, text in lines:
        last = exchanges[-1] if exchanges else None
        if who == "System":
            if last is None:
                exchanges.append(["", text])
            else:
                last[1] = text if last[1] is None else f"{last[1]}\n{text}"
        elif last is not None and last[1] is None:
            last[0] = f"{last[0]}\n{text}"
        else:
            exchanges.append([text, None])
    if response is not None and (not exchanges or exchanges[-1][1] is not None):
        exchanges.append(["", None])
    if exchanges[-1][1] is None:
        exchanges[-1][1] = response or ""
    texts = [(question or "", answer or "") for question, answer in exchanges]
    places = [f"{id}#{depth}" for depth in range(1, len(texts) + 1)]
    turns = [Turn(id=place, question=question) for place, (question, _) in zip(places, texts, strict=True)]
    turns[-1] = Turn(id=places[-1], question=texts[-1][0], **turn)
    return Case(
        conversation=Conversation(id=id, turns=tuple(turns)),
        records=tuple(
            TurnRecord(
                system=system,
                policy=RECORDED,
                conversation=id,
                depth=depth,
                turn=one.id,
                recorded=question,
                asked=question,
                edit="kept",
                drift=None,
                outcome="answered",
                answer=answer,
                gold_answers=one.gold_answers,
            )
            for depth, (one, (question, answer)) in enumerate(zip(turns, texts, strict=True), 1)
        ),
    )


def _fed(table: DataTable) -> Iterator[RecordedResponse]:
    for number, row in enumerate(table.rows, 1):
        lines = _split_speakers(_text(row, "context"))
        whole = "response" not in row.cells
        response = None if whole else _text(row, "response").removeprefix("System:").strip()
        if whole and not lines:
            raise row.place.error("is empty; expected lines that begin with User: or System:", "context")
        system = str(row.cells.get("system") or "")
        yield RecordedResponse(
            id=str(number),
            system=system,
            level="dialogue" if whole else "turn",
            case=dialogue_case(str(number), lines, response, system=system),
        )


def _usr(table: DataTable) -> Iterator[RecordedResponse]:
    for number, row in enumerate(table.rows, 1):
        lines, fact = _taking_turns(_text(row, "context")), _fact(row.cells.get("fact"))
        responses = row.cells.get("responses")
        if not isinstance(responses, list):
            raise row.place.error("is missing; expected a list of responses", "responses")
        for position, one in enumerate(responses, 1):
            text = one.get("response") if isinstance(one, Mapping) else None
            if not isinstance(text, str):
                raise row.place.error("is missing; expected a text", f"responses[{position - 1}].response")
            yield _response(f"{number}-{position}", lines, text, fact, str(one.get("model") or ""))


def _unieval(table: DataTable) -> Iterator[RecordedResponse]:
    for number, row in enumerate(table.rows, 1):
        lines = _taking_turns(_text(row, "source"))
        system, fact = str(row.cells.get("system_id") or ""), _fact(row.cells.get("context"))
        yield _response(str(number), lines, _text(row, "system_output"), fact, system)


def _table(table: DataTable) -> Iterator[RecordedResponse]:
    columns = set(table.columns)
    if "response" not in columns or not columns & {"context", "question"}:
        raise DatasetError(
            f"has no recorded responses (found: {', '.join(table.columns)}); expected a column "
            "response, with context (lines that begin with User: or System:) or question, and, where there "
            "are any, id, system, fact, gold and passages",
            path=str(table.path),
        )
    for number, row in enumerate(table.rows, 1):
        lines = _split_speakers(_text(row, "context")) if row.cells.get("context") else []
        lines += [("User", _text(row, "question"))] if row.cells.get("question") else []
        id, system = str(row.cells.get("id") or number), str(row.cells.get("system") or "")
        if lines and not row.cells.get("response") and not row.cells.get("question"):
            case = dialogue_case(id, lines, None, system=system)
            yield RecordedResponse(id=id, system=system, level="dialogue", case=case)
            continue
        gold = row.cells.get("gold")
        yield _response(
            id,
            lines,
            _text(row, "response"),
            _fact(row.cells.get("fact")),
            system,
            gold_answers=(str(gold),) if gold else (),
            passages=_passages(row),
        )


def _passages(row: TableRow) -> tuple[Passage, ...]:
    """Return the retrieved passages: the texts of a list, or one text that empty lines divide."""
    value = row.cells.get("passages") or []
    texts = re.split(r"\n\s*\n", value) if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise row.place.error("is no text and no list of texts", "passages")
    return tuple(Passage(id=str(n), text=text.strip()) for n, text in enumerate(texts, 1) if text.strip())


def _response(
    id: str,
    lines: Sequence[Line],
    text: str,
    fact: str | None,
    system: str,
    gold_answers: tuple[str, ...] = (),
    passages: tuple[Passage, ...] = (),
) -> RecordedResponse:
    case = dialogue_case(id, lines, text.strip(), system=system, fact=fact, gold_answers=gold_answers)
    if passages:
        judged = replace(case.record, passages=passages)
        case = Case(conversation=case.conversation, records=(*case.records[:-1], judged))
    return RecordedResponse(id=id, system=system, level="turn", case=case)


def _split_speakers(text: str) -> list[Line]:
    """Return *text* by its speakers; a line without one goes on with the utterance before it."""
    lines: list[Line] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        who, colon, words = line.partition(":")
        if colon and who in ("User", "System"):
            lines.append((who, words.strip()))
        elif lines:
            lines[-1] = (lines[-1][0], f"{lines[-1][1]}\n{line}")
        else:
            lines.append(("User", line))
    return lines


def _taking_turns(text: str) -> list[Line]:
    words = [line for line in map(str.strip, text.splitlines()) if line]
    return [("User" if (len(words) - place) % 2 else "System", one) for place, one in enumerate(words)]


def _fact(value: Any) -> str | None:
    text = str(value or "").strip()
    return text if text and text != NO_FACT else None


def _text(row: TableRow, name: str) -> str:
    value = row.cells.get(name)
    if not isinstance(value, str):
        raise row.place.error("is missing; expected a text", name)
    return value


_FORMATS: Mapping[
    ResponseFormat, tuple[Callable[[DataTable], bool], Callable[[DataTable], Iterator[RecordedResponse]]]
] = {
    "fed": (is_fed, _fed),
    "usr": (recognizes_usr, _usr),
    "unieval": (recognizes_unieval, _unieval),
    "table": (lambda table: True, _table),
}


DIGITS = 6


@dataclass(slots=True, kw_only=True)
class PanelVerdicts:
    """What a panel found, by the case's conversation, and what it took."""

    panel: Panel
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    tally: AskTally = field(default_factory=AskTally)

    @property
    def columns(self) -> dict[str, ScoreColumn]:
        """The panel's numbers, each a column over the verdicts."""
        return {
            name: ScoreColumn(
                scorer=StoredScorer(
                    signature=self.panel.signature, unit=output.unit, lower_is_better=output.lower_is_better
                ),
                observed=[verdict.values[output.name] for verdict in self.verdicts.values()],
            )
            for name, output in self.panel.columns.items()
        }


async def judge_cases(
    panel: Panel, cases: Sequence[Case], told: Callable[[str, int, int], None] | None = None
) -> PanelVerdicts:
    """
    Return the panel's verdicts on *cases*, each in a conversation of its own.

    *told* learns how far the judge is: its name, cases done, cases in all.

    Raises:
        PluginError, RunStoppedError: as for ``judge_all``.
    """
    found = PanelVerdicts(panel=panel)

    def keep(verdict: Verdict) -> None:
        found.verdicts[verdict.case.record.conversation] = verdict

    ready, settled = ready_cases(panel, cases)
    for verdict in settled:
        keep(verdict)
    count = (lambda done: told(panel.name, done, len(ready))) if told else None
    await judge_all(panel, ready, tally=found.tally, keep=keep, told=count)
    return found


def estimate_cases(panel: Panel, cases: Sequence[Case]) -> CostEstimate:
    """Estimate what judging *cases* would cost; ask nothing."""
    ready, settled = ready_cases(panel, cases)
    return estimate(panel, ready, settled=len(settled))


def cases_for(panel: Panel, responses: Sequence[RecordedResponse]) -> list[Case]:
    """
    Return the cases of *responses* on the level that *panel* judges: single responses, or whole dialogues.

    Raises:
        InputError: there is none.
    """
    cases = [one.case for one in responses if one.level == panel.judge.level]
    if not cases:
        other = "turn" if panel.judge.level == "dialogue" else "dialogue"
        raise InputError(
            f'judge "{panel.name}" is about items of level {panel.judge.level}, and the file has none; '
            f"let it judge those that it has (level: {other}), where it can"
        )
    return cases


def judged_rows(
    responses: Sequence[RecordedResponse], judged: Sequence[PanelVerdicts]
) -> tuple[list[str], list[dict[str, Any]]]:
    """
    Return the table's columns and rows: those of *responses* that a panel judged, in their order.

    ``replay agree`` reads it; ``Unscored`` is there where a number is missing, and says why.
    """
    rows = []
    for one in responses:
        row: dict[str, Any] = {"id": one.id, "system": one.system, "level": one.level}
        reasons: dict[str, str] = {}
        verdicts = [(found.panel, found.verdicts.get(one.id)) for found in judged]
        for panel, verdict in verdicts:
            for column, output in panel.columns.items() if verdict else ():
                value = verdict.values[output.name] if verdict else None
                if isinstance(value, Unscored):
                    reasons[column] = value.reason
                elif value is not None:
                    row[column] = round(value, DIGITS)
        if any(verdict for _, verdict in verdicts):
            rows.append({**row, "Unscored": json.dumps(reasons, ensure_ascii=False)} if reasons else row)
    columns = ["id", "system", "level", *(column for found in judged for column in found.panel.columns)]
    return columns + (["Unscored"] if any("Unscored" in row for row in rows) else []), rows
