"""From a file to rated items: the formats, and how each is recognized."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from replay.core.errors import DatasetError
from replay.core.record import TurnRecord
from replay.datasets.tables import DataTable, read_table
from replay.scorers.scorer import Unscored
from replay.statistics.score_column import ScoreColumn
from replay.tables.agreement import dataworkz, fed, rating_table, topical_chat
from replay.tables.agreement.items import ItemSet, TableItem

Role = Literal["scores", "ratings"]
Format = Literal["fed", "usr", "unieval", "dataworkz", "table"]

_READERS: Mapping[Format, tuple[Callable[[DataTable], bool], Callable[[DataTable, Role], ItemSet]]] = {
    "fed": (fed.recognizes, lambda table, role: fed.read(table)),
    "usr": (topical_chat.recognizes_usr, lambda table, role: topical_chat.read_usr(table)),
    "unieval": (topical_chat.recognizes_unieval, topical_chat.read_unieval),
    "dataworkz": (dataworkz.recognizes, dataworkz.read),
    "table": (lambda table: True, lambda table, role: rating_table.read(table)),
}


def read_items(path: Path, role: Role, format: Format | None = None) -> ItemSet:
    """
    The rated items in *path*; a file that holds scores beside ratings gives those that *role* names.

    *format* is found out from the columns when left out.

    Raises:
        DatasetError: the file can't be read in that format.
    """
    table = read_table(path)
    recognized = (name for name, (recognizes, _) in _READERS.items() if recognizes(table))
    found = _READERS[format if format is not None else next(recognized)][1](table, role)
    if not found.items:
        raise DatasetError("holds no item", path=str(path))
    return found


def run_items(name: str, records: Sequence[TurnRecord], scores: Mapping[str, ScoreColumn]) -> ItemSet:
    """
    The turns of a run with their scores; a conversation is what turns share.

    A score that is no number for a single turn is left out and named.
    """
    usable = {label: column for label, column in scores.items() if column.is_mean}
    items = []
    for place, record in enumerate(records):
        observed = {label: column.observed[place] for label, column in usable.items()}
        items.append(
            TableItem(
                keys={
                    "system": record.system,
                    "policy": record.policy,
                    "conversation": record.conversation,
                    "depth": str(record.depth),
                },
                ratings={
                    label: (None if isinstance(value, Unscored) else float(value),)
                    for label, value in observed.items()
                },
                group=record.recorded_conversation,
            )
        )
    left_out = [label for label in scores if label not in usable]
    notes = [f"no numbers turn by turn, so left out: {', '.join(left_out)}."] if left_out else []
    again = max(records, key=lambda record: record.repeat, default=None)
    if again is not None and again.repeat > 1:
        notes.append(
            f"each conversation was played {again.repeat} times, and a rating is of the play that it names: "
            f"{again.conversation} is play {again.repeat} of {again.recorded_conversation}, and "
            f"{again.recorded_conversation} the first."
        )
    return ItemSet(source=name, format="run", items=tuple(items), notes=tuple(notes))
