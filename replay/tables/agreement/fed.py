"""
FED: 375 turns and 125 dialogues, five raters each (Mehri & Eskenazi, *Unsupervised Evaluation of
Interactive Dialog with DialoGPT*, SIGDIAL 2020).

The raters are workers of a crowd, others for each item, so that the n-th rating is nobody's in
particular. A rating can be a text such as ``N/A (No errors)``; it is missing then. An item without a
``response`` is a whole dialogue.
"""

from __future__ import annotations

from replay.datasets.tables import Table
from replay.tables.agreement.items import ItemSet, RatedItem, rating


def recognizes(table: Table) -> bool:
    """Whether *table* is such a file."""
    return {"context", "annotations"} <= set(table.columns)


def read(table: Table) -> ItemSet:
    """
    The items; their id is their number in the file, from 1, their criteria are in lower case.

    Raises:
        DatasetError: an item has no annotations or a rating is neither a number nor N/A.
    """
    items = []
    for number, row in enumerate(table.rows, 1):
        annotations = row.cells.get("annotations")
        if not isinstance(annotations, dict):
            raise row.place.error("is missing; expected lists of ratings by criterion", "annotations")
        ratings = {}
        for name, given in annotations.items():
            if not isinstance(given, list):
                raise row.place.error("is no list of ratings", f"annotations.{name}")
            ratings[name.lower()] = tuple(rating(one, row.place, f"annotations.{name}") for one in given)
        keys = {"id": str(number)}
        if row.cells.get("system"):
            keys["system"] = str(row.cells["system"])
        level = "turn" if "response" in row.cells else "dialogue"
        items.append(RatedItem(keys=keys, ratings=ratings, level=level))
    return ItemSet(source=str(table.path), format="fed", items=tuple(items))
