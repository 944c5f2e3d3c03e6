"""The published program's two output files, from a run's records."""

from __future__ import annotations

import json

from replay.core.drift_evidence import Drift
from replay.core.record import TurnRecord
from replay.report.evalconvqa import write_evalconvqa

VALID = Drift(valid=True, mentions=(), mode="evalconvqa")
INVALID = Drift(valid=False, mentions=(), mode="evalconvqa")


def turn(depth, edit="kept", *, policy="rewrite", conversation="C_b", drift=VALID, **more) -> TurnRecord:
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


def written(tmp_path, *records, conversations=("C_a", "C_b")):
    return {p.name: p.read_text() for p in write_evalconvqa(records, conversations, tmp_path / "out")}


def test_both_files_have_the_published_form(tmp_path):
    """As run_quac_eval_util.py of the program writes them: lists by name, yesno and followup always "y"."""
    files = written(
        tmp_path,
        turn(1),
        turn(2, "rewritten", drift=INVALID, asked="Who is Zoë?"),
        turn(3, drift=INVALID),
        turn(1, conversation="C_a"),
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
    files = written(
        tmp_path,
        turn(1, policy="pred", drift=INVALID),
        turn(1, policy="replace(always=True)", edit="replaced", drift=INVALID, asked="A?"),
        turn(2, policy="replace(always=True)", edit="not-found", drift=INVALID),
        turn(3, policy="replace(always=True)", drift=INVALID),
        turn(4, policy="rewrite", edit="rewrite-failed", drift=INVALID),
        turn(1, policy="filter", edit="filtered", drift=INVALID, answer=None, outcome="skipped"),
        turn(1, policy="augment", edit="augmented", drift=None, asked="B?"),
        turn(1, policy="gold", drift=None),
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
    (first, _) = write_evalconvqa([turn(1)], ["C_b"], tmp_path, skip_entity=False)
    assert first.name == "predictions_bert_rewrite_keptent_0_1.json"


def test_each_repeat_has_files_of_its_own(tmp_path):
    again = turn(1, conversation="C_b~2", source="C_b", repeat=2, answer="another answer")
    files = written(tmp_path, turn(1), again)
    first, _, second, _ = files
    assert (first, second) == (
        "predictions_bert_rewrite_skipent_0_2.json",
        "predictions_bert_rewrite_repeat2_skipent_0_2.json",
    )
    assert json.loads(files[first])["best_span_str"] == ["answer 1"]
    assert json.loads(files[second])["best_span_str"] == ["another answer"]


def test_a_failed_ask_has_no_prediction(tmp_path):
    files = written(tmp_path, turn(1), turn(2, answer=None))
    assert json.loads(next(iter(files.values())))["qid"] == ["C_b_q#0"]


def test_names_are_made_fit_for_files_and_stay_apart(tmp_path):
    files = written(tmp_path, turn(1, system="a/b"), turn(1, system="a b"), turn(1, system="a-b"))
    assert sorted(name for name in files if name.startswith("predictions")) == [
        "predictions_a-b_rewrite_skipent_0_2.json",
        "predictions_a-b_rewrite_skipent_0_2_2.json",
        "predictions_a-b_rewrite_skipent_0_2_3.json",
    ]
