"""What other programs read: the report as JSON, turns as a file, the published program's files."""

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
from replay.report.export import export_turns, report_json, write_evalconvqa
from replay.report.notes import notes
from replay.scorers.word_overlap import f1
from replay.statistics.score_column import TURN_COLUMNS, ScoreColumn, score_columns, turns_frame
from tests.report.sample_report import report
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


def test_the_report_has_a_schema_and_plain_values_only():
    found = report_json(report())

    assert found["schema"] == 1
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_everything_that_the_text_shows_is_there():
    shown = report()
    found = report_json(shown)

    assert found["depth_table"] == shown.table.to_json()
    assert [gap["second"]["policy"] for gap in found["gaps"]][::4] == ["pred", "rewrite", "filter"]
    assert found["notes"] == notes(shown)
    assert [one["policy"] for one in found["survival"]] == ["pred", "rewrite", "filter"]
    assert found["survival"][0]["rows"][1]["broken"] == 3
    assert found["signatures"]["rewrite"].startswith("policy:rewrite|")


VALID = Drift(valid=True, mentions=(), mode="evalconvqa")
LOST = Drift(valid=False, mentions=(), mode="evalconvqa")


def row(depth, edit="kept", *, policy="rewrite", conversation="C_b", drift=VALID, **more) -> TurnRecord:
    asked = more.pop("asked", f"question {depth}?")
    answer = more.pop("answer", f"answer {depth}")
    return TurnRecord(
        system=more.pop("system", "bert"),
        policy=policy,
        conversation=conversation,
        depth=depth,
        turn=f"{conversation}_q#{depth - 1}",
        recorded=f"question {depth}?",
        asked=asked,
        edit=edit,
        drift=drift,
        outcome="answered" if answer is not None else more.pop("outcome", "timed-out"),
        answer=answer,
        **more,
    )


def published(tmp_path, *records, conversations=("C_a", "C_b")):
    return {p.name: p.read_text() for p in write_evalconvqa(records, conversations, tmp_path / "out")}


def test_both_files_have_the_published_form(tmp_path):
    """As run_quac_eval_util.py of the program writes them: lists by name, yesno and followup always "y"."""
    files = published(
        tmp_path,
        row(1),
        row(2, "rewritten", drift=LOST, asked="Who is Zoë?"),
        row(3, drift=LOST),
        row(1, conversation="C_a"),
    )
    assert list(files) == [
        "predictions_bert_rewrite_skipent_0_2.json",
        "modified_questions_bert_rewrite_skipent_0_2.json",
    ]
    predictions, modified = files.values()
    assert predictions.splitlines() == [
        '{"best_span_str": ["answer 1"], "qid": ["C_a_q#0"], "yesno": ["y"], "followup": ["y"]}',
        '{"best_span_str": ["answer 1", "answer 2", "answer 3"], "qid": ["C_b_q#0", "C_b_q#1", "C_b_q#2"], '
        '"yesno": ["y", "y", "y"], "followup": ["y", "y", "y"]}',
    ]
    assert predictions.endswith("}\n")
    assert json.loads(modified) == {
        "0": {"Rewritten": [], "Replaced": [], "Not Found": [], "Filtered": []},
        "1": {
            "Rewritten": [["C_b_q#1", "Who is Zoë?"], ["C_b_q#2", "question 3?"]],
            "Replaced": [],
            "Not Found": [],
            "Filtered": [],
        },
    }
    assert modified.startswith('{\n  "0": {\n    "Rewritten": [],\n')
    assert "Zo\\u00eb" in modified


def test_every_edit_has_its_place(tmp_path):
    files = published(
        tmp_path,
        row(1, policy="pred", drift=LOST),
        row(1, policy="replace(always=True)", edit="replaced", drift=LOST, asked="A?"),
        row(2, policy="replace(always=True)", edit="not-found", drift=LOST),
        row(3, policy="replace(always=True)", drift=LOST),
        row(4, policy="rewrite", edit="rewrite-failed", drift=LOST),
        row(1, policy="filter", edit="filtered", drift=LOST, answer=None, outcome="skipped"),
        row(1, policy="augment", edit="augmented", drift=None, asked="B?"),
        row(1, policy="gold", drift=None),
    )

    def modified(policy, entities="skipent"):
        return json.loads(files[f"modified_questions_bert_{policy}_{entities}_0_2.json"])["1"]

    assert not any(modified("pred").values())
    assert modified("replace(always=True)") == {
        "Rewritten": [],
        "Replaced": [["C_b_q#0", "A?"], ["C_b_q#2", "question 3?"]],
        "Not Found": ["C_b_q#1"],
        "Filtered": [],
    }
    assert modified("rewrite")["Not Found"] == ["C_b_q#3"]
    assert modified("filter")["Filtered"] == ["C_b_q#0"]
    assert modified("augment", "keptent")["Rewritten"] == [["C_b_q#0", "B?"]]
    assert not any(modified("gold", "keptent").values())
    assert '"qid": []' in files["predictions_bert_filter_skipent_0_2.json"]


def test_the_names_say_whether_entities_were_compared(tmp_path):
    (first, _) = write_evalconvqa([row(1)], ["C_b"], tmp_path, skip_entity=False)
    assert first.name == "predictions_bert_rewrite_keptent_0_1.json"


def test_each_repeat_has_files_of_its_own(tmp_path):
    again = row(1, conversation="C_b~2", source="C_b", repeat=2, answer="another answer")
    files = published(tmp_path, row(1), again)
    first, _, second, _ = files
    assert (first, second) == (
        "predictions_bert_rewrite_skipent_0_2.json",
        "predictions_bert_rewrite_repeat2_skipent_0_2.json",
    )
    assert json.loads(files[first])["best_span_str"] == ["answer 1"]
    assert json.loads(files[second])["best_span_str"] == ["another answer"]


def test_a_failed_ask_has_no_prediction(tmp_path):
    files = published(tmp_path, row(1), row(2, answer=None))
    assert json.loads(next(iter(files.values())))["qid"] == ["C_b_q#0"]


def test_names_are_made_fit_for_files_and_stay_apart(tmp_path):
    files = published(tmp_path, row(1, system="a/b"), row(1, system="a b"), row(1, system="a-b"))
    assert sorted(name for name in files if name.startswith("predictions")) == [
        "predictions_a-b_rewrite_skipent_0_2.json",
        "predictions_a-b_rewrite_skipent_0_2_2.json",
        "predictions_a-b_rewrite_skipent_0_2_3.json",
    ]
