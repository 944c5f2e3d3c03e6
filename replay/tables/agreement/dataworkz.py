"""
The evaluation table of the Dataworkz framework, as ``replay score-file`` writes it too.

It holds no people's ratings: the LLM judge's columns stand in for them where such a table is given as
the human file, and every output says so.
"""

from __future__ import annotations

from typing import Literal

from replay.datasets.tables import DataTable
from replay.tables.agreement.items import ItemSet, TableItem, rating

JUDGED = ("LLM Recall", "LLM Precision", "LLM F1")
MEASURED = (
    "Bleu Score",
    "Rouge-1",
    "Rouge-L",
    "Bert Precision",
    "Bert Recall",
    "Bert Score F1",
    "Similarity Score",
)


def recognizes(table: DataTable) -> bool:
    """Return whether *table* is such a file."""
    return {"Golden Response", "Candidate Response"} <= set(table.columns)


def read(table: DataTable, role: Literal["scores", "ratings"]) -> ItemSet:
    """
    One item a row: the judge's columns as ratings, or the metrics' and the judge's (*role* ``scores``).

    Raises:
        DatasetError: a cell is no number.
    """
    wanted = [
        name for name in (JUDGED if role == "ratings" else (*MEASURED, *JUDGED)) if name in table.columns
    ]
    number_column = next((name for name in ("id", "SNo.") if name in table.columns), None)
    items = []
    for number, row in enumerate(table.rows, 1):
        own = row.cells.get(number_column) if number_column else None
        items.append(
            TableItem(
                keys={"id": str(number if own is None else own)},
                ratings={name: (rating(row.cells.get(name), row.place, name),) for name in wanted},
            )
        )
    notes = ("the ratings are an LLM judge's, not people's.",) if role == "ratings" else ()
    return ItemSet(source=str(table.path), format="dataworkz", items=tuple(items), notes=notes)
