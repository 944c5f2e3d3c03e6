"""
FED: 375 turns and 125 dialogues, five raters each (Mehri & Eskenazi, *Unsupervised Evaluation of
Interactive Dialog with DialoGPT*, SIGDIAL 2020).

The raters are workers of a crowd, others for each item, so that the n-th rating is nobody's in
particular. A rating can be a text such as ``N/A (No errors)``; it is missing then. An item without a
``response`` is a whole dialogue.

The 375 turns are from those 125 dialogues, three of each, and so are no 375 independent items: what they
share is their dialogue, which a turn's context and response are the beginning of. The file doesn't say
which it is, so it is found out from the texts.
"""

from __future__ import annotations

from replay.datasets.tables import DataTable, TableRow
from replay.tables.agreement.items import ItemSet, TableItem, rating


def recognizes(table: DataTable) -> bool:
    """Return whether *table* is such a file."""
    return {"context", "annotations"} <= set(table.columns)


def read(table: DataTable) -> ItemSet:
    """
    The items; their id is their number in the file, from 1, their criteria are in lower case.

    Raises:
        DatasetError: an item has no annotations or a rating is neither a number nor N/A.
    """
    items = []
    dialogues = _dialogues(table)
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
        items.append(TableItem(keys=keys, ratings=ratings, group=dialogues[number - 1], level=level))
    return ItemSet(source=str(table.path), format="fed", items=tuple(items))


def _dialogues(table: DataTable) -> list[str]:
    """For each item ``dialogue N``, by the longest text of the same system that begins with the item's."""
    texts = [(str(row.cells.get("system", "")), _text(row)) for row in table.rows]
    longest: list[tuple[str, str]] = []
    found = {}
    for text in sorted(set(texts), key=lambda one: (-len(one[1]), one)):
        whole = next((n for n, (system, words) in enumerate(longest) if _begins(text, system, words)), None)
        if whole is None:
            whole = len(longest)
            longest.append(text)
        found[text] = whole
    numbers = {whole: n for n, whole in enumerate(dict.fromkeys(found[text] for text in texts), 1)}
    return [f"dialogue {numbers[found[text]]}" for text in texts]


def _begins(text: tuple[str, str], system: str, words: str) -> bool:
    return text[0] == system and f"{words}\n".startswith(f"{text[1]}\n")


def _text(row: TableRow) -> str:
    """The dialogue up to and with the response, a line for each utterance."""
    lines = [str(row.cells.get("context") or ""), str(row.cells.get("response") or "")]
    return "\n".join(line.strip() for text in lines for line in text.splitlines() if line.strip())
