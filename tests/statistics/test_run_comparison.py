from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from replay.core.errors import InputError
from replay.report.text import print_comparison
from replay.scorers.scorer import Scorer
from replay.scorers.word_overlap import em, f1, rouge_l
from replay.statistics.group import Group
from replay.statistics.run_comparison import ComparisonSettings, ScoredRun, comparison_report
from replay.statistics.score_column import score_columns
from tests.report.sample_report import records
from tests.scorers.turns import turn

GOLD, PRED = Group("extractive", "gold"), Group("extractive", "pred")
SIGNATURES = {"gold": "policy:gold|window:2", "pred": "policy:pred|window:2", "data": "conversations:12"}


def run(name="one", scorers: dict[str, Scorer] | None = None, **signatures) -> ScoredRun:
    turns = records()
    scores = score_columns(turns, scorers or {"f1": f1(), "rouge_l": rouge_l()})
    return ScoredRun(name=name, records=turns, scores=scores, signatures={**SIGNATURES, **signatures})


def report(first=None, second=None, pairs=((GOLD, PRED),), metrics=(), **settings):
    chosen = ComparisonSettings(**{"resamples": 100, "permutations": 200, **settings})
    return comparison_report(first or run(), second or run(), pairs, metrics=metrics, settings=chosen)


def printed(shown, width=100, **options) -> str:
    out = io.StringIO()
    print_comparison(shown, Console(file=out, width=width, color_system=None), **options)
    return out.getvalue()


def test_what_changed_in_the_signatures_is_said():
    found = report(
        second=run("two", gold="policy:gold|window:3", data="conversations:9"), pairs=[(GOLD, GOLD)]
    )

    assert found.pairs[0].changes == {
        "gold": ("window:2", "window:3"),
        "data": ("conversations:12", "conversations:9"),
    }
    assert "the signature of gold differs: window:2 -> window:3" in printed(found)


def test_scores_with_other_settings_are_not_compared_and_named():
    other = run("two", {"f1": f1(), "rouge_l": rouge_l(beta=1.2)})
    found = report(second=other)

    assert [one.score for one in found.pairs[0].comparisons] == ["f1"]
    assert "its settings differ" in found.left_out["rouge_l"]
    assert "rouge_l is not compared: its settings differ" in printed(found)
    with pytest.raises(InputError, match="means two things"):
        report(second=other, metrics=["rouge_l"])
    with pytest.raises(InputError, match='has no score "rouge"; did you mean "rouge_l"'):
        report(metrics=["rouge"])


def test_a_run_compared_with_itself_differs_in_nothing():
    found = report(pairs=[(GOLD, GOLD), (PRED, PRED)], by_depth=True)

    for pair in found.pairs:
        assert (pair.changes, pair.only_first, pair.only_second) == ({}, 0, 0)
        for one in pair.comparisons:
            assert one.flips == ()
            assert {row.difference.value for row in one.rows} == {0}
            assert {row.adjusted_p for row in one.rows} == {1.0}
    assert "Flipped" not in printed(found)


def test_holm_is_over_all_that_is_shown():
    found = report(pairs=[(GOLD, PRED), (PRED, GOLD)], by_depth=True)

    assert found.tests == {"totals": 2 * 2, "depths": 2 * 2 * 5}
    assert found.to_json()["test"]["holm_over"] == found.tests
    assert "corrected for the 4 totals compared, and that of a depth for the 20 depths." in printed(
        found, width=200
    )


@pytest.mark.parametrize("width", [60, 80, 140])
def test_no_line_of_a_table_is_wider_than_the_terminal(width):
    lines = printed(report(by_depth=True), width).splitlines()

    assert all(len(line) <= width for line in lines if line.startswith(("f1", "rouge", "score", "---")))
    assert not any(line.endswith(" ") for line in lines)


def test_flipped_turns_are_listed_up_to_a_limit():
    found = report()
    count = len({(f.conversation, f.depth) for one in found.pairs[0].comparisons for f in one.flips or ()})
    text = printed(found, flips=1)
    assert "; --flips 10 lists them" in printed(found)
    assert "  asked  " not in printed(found)

    assert count > 1
    assert f"... and {count - 1} more" in text
    assert text.count("  asked  ") == 1
    assert printed(found, flips=50).count("  asked  ") == count
    assert text.isascii()


def test_a_comparison_is_plain_json():
    found = report(by_depth=True, method="bca").to_json()

    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["interval"]["method"] == "BCa bootstrap over conversations"


def small(name, conversations, scorers=None, policy="gold"):
    turns = [turn("Paris", "Paris", conversation=one, system="s", policy=policy) for one in conversations]
    return ScoredRun(
        name=name, records=turns, scores=score_columns(turns, scorers or {"f1": f1()}), signatures=SIGNATURES
    )


def test_conversations_of_one_run_alone_are_counted_and_left_out():
    one, other = small("one", ["a", "b", "c"]), small("two", ["c", "d", "e", "f"])
    (pair,) = report(one, other, [(Group("s", "gold"), Group("s", "gold"))]).pairs

    assert (pair.conversations, pair.only_first, pair.only_second) == (1, 2, 3)
    assert pair.comparisons[0].total.difference.turns == 1
    assert pair.comparisons[0].one_sided == 5


def test_a_score_of_one_run_alone_is_left_out_and_says_whose_it_lacks():
    pairs = [(Group("s", "gold"), Group("s", "pred"))]
    one = small("one", ["a"], {"f1": f1(), "rouge_l": rouge_l()})
    other = small("two", ["a"], {"f1": f1(), "em": em()}, policy="pred")
    found = report(one, other, pairs)

    assert found.left_out == {"rouge_l": "two doesn't have it", "em": "one doesn't have it"}
    assert found.runs == ("one", "two")
    assert found.pairs[0].changes == {"gold, pred": ("policy:gold", "policy:pred")}
    assert one.groups() == [Group("s", "gold")]
    assert found.tests == {"totals": 1, "depths": 0}
    with pytest.raises(
        InputError, match=r'two has no score "rouge_l" \(known: f1, em\); `replay score` adds'
    ):
        report(one, other, pairs, metrics=["f1", "rouge_l"])
    assert [c.score for c in report(one, other, pairs, metrics=["f1"]).pairs[0].comparisons] == ["f1"]


def test_what_is_told_of_a_pair_is_all_there():
    found = report(
        second=run("two", gold="policy:gold|window:3"), pairs=[(GOLD, GOLD)], metrics=["f1"]
    ).to_json()
    (pair,) = found["pairs"]

    assert {**pair, "scores": len(pair["scores"])} == {
        "first": {"system": "extractive", "policy": "gold"},
        "second": {"system": "extractive", "policy": "gold"},
        "conversations": pair["conversations"],
        "only_first": 0,
        "only_second": 0,
        "changes": {"gold": ["window:2", "window:3"]},
        "scores": 1,
    }
    assert (found["schema"], found["runs"], found["left_out"]) == (2, ["one", "two"], {})
    assert found["interval"] == {
        "method": "Student's t (Wilson's where bounded) over conversations",
        "resamples": 100,
        "seed": 0,
        "confidence": 0.95,
    }
