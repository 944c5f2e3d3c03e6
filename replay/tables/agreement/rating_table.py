"""
Ratings, or scores, in any table: one item a row, or one item and one rater a row.

The columns ``id``, or ``conversation`` and ``depth`` with ``system`` and ``policy`` where there are
several, say which item it is; ``rater`` whose rating; ``group`` or ``passage`` what items share. Every
other column that holds numbers is a criterion; in JSON a cell may also be a list, one rating by each
rater.
"""

from __future__ import annotations

from collections.abc import Mapping

from replay.core.errors import DatasetError
from replay.datasets.tables import DataTable, TableRow
from replay.tables.agreement.items import KEYS, ItemSet, Ratings, TableItem, rating

_NOT_CRITERIA = (*KEYS, "rater", "group", "passage", "level", "turn", "Unscored")


def read(table: DataTable) -> ItemSet:
    """
    The items, in the order in which they come first.

    Raises:
        DatasetError: no column holds numbers, a rater rates an item twice, or without raters two rows
            are about the same item.
    """
    criteria = [name for name in table.columns if name not in _NOT_CRITERIA and _holds_numbers(table, name)]
    if not criteria:
        first = table.rows[0].place
        raise first.error(f"no column holds numbers only (found: {', '.join(table.columns)})")
    ignored = [n for n in table.columns if n not in _NOT_CRITERIA and n not in criteria]
    notes = (f"{table.path}: columns without numbers are not read: {', '.join(ignored)}.",) if ignored else ()
    by_rater = "rater" in table.columns
    items = _joined(table, criteria) if by_rater else [_item(row, criteria) for row in table.rows]
    if not by_rater:
        _check_each_once(table, items)
    return ItemSet(
        source=str(table.path), format="table", items=tuple(items), named_raters=by_rater, notes=notes
    )


def _check_each_once(table: DataTable, items: list[TableItem]) -> None:
    seen = set[tuple[tuple[str, str], ...]]()
    for row, item in zip(table.rows, items, strict=True):
        key = tuple(sorted(item.keys.items()))
        if key and key in seen:
            raise row.place.error(f"{_named(item.keys)} stands in an earlier row too")
        seen.add(key)


def _joined(table: DataTable, criteria: list[str]) -> list[TableItem]:
    """One item for all rows about it, with a rating by each rater of the file."""
    raters = sorted({str(row.cells.get("rater")) for row in table.rows})
    found: dict[tuple[tuple[str, str], ...], tuple[TableRow, dict[str, Mapping[str, float | None]]]] = {}
    for row in table.rows:
        keys = _keys(row)
        if not keys:
            raise row.place.error("names no item; add a column id, or conversation and depth")
        _, given = found.setdefault(tuple(sorted(keys.items())), (row, {}))
        rater = str(row.cells.get("rater"))
        if rater in given:
            raise row.place.error(f"{rater} rates {_named(keys)} a second time", "rater")
        given[rater] = {name: rating(row.cells.get(name), row.place, name) for name in criteria}
    return [
        TableItem(
            keys=dict(key),
            ratings={name: tuple(given.get(rater, {}).get(name) for rater in raters) for name in criteria},
            group=_group(row),
            level=str(row.cells.get("level") or "turn"),
        )
        for key, (row, given) in found.items()
    ]


def _item(row: TableRow, criteria: list[str]) -> TableItem:
    return TableItem(
        keys=_keys(row),
        ratings={name: _ratings(row, name) for name in criteria},
        group=_group(row),
        level=str(row.cells.get("level") or "turn"),
    )


def _ratings(row: TableRow, name: str) -> Ratings:
    """One rating, or those of a list."""
    value = row.cells.get(name)
    return tuple(rating(one, row.place, name) for one in (value if isinstance(value, list) else [value]))


def _keys(row: TableRow) -> dict[str, str]:
    return {name: str(row.cells[name]) for name in KEYS if row.cells.get(name) is not None}


def _group(row: TableRow) -> str | None:
    found = next((row.cells[n] for n in ("group", "passage", "conversation") if row.cells.get(n)), None)
    return None if found is None else str(found)


def _holds_numbers(table: DataTable, name: str) -> bool:
    try:
        found = [one for row in table.rows for one in _ratings(row, name)]
    except DatasetError:
        return False
    return any(one is not None for one in found)


def _named(keys: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in keys.items())
