from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st

from replay.core.conversation import Passage
from replay.core.drift_evidence import Drift, Mention, MentionDrift, Reading
from replay.core.errors import PluginError
from replay.core.record import TurnRecord, Usage
from replay.report.export import export_turns
from replay.scorers.word_overlap import f1
from replay.statistics.score_column import ScoreColumn, score_columns
from replay.statistics.turn_frame import TURN_COLUMNS, turns_frame
from tests.scorers.turns import INVALID, skipped_turn, turn
from tests.statistics.spread import LongestAnswer

SHE = Mention(start=10, end=13, text="she", kind="she")
DRIFT = Drift(
    valid=False,
    mode="strict",
    mentions=(
        MentionDrift(
            gold=Reading(mention=SHE, antecedent="Mira", source="name", distribution=((0.9, "Mira"),)),
            predicted=Reading(mention=SHE, antecedent=None),
            state="lost",
            overlap=0.0,
        ),
    ),
)
FULL = turn(
    '=1+1, "so"\r\nsaid\nÜ',
    "Paris",
    "in Paris",
    drift=DRIFT,
    edit="rewritten",
    passages=(Passage(id="p1", text="Paris, again"),),
    usage=Usage(prompt_tokens=7),
    cost_usd=0.25,
)
RECORDS = [FULL, turn(None, "Rome", depth=2), skipped_turn(depth=3)]
KINDS = ["csv", "jsonl", "parquet"]


def written(kind, records=RECORDS, scores=None) -> bytes:
    stream = io.BytesIO()
    assert export_turns(iter(records), scores or {}, stream, kind) == len(records)
    assert not stream.closed
    return stream.getvalue()


def csv_rows(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


def test_csv_keeps_text_exactly():
    first, second, third = csv_rows(written("csv"))

    assert list(first) == list(TURN_COLUMNS)
    assert first["answer"] == FULL.answer
    assert json.loads(first["gold_answers"]) == ["Paris", "in Paris"]
    assert json.loads(first["drift"])["mentions"][0]["gold"]["antecedent"] == "Mira"
    assert (first["valid"], first["prompt_tokens"], first["completion_tokens"]) == ("False", "7", "")
    assert (first["latency_s"], first["cost_usd"]) == ("0.5", "0.25")
    assert (second["answer"], second["outcome"], second["valid"]) == ("", "timed-out", "")
    assert (third["outcome"], third["latency_s"], third["attempts"]) == ("skipped", "", "0")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_comes_back_from_csv(text):
    assert csv_rows(written("csv", [turn(text)]))[0]["answer"] == text


def test_json_lines_are_nested():
    first, second, third = map(json.loads, written("jsonl").decode().splitlines())

    assert list(first) == list(TURN_COLUMNS)
    assert first["drift"]["mentions"][0]["gold"]["mention"]["text"] == "she"
    assert first["passages"] == [{"id": "p1", "text": "Paris, again", "title": ""}]
    assert (second["answer"], third["drift"]["valid"]) == (None, False)


@given(st.text())
def test_any_text_comes_back_from_json_lines(text):
    """Even half a surrogate pair, which a system may send as a JSON escape."""
    (line,) = written("jsonl", [turn(text)]).splitlines()
    assert json.loads(line)["answer"] == text


def test_parquet_has_the_same_types_whatever_is_missing():
    parquet = pytest.importorskip("pyarrow.parquet")
    full, bare = (parquet.read_table(io.BytesIO(written("parquet", rows))) for rows in (RECORDS, RECORDS[1:]))

    assert full.schema == bare.schema
    assert full.column_names == list(TURN_COLUMNS)
    rows = full.to_pylist()
    assert (rows[0]["answer"], rows[0]["valid"], rows[0]["prompt_tokens"]) == (FULL.answer, False, 7)
    assert json.loads(rows[0]["drift"])["valid"] is False
    assert rows[1]["answer"] is None
    assert parquet.read_table(io.BytesIO(written("parquet", []))).num_rows == 0


@pytest.mark.parametrize("kind", KINDS)
def test_half_a_surrogate_pair_stops_no_export(kind):
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    assert written(kind, [turn("\ud83d", "\ud83d")])


def test_scores_have_a_column_each_and_reasons_one_together():
    records = [turn("Paris", "Paris"), turn("x", depth=2)]
    scores = score_columns(records, {"f1": f1(), "answer": LongestAnswer()})
    flat, nested = csv_rows(written("csv", records, scores)), written("jsonl", records, scores).splitlines()

    assert [row["f1"] for row in flat] == ["1.0", ""]
    assert [row["answer_score"] for row in flat] == ["5", "1"]
    assert [row["answer"] for row in flat] == ["Paris", "x"]
    assert json.loads(flat[1]["unscored"]) == {"f1": "no gold answer"}
    assert json.loads(nested[0])["unscored"] == {}
    assert list(turns_frame(records, scores).columns) == list(flat[0])


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_records_are_written_as_they_come(kind, tmp_path):
    """A run may be larger than memory."""
    written_before_the_last: list[int] = []
    file = tmp_path / "turns"

    def records() -> Iterator[TurnRecord]:
        for depth in range(1, 2000):
            yield turn("x" * 100, depth=depth)
        written_before_the_last.append(file.stat().st_size)
        yield turn(depth=2000)

    assert export_turns(records(), {}, file, kind) == 2000
    assert written_before_the_last[0] > 1900 * 100


def test_without_pyarrow_the_message_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(PluginError, match=r'pip install "convreplay\[parquet\]"'):
        export_turns(RECORDS, {}, tmp_path / "turns.parquet", "parquet")
    assert not list(tmp_path.iterdir())


def test_the_frame_keeps_nested_values_and_missing_ones():
    column = ScoreColumn(scorer=f1(), observed=[0.5, 1.0, 0.0])
    frame = turns_frame([*RECORDS[:2], turn(drift=INVALID, depth=3)], {"f1": column})

    assert frame.f1.tolist() == [0.5, 1.0, 0.0]
    assert frame.valid.isna().tolist() == [False, True, False]
    assert list(frame.gold_answers[0]) == ["Paris", "in Paris"]
    assert str(frame.depth.dtype) == "Int64"
    assert len(turns_frame([])) == 0
