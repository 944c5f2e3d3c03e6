"""Tables with one turn a row."""

from __future__ import annotations

import pytest

from replay.core.conversation import Conversation, Passage, Turn
from replay.core.errors import DatasetError
from replay.core.expectation import Expectation
from replay.datasets.csv import CsvReader
from replay.testing.reader_contract import recognizers
from tests.data_tables import from_table
from tests.datasets.files import contract, fault, only

GOOD = """conversation,turn,question,answer,standalone,title
c1,1,Who wrote it?,Okafor,Who wrote Stone Garden?,Stone Garden
c1,2,"When, roughly?",,,
c2,1,"Line one
line two?",Yes,,
"""


ONE_LINE = GOOD.replace("Line one\nline two?", "One line?")
TestCsvReader = contract(CsvReader(), "good.csv", ONE_LINE, ONE_LINE.replace("c1,2", "c1,1"))


@pytest.fixture
def table(tmp_path):
    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_text(text, newline="")
        return path

    return write


def test_rows_become_turns(table):
    first, second = CsvReader().read(table(GOOD))

    assert first == Conversation(
        id="c1",
        title="Stone Garden",
        turns=(
            Turn(
                id="c1#1",
                question="Who wrote it?",
                gold_answers=("Okafor",),
                standalone="Who wrote Stone Garden?",
            ),
            Turn(id="c1#2", question="When, roughly?"),
        ),
    )
    assert second.turns[0].question == "Line one\nline two?"


def test_columns_can_have_other_names_and_several_answers(table):
    reader = CsvReader(
        columns={"conversation": "SNo.", "question": "Q", "answer": ["Gold", "Second"], "passage": "Context"},
        delimiter=";",
    )

    found = only(
        reader, table("SNo.;Q;Gold;Second;Context\n7;Who?;Okafor;;She wrote it.\n7;Why?;A;B;She wrote it.\n")
    )

    assert [turn.gold_answers for turn in found.turns] == [("Okafor",), ("A", "B")]
    assert found.passages == (Passage(id="7#1", text="She wrote it."),)
    assert [turn.gold_passages for turn in found.turns] == [("7#1",), ("7#1",)]


@pytest.mark.parametrize("name", ["table.csv", "table.tsv"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_what_parts_the_cells_is_told_from_the_header(table, name, delimiter):
    rows = [
        ["conversation", "question", "answer", '"expect.contains.a;b|c"'],
        ["c", '"Who, what; why?"', "Okafor", ""],
    ]
    path = table("".join(delimiter.join(row) + "\n" for row in rows), name)

    found = only(CsvReader(), path)

    assert (found.turns[0].question, found.turns[0].gold_answer) == ("Who, what; why?", "Okafor")
    assert recognizers(path, path.read_bytes()) == ["csv"]


def test_a_conversation_that_comes_back_is_an_error(table):
    first, second, bad = CsvReader().read(table("conversation,question\nc1,A?\nc2,B?\nc1,C?\n"))

    assert (first.id, second.id) == ("c1", "c2")
    assert ':4: conversation: "c1" was over at an earlier row (it began on line 2); sort the file' in str(bad)


@from_table
def test_a_bad_row_spoils_its_conversation_and_is_named(table, rows, message):
    assert fault(CsvReader(), table(f"conversation,turn,question,title\n{rows}\n")) == message


def test_a_bad_row_between_two_conversations_spoils_both(table):
    """It may be a turn of either, and a conversation that has lost a turn is not the recorded one."""
    text = "conversation,question\nc1,A?\nc2\nc2,C?\nc3,D?\n"

    first, second, third = CsvReader().read(table(text))

    assert ":3: has 1 cells" in str(first)
    assert ':4: conversation: "c2" may have lost a turn' in str(second)
    assert third.id == "c3"


@from_table
def test_a_table_that_cannot_be_trusted_is_not_read_on(table, text, message):
    with pytest.raises(DatasetError) as caught:
        list(CsvReader().read(table(text)))

    assert message in str(caught.value)


def test_a_line_in_another_encoding_is_named(table):
    path = table("conversation,question\nc,A?\n")
    path.write_bytes(path.read_bytes() + b"c,caf\xe9?\n")

    with pytest.raises(DatasetError, match=r"table\.csv:3: is not UTF-8: found the byte 0xe9"):
        list(CsvReader().read(path))


@from_table
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        CsvReader(**settings)


@from_table
def test_only_a_table_with_its_own_column_names_is_recognized(table, name, header):
    path = table(f"{header}\nc,A?,B\n", name)

    assert recognizers(path, path.read_bytes()) == []


def test_the_published_finance_rows_are_read_with_named_columns(shared_data):
    columns = {
        "conversation": "SNo.",
        "question": "Question",
        "answer": "Golden Response",
        "passage": "Golden Context",
    }
    found = list(
        CsvReader(columns=columns).read(shared_data / "dataworkz" / "apple10k_evaluation_result_a.csv")
    )

    assert len(found) == 50
    assert all(isinstance(c, Conversation) and len(c.turns) == 1 for c in found)
    assert all(c.passages and c.turns[0].gold_answers for c in found)


EXPECTED = """\
conversation,question,expect.contains,expect.calls,expect.latency_below_s,expect.contains.sum,expect.end.not_contains
c1,Refund?,"[""refund"", ""days""]","{""name"": ""refund"", ""arguments"": {""id"": 17}}",2,,voucher
c1,Thanks.,,none,,[17] euros,
"""


def test_what_is_expected_stands_in_a_column_for_each_kind(table):
    """A cell that only looks like a list is a text."""
    (found,) = CsvReader().read(table(EXPECTED))

    call = {"name": "refund", "arguments": {"id": 17}}
    assert [turn.expect for turn in found.turns] == [
        (
            Expectation(kind="contains", value=["refund", "days"]),
            Expectation(kind="calls", value=call),
            Expectation(kind="latency_below_s", value="2"),
        ),
        (
            Expectation(kind="calls", value="none"),
            Expectation(kind="contains", value="[17] euros", called="sum"),
        ),
    ]
    assert found.expect == (Expectation(kind="not_contains", value="voucher"),)


@from_table
def test_an_expectation_in_a_table_that_nothing_can_check_is_named_by_its_line(table, old, new, message):
    assert fault(CsvReader(), table(EXPECTED.replace(old, new))).startswith(message)


def test_a_table_without_answers_is_recognized_by_what_it_expects(table):
    text = EXPECTED.encode()
    assert CsvReader().recognizes(table(EXPECTED), text)
    assert not CsvReader().recognizes(table(EXPECTED), text.replace(b"expect.", b"wants."))


@from_table
def test_a_column_that_can_hold_no_expectation_spoils_the_table(table, header, message):
    path = table(EXPECTED.replace("expect.calls", header))
    with pytest.raises(DatasetError) as caught:
        list(CsvReader().read(path))
    assert str(caught.value).startswith(f"{path}:1: {message}")


def test_other_columns_are_nobodys_business(table):
    (found,) = CsvReader().read(table("conversation,question,end.date,expected\nc1,Hm?,today,much\n"))
    assert found.turns[0].expect == found.expect == ()
