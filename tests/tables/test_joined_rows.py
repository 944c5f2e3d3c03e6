from __future__ import annotations

from pathlib import Path

import pytest

from replay.core.errors import DatasetError, InputError
from replay.datasets.data_file import SourceLocation
from replay.datasets.tables import DataTable, TableRow
from replay.tables.joined_rows import join


def table(name, *rows):
    path = Path(name)
    found = tuple(
        TableRow(place=SourceLocation(path=path, line=n), cells=row) for n, row in enumerate(rows, 2)
    )
    return DataTable(path=path, columns=tuple(dict.fromkeys(c for row in rows for c in row)), rows=found)


BENCHMARK = table(
    "b.csv",
    {"id": "1", "Question": "Who?", "Golden Response": "Ann", "Golden Context": "Ann sang."},
    {"id": "2", "Question": "Where?", "Golden Response": ["Rome", "Roma"], "Golden Context": None},
)


def test_ids_win_over_questions_and_their_order_does_not_matter():
    responses = table("r.csv", {"id": "2.0", "response": "x"}, {"id": "1", "response": None})
    numbers = table("r.xlsx", {"id": 2.0, "response": "In Rome"}, {"id": 1, "response": None})

    assert join(BENCHMARK, responses).unanswered == 1
    found = join(BENCHMARK, numbers)
    assert found.by == "id"
    assert [row.candidate for row in found.rows] == ["", "In Rome"]
    assert [row.golden for row in found.rows] == [("Ann",), ("Rome", "Roma")]
    assert [row.context for row in found.rows] == ["Ann sang.", ""]


def test_questions_are_compared_without_regard_to_spaces():
    responses = table(
        "r.csv", {"question": " Where? ", "answer": "Rome"}, {"question": "What?", "answer": "?"}
    )
    found = join(BENCHMARK, responses)

    assert (found.by, found.unanswered, found.strangers) == ("question", 1, 1)
    assert [row.candidate for row in found.rows] == [None, "Rome"]


def test_rows_are_joined_by_position_only_if_they_are_equally_many():
    found = join(BENCHMARK, table("r.csv", {"prediction": "a"}, {"prediction": "b"}))

    assert (found.by, [row.candidate for row in found.rows]) == ("row", ["a", "b"])
    with pytest.raises(InputError, match=r"b.csv has 2 rows and r.csv has 1; joined by row"):
        join(BENCHMARK, table("r.csv", {"prediction": "a"}))


def test_a_key_that_stands_twice_is_an_error():
    twice = table("r.csv", {"Question": "Who?", "answer": "a"}, {"Question": "Who?", "answer": "b"})

    with pytest.raises(
        DatasetError, match=r'r.csv:3: Question: "Who\?" stands in an earlier row too; use --join id'
    ):
        join(BENCHMARK, twice)
    with pytest.raises(DatasetError, match="is empty"):
        join(BENCHMARK, table("r.csv", {"id": None, "answer": "a"}, {"id": "1", "answer": "b"}))


def test_what_is_missing_is_said():
    with pytest.raises(
        InputError, match=r'no column "candidate response" \(found: id, text\); name it with --candidate'
    ):
        join(BENCHMARK, table("r.csv", {"id": "1", "text": "a"}))
    with pytest.raises(InputError, match=r"no id of b\.csv is in r\.csv"):
        join(BENCHMARK, table("r.csv", {"id": "7", "answer": "a"}))
    with pytest.raises(InputError, match='no column for "id"'):
        join(BENCHMARK, table("r.csv", {"answer": "a"}, {"answer": "b"}), by="id")


def test_columns_may_be_called_anything():
    responses = table("r.csv", {"key": "1", "said": "Ann"}, {"key": "2", "said": "Rome"})
    renamed = table("b.csv", *({"key": row.cells["id"], **row.cells} for row in BENCHMARK.rows))

    found = join(renamed, responses, columns={"candidate": "said", "id": "key"})
    assert (found.by, [row.candidate for row in found.rows]) == ("id", ["Ann", "Rome"])
