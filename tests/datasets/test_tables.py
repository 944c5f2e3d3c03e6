from __future__ import annotations

import sys
import zipfile

import openpyxl
import pytest

from replay.core.errors import DatasetError, InputError, PluginError
from replay.datasets import tables
from replay.datasets.tables import LONGEST_CELL, check_can_write, read_table, write_table

ROWS = [
    {"id": "1", "text": 'a "quoted",\nline', "score": 0.5},
    {"id": "2", "text": "=1+1", "score": None},
    {"id": "3", "text": "日本 \x0b", "score": 1},
]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "xlsx"])
def test_a_written_table_is_read_back(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    write_table(path, ["id", "text", "score"], ROWS)
    found = read_table(path)

    assert found.columns == ("id", "text", "score")
    cells = [row.cells for row in found.rows]
    assert [cell["text"] for cell in cells[:2]] == ['a "quoted",\nline', "=1+1"]
    assert cells[2]["text"] == ("日本 \\x0b" if suffix == "xlsx" else "日本 \x0b")
    assert [None if c["score"] is None else float(c["score"]) for c in cells] == [0.5, None, 1]


def test_an_answer_that_looks_like_a_formula_stays_a_text(tmp_path):
    write_table(tmp_path / "t.xlsx", ["a"], [{"a": "=HYPERLINK(1)"}])
    cell = openpyxl.load_workbook(tmp_path / "t.xlsx").active["A2"]

    assert (cell.data_type, cell.value) == ("s", "=HYPERLINK(1)")


def test_a_text_too_long_for_a_spreadsheet_is_an_error_not_a_cut(tmp_path):
    with pytest.raises(InputError, match="characters are more than"):
        write_table(tmp_path / "t.xlsx", ["a"], [{"a": "x" * (LONGEST_CELL + 1)}])


def test_json_may_be_one_list_and_rows_need_not_be_alike(tmp_path):
    (tmp_path / "t.json").write_text('[{"a": 1}, {"b": [2, 3]}]')

    found = read_table(tmp_path / "t.json")
    assert found.columns == ("a", "b")
    assert found.rows[1].cells == {"b": [2, 3]}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"a,b\n", "holds a header and no row"),
        ("t.csv", b"a,b\n1\n", r"t.csv:2: has 1 cells, expected 2"),
        ("t.csv", b"a,a\n1,2\n", '2 columns "a"'),
        ("t.csv", b'a\n"x\n', "not valid CSV"),
        ("t.csv", b"a\n\xe9\n", r"t.csv:2: is not UTF-8"),
        ("t.csv", b"\xff\xfea\x00", "UTF-16"),
        ("t.jsonl", b'{"a": 1}\n{"a": \n', r"t.jsonl:2: is not valid JSON"),
        ("t.jsonl", b"7\n", "no JSON object"),
        ("t.json", b"[", "not valid JSON"),
        ("t.jsonl", b"\n", "is empty"),
        ("t.xlsx", b"no zip", "no spreadsheet"),
        ("t.txt", b"a", "is no table"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_place(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)

    with pytest.raises(DatasetError, match=message):
        read_table(tmp_path / name)


def test_a_byte_order_mark_and_tabs_are_fine(tmp_path):
    (tmp_path / "t.tsv").write_bytes("\ufeffa\tb\r\n1\t \r\n\r\n".encode())

    (row,) = read_table(tmp_path / "t.tsv").rows
    assert row.cells == {"a": "1", "b": None}


def test_a_table_with_semicolons_is_one(tmp_path):
    """As spreadsheets save it where the decimal point is a comma."""
    (tmp_path / "t.csv").write_text("id;score\n1;0,5\n")

    assert read_table(tmp_path / "t.csv").rows[0].cells == {"id": "1", "score": "0,5"}


def test_whether_a_file_can_be_written_is_known_before_the_work(tmp_path, monkeypatch):
    check_can_write(tmp_path / "t.csv")
    with pytest.raises(InputError, match="call it"):
        check_can_write(tmp_path / "t.txt")
    with pytest.raises(InputError, match="no folder"):
        check_can_write(tmp_path / "nowhere" / "t.csv")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(PluginError, match=r"convreplay\[xlsx\]"):
        check_can_write(tmp_path / "t.xlsx")


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e400"])
@pytest.mark.parametrize("form", ["lines.jsonl", "list.json"])
def test_a_number_that_json_does_not_have_is_a_fault_and_no_answer(tmp_path, value, form):
    path = tmp_path / form
    row = f'{{"id": 1, "response": {value}}}'
    path.write_text(f'{{"id": 0, "response": 4.5}}\n{row}\n' if form == "lines.jsonl" else f"[{row}]")
    with pytest.raises(DatasetError, match=r"no number that JSON has \(RFC 8259\); write null") as caught:
        read_table(path)
    assert caught.value.line == (2 if form == "lines.jsonl" else None)


def spreadsheet(path, sheet):
    """A spreadsheet whose only sheet holds the XML *sheet*."""
    write_table(path, ["a"], [{"a": "1"}])
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    parts["xl/worksheets/sheet1.xml"] = (
        b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
        + sheet
        + b"</sheetData></worksheet>"
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, part in parts.items():
            book.writestr(name, part)
    return path


def test_a_spreadsheet_that_unpacks_to_far_more_than_its_size_is_not_unpacked(tmp_path, monkeypatch):
    path = spreadsheet(tmp_path / "t.xlsx", b"<row/>" * 20_000)
    assert path.stat().st_size < 10_000
    monkeypatch.setattr(tables, "MOST_UNPACKED", 100_000)
    with pytest.raises(DatasetError, match=r"it unpacks to 1\d\d,\d{3} bytes, and at most 100,000 are read"):
        read_table(path)


def test_a_spreadsheet_has_so_many_cells_gaps_included(tmp_path, monkeypatch):
    """A gap of any number of rows and columns takes a few characters."""
    cell = b'<row r="%d"><c r="%s" t="inlineStr"><is><t>%s</t></is></c></row>'
    path = spreadsheet(tmp_path / "t.xlsx", cell % (1, b"A1", b"a") + cell % (1_000, b"ALL1000", b"b"))
    monkeypatch.setattr(tables, "MOST_CELLS", 500)
    with pytest.raises(DatasetError, match="past the first 500 cells, blank ones included"):
        read_table(path)
