"""
Files of ratings, or of scores, read as items: three published kinds, evaluation files, any table.

FED: 375 turns and 125 dialogues, five raters each (Mehri & Eskenazi, *Unsupervised Evaluation of
Interactive Dialog with DialoGPT*, SIGDIAL 2020).

The raters are workers of a crowd, others for each item, so that the n-th rating is nobody's in
particular. A rating can be a text such as ``N/A (No errors)``; it is missing then. An item without a
``response`` is a whole dialogue.

The 375 turns are from those 125 dialogues, three of each, and so are no 375 independent items: what they
share is their dialogue, which a turn's context and response are the beginning of. The file doesn't say
which it is, so it is found out from the texts.

The human ratings of Topical-Chat answers: six systems in sixty contexts (Mehri & Eskenazi, *USR*, ACL
2020), as first published and in the form of UniEval (Zhong et al., EMNLP 2022), which averages the
three raters and adds its own scores.

Both forms get UniEval's names for the criteria, so that files made for one serve the other.

The evaluation table of the Dataworkz framework, as ``replay score-file`` writes it too.

It holds no people's ratings: the LLM judge's columns stand in for them where such a table is given as
the human file, and every output says so.

Ratings, or scores, in any table: one item a row, or one item and one rater a row.

The columns ``id``, or ``conversation`` and ``depth`` with ``system`` and ``policy`` where there are
several, say which item it is; ``rater`` whose rating; ``group`` or ``passage`` what items share. Every
other column that holds numbers is a criterion; in JSON a cell may also be a list, one rating by each
rater.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from replay.core.errors import DatasetError
from replay.datasets.data_file import SourceLocation
from replay.datasets.tables import DataTable, TableRow, read_table
from replay.tables.items import KEYS, ItemSet, Ratings, TableItem, rating


def is_fed(table: DataTable) -> bool:
    """Return whether *table* is such a file."""
    return {"context", "annotations"} <= set(table.columns)


def read_fed(table: DataTable) -> ItemSet:
    """
    Return the items; their id is their number in the file, from 1, their criteria are in lower case.

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
    """Return the dialogue up to and with the response, a line for each utterance."""
    lines = [str(row.cells.get("context") or ""), str(row.cells.get("response") or "")]
    return "\n".join(line.strip() for text in lines for line in text.splitlines() if line.strip())


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
    Return one item for each response; its id is ``CONTEXT-RESPONSE``, both counted from 1.

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
    Return one item for each answer: the people's mean ratings, or UniEval's scores (*role* ``scores``).

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


JUDGED_COLUMNS = ("LLM Recall", "LLM Precision", "LLM F1")
MEASURED_COLUMNS = (
    "Bleu Score",
    "Rouge-1",
    "Rouge-L",
    "Bert Precision",
    "Bert Recall",
    "Bert Score F1",
    "Similarity Score",
)


def is_dataworkz(table: DataTable) -> bool:
    """Return whether *table* is such a file."""
    return {"Golden Response", "Candidate Response"} <= set(table.columns)


def read_dataworkz(table: DataTable, role: Literal["scores", "ratings"]) -> ItemSet:
    """
    Return one item a row: the judge's columns as ratings, or the metrics' and the judge's (*role*
    ``scores``).

    Raises:
        DatasetError: a cell is no number.
    """
    wanted = [
        name
        for name in (JUDGED_COLUMNS if role == "ratings" else (*MEASURED_COLUMNS, *JUDGED_COLUMNS))
        if name in table.columns
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


_NOT_CRITERIA = (*KEYS, "rater", "group", "passage", "level", "turn", "Unscored")


def read_rating_table(table: DataTable) -> ItemSet:
    """
    Return the items, in the order in which they come first.

    Raises:
        DatasetError: no column holds numbers, a rater rates an item twice, or without raters two rows are
            about the same item.
    """
    criteria = [name for name in table.columns if name not in _NOT_CRITERIA and _holds_numbers(table, name)]
    if not criteria:
        first = table.rows[0].place
        raise first.error(f"no column holds numbers only (found: {', '.join(table.columns)})")
    ignored = [n for n in table.columns if n not in _NOT_CRITERIA and n not in criteria]
    notes = (f"{table.path}: columns without numbers are not read: {', '.join(ignored)}.",) if ignored else ()
    by_rater = "rater" in table.columns
    items = _join_rows(table, criteria) if by_rater else [_row_item(row, criteria) for row in table.rows]
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
            raise row.place.error(f"{_item_name(item.keys)} stands in an earlier row too")
        seen.add(key)


def _join_rows(table: DataTable, criteria: list[str]) -> list[TableItem]:
    """Return one item for all rows about it, with a rating by each rater of the file."""
    raters = sorted({str(row.cells.get("rater")) for row in table.rows})
    found: dict[tuple[tuple[str, str], ...], tuple[TableRow, dict[str, Mapping[str, float | None]]]] = {}
    for row in table.rows:
        keys = _keys(row)
        if not keys:
            raise row.place.error("names no item; add a column id, or conversation and depth")
        _, given = found.setdefault(tuple(sorted(keys.items())), (row, {}))
        rater = str(row.cells.get("rater"))
        if rater in given:
            raise row.place.error(f"{rater} rates {_item_name(keys)} a second time", "rater")
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


def _row_item(row: TableRow, criteria: list[str]) -> TableItem:
    return TableItem(
        keys=_keys(row),
        ratings={name: _ratings(row, name) for name in criteria},
        group=_group(row),
        level=str(row.cells.get("level") or "turn"),
    )


def _ratings(row: TableRow, name: str) -> Ratings:
    """Return one rating, or those of a list."""
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


def _item_name(keys: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in keys.items())


Role = Literal["scores", "ratings"]
Format = Literal["fed", "usr", "unieval", "dataworkz", "table"]

_READERS: Mapping[Format, tuple[Callable[[DataTable], bool], Callable[[DataTable, Role], ItemSet]]] = {
    "fed": (is_fed, lambda table, role: read_fed(table)),
    "usr": (recognizes_usr, lambda table, role: read_usr(table)),
    "unieval": (recognizes_unieval, read_unieval),
    "dataworkz": (is_dataworkz, read_dataworkz),
    "table": (lambda table: True, lambda table, role: read_rating_table(table)),
}


def read_items(path: Path, role: Role, format: Format | None = None) -> ItemSet:
    """
    Return the rated items in *path*; a file that holds scores beside ratings gives those that *role* names.

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
