"""
The human ratings of Topical-Chat answers: six systems in sixty contexts (Mehri & Eskenazi, *USR*, ACL
2020), as first published and in the form of UniEval (Zhong et al., EMNLP 2022), which averages the
three raters and adds its own scores.

Both forms get UniEval's names for the criteria, so that files made for one serve the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from replay.datasets.place import SourceLocation
from replay.datasets.tables import DataTable
from replay.tables.agreement.items import ItemSet, Ratings, TableItem, rating

_CRITERIA = {
    "Understandable": "understandability",
    "Natural": "naturalness",
    "Maintains Context": "coherence",
    "Engaging": "engagingness",
    "Uses Knowledge": "groundedness",
    "Overall": "overall",
}


def recognizes_usr(table: DataTable) -> bool:
    """Return whether *table* is in the form first published."""
    return {"context", "responses"} <= set(table.columns)


def read_usr(table: DataTable) -> ItemSet:
    """
    One item for each response; its id is ``CONTEXT-RESPONSE``, both counted from 1.

    Where every context names its ``annotators``, ratings are kept by person.

    Raises:
        DatasetError: there are no responses, or a rating is neither a number nor N/A.
    """
    names = sorted({str(name) for row in table.rows for name in row.cells.get("annotators") or ()})
    named = bool(names) and all(row.cells.get("annotators") for row in table.rows)
    items = []
    for number, row in enumerate(table.rows, 1):
        responses = row.cells.get("responses")
        if not isinstance(responses, list):
            raise row.place.error("is missing; expected a list of responses with their ratings", "responses")
        people = [str(name) for name in row.cells.get("annotators") or ()] if named else None
        for position, response in enumerate(responses, 1):
            keys = {"id": f"{number}-{position}", "system": str(response.get("model", ""))}
            ratings = {
                ours: _by_person(response[theirs], people, names, row.place, theirs)
                for theirs, ours in _CRITERIA.items()
                if theirs in response
            }
            items.append(TableItem(keys=keys, ratings=ratings, group=f"context {number}"))
    return ItemSet(source=str(table.path), format="usr", items=tuple(items), named_raters=named)


def _by_person(
    given: Any, people: list[str] | None, names: list[str], place: SourceLocation, field: str
) -> Ratings:
    ratings = tuple(rating(one, place, field) for one in (given if isinstance(given, list) else [given]))
    if people is None:
        return ratings
    if len(people) != len(ratings):
        raise place.error(f"has {len(ratings)} ratings by {len(people)} annotators", field)
    by_name = dict(zip(people, ratings, strict=True))
    return tuple(by_name.get(name) for name in names)


def recognizes_unieval(table: DataTable) -> bool:
    """Return whether *table* is in UniEval's form."""
    return {"system_output", "scores"} <= set(table.columns)


def read_unieval(table: DataTable, role: Literal["scores", "ratings"]) -> ItemSet:
    """
    One item for each answer: the people's mean ratings, or UniEval's scores (*role* ``scores``).

    Its id is its number in the file, from 1; the context that several answers share is its group.

    Raises:
        DatasetError: an item lacks them, or one is no number.
    """
    field = "predict_scores" if role == "scores" else "scores"
    contexts: dict[Any, str] = {}
    items = []
    for number, row in enumerate(table.rows, 1):
        given = row.cells.get(field)
        if not isinstance(given, Mapping):
            raise row.place.error("is missing; expected numbers by criterion", field)
        group = contexts.setdefault(
            (row.cells.get("source"), row.cells.get("context")), f"context {len(contexts) + 1}"
        )
        items.append(
            TableItem(
                keys={"id": str(number), "system": str(row.cells.get("system_id", ""))},
                ratings={name: (rating(value, row.place, field),) for name, value in given.items()},
                group=group,
            )
        )
    notes = () if role == "scores" else ("the ratings are means, so agreement among raters is unknown.",)
    return ItemSet(source=str(table.path), format="unieval", items=tuple(items), notes=notes)
