from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from replay.core.errors import RunError
from replay.core.record import Timing
from replay.scorers.scorer import Unscored
from replay.scorers.word_overlap import em, f1
from replay.statistics.depth_table import DepthTable, depth_table
from replay.statistics.score_column import ScoreColumn, score_columns, stored_column
from tests.scorers.turns import INVALID, NOT_JUDGED, VALID, skipped_turn, turn
from tests.statistics.spread import LongestAnswer

SCORERS = {"em": em(), "f1": f1()}


def table(records, conversations=None, scorers: Any = SCORERS, **settings) -> DepthTable:
    lengths = conversations or {r.conversation: max(x.depth for x in records) for r in records}
    return depth_table(records, score_columns(records, scorers), lengths, **settings)


def took(latency_s: float) -> Timing:
    return Timing(scheduled_s=0.0, sent_s=1.0, done_s=1.0 + latency_s)


RECORDS = [
    turn("Paris", "Paris", depth=1, drift=VALID, timing=took(1.0)),
    turn("big Paris", "Paris", depth=2, drift=INVALID, edit="rewritten", timing=took(3.0)),
    turn(None, "Rome", depth=3, drift=INVALID, edit="rewritten", timing=took(9.0)),
    turn("Rome", "Paris", depth=1, conversation="c2", drift=VALID, timing=took(2.0)),
    turn("Bern", depth=2, conversation="c2", drift=INVALID, edit="not-found", timing=took(4.0)),
    turn("Paris", "Paris", depth=1, policy="gold", timing=took(1.0)),
    turn("Paris", "Paris", depth=1, policy="filter", drift=VALID, timing=took(1.0)),
    skipped_turn("Paris", depth=2, policy="filter"),
]
"""Two conversations, of three and two turns; under ``gold`` and ``filter`` the run got no further."""
LENGTHS = {"c1": 3, "c2": 2}


def test_a_table_by_hand():
    found = table(RECORDS, LENGTHS)

    assert [str(group.group) for group in found.groups] == ["s, gold", "s, pred", "s, filter"]
    first, second, third = found.groups[1].depths
    total = found.groups[1].total

    assert [row.depth for row in found.groups[1].rows] == [1, 2, 3, None]
    assert [row.turns for row in (first, second, third, total)] == [2, 2, 1, 5]
    assert [row.conversations for row in (first, second, third, total)] == [2, 2, 1, 2]
    assert [row.invalid_share for row in (first, second, third, total)] == [0, 1, 1, 3 / 5]
    assert [row.edited_share for row in (first, second, third, total)] == [0, 1 / 2, 1, 2 / 5]
    assert [row.not_found for row in (first, second, third, total)] == [0, 1, 0, 1]
    assert [row.failed for row in (first, second, third, total)] == [0, 0, 1, 1]
    assert total.failures == {"timed-out": 1}
    assert total.unreached == 0
    assert (total.latency_p50_s, first.latency_p50_s, third.latency_p50_s) == (2.5, 1.5, None)
    assert total.latency_p95_s == pytest.approx(3.85)  # between 3 and 4, over 1 2 3 4

    assert [row.scores["f1"].value for row in (first, second, third)] == [1 / 2, 2 / 3, None]
    assert total.scores["f1"].value == pytest.approx((1 + 2 / 3 + 0) / 3)
    assert total.scores["em"].value == pytest.approx(1 / 3)
    assert total.scores["em"].scored == 3
    assert total.scores["em"].unscored == {"no gold answer": 1, "not answered: timed-out": 1}


def test_a_policy_without_drift_has_no_invalid_share():
    gold = table(RECORDS, LENGTHS).groups[0]

    assert (gold.total.drift_checked, gold.total.invalid_share) == (0, None)
    assert gold.depths[1].edited_share is None


def test_what_was_not_judged_is_counted_apart_and_in_no_share():
    drifts = (VALID, INVALID, NOT_JUDGED, NOT_JUDGED)
    records = [turn(conversation=f"c{n}", drift=drift) for n, drift in enumerate(drifts)]
    (only,) = table(records, {f"c{n}": 1 for n in range(4)}).groups
    total = only.total

    assert (total.drift_checked, total.not_judged, total.invalid, total.invalid_share) == (2, 2, 1, 1 / 2)
    assert total.unjudged == {"the question is not English (German)": 2}
    assert total.counts()["not_judged"] == 2


def test_skipped_turns_are_not_asked_but_judged():
    filtered = table(RECORDS, LENGTHS).groups[2].total

    assert (filtered.turns, filtered.skipped, filtered.invalid_share, filtered.failed) == (1, 1, 1 / 2, 0)
    assert filtered.scores["f1"].unscored == {"skipped": 1}


def test_turns_that_were_never_planned_are_unreached():
    gold, _, filtered = table(RECORDS, {**LENGTHS, "c3": 4}).groups

    assert [row.unreached for row in gold.rows] == [2, 3, 2, 1, 8]
    assert [row.unreached for row in filtered.rows] == [2, 2, 2, 1, 7]


def test_intervals_need_two_conversations():
    _, pred, _ = table(RECORDS, LENGTHS).groups
    first, second = pred.depths[:2]

    assert 0 < first.scores["f1"].low < 0.01
    assert 0.99 < first.scores["f1"].high < 1
    assert second.scores["f1"].value == pytest.approx(2 / 3)  # c2's turn there is unscored
    assert (second.scores["f1"].low, second.scores["f1"].high) == (None, None)


def test_without_records_the_table_is_empty():
    found = depth_table([], score_columns([], SCORERS), {"c1": 3})

    assert found.groups == ()
    assert found.to_json()["groups"] == []
    assert found.to_frame().empty


def test_when_everything_failed_there_is_no_score_but_a_row():
    found = table([turn(None, "Rome", depth=d, conversation=c) for d in (1, 2) for c in ("c1", "c2")])
    total = found.groups[0].total

    assert (total.turns, total.failed, total.latency_p50_s) == (4, 4, None)
    assert (total.scores["f1"].value, total.scores["f1"].low, total.scores["f1"].scored) == (None, None, 0)
    json.dumps(found.to_json(), allow_nan=False)


def many_records(conversations=8, turns=3):
    answers = ["Paris", "big Paris", "Rome", "Rome and Paris"]
    return [
        turn(answers[(5 * c + 3 * d + c * d) % 4], "Paris", depth=d, conversation=f"c{c}", policy=policy)
        for policy in ("gold", "pred")
        for c in range(conversations)
        for d in range(1, turns + 1)
    ]


@settings(max_examples=20)
@given(st.permutations(many_records()))
def test_the_order_of_records_does_not_matter(records):
    assert table(records, resamples=50).to_json() == table(many_records(), resamples=50).to_json()


def test_the_seed_decides_the_intervals_alone():
    one, same, other = (table(many_records(), seed=seed) for seed in (1, 1, 2))
    estimates = [t.groups[0].total.scores["f1"] for t in (one, same, other)]

    assert estimates[0] == estimates[1]
    assert estimates[0].value == estimates[2].value
    assert (estimates[0].low, estimates[0].high) != (estimates[2].low, estimates[2].high)
    assert (one.seed, one.resamples, one.confidence) == (1, 1000, 0.95)


def test_policies_share_their_resamples():
    """Equal answers under two policies get equal intervals, so differences are paired."""
    records = [turn(r.answer, "Paris", depth=r.depth, conversation=r.conversation, policy="gold")
               for r in many_records() if r.policy == "pred"]  # fmt: skip
    both = table([*records, *(r for r in many_records() if r.policy == "pred")])

    assert both.groups[0].total.scores == both.groups[1].total.scores


def test_intervals_hold_the_value_and_widen_with_confidence():
    narrow, wide = (table(many_records(), confidence=c).groups[0].total.scores["f1"] for c in (0.5, 0.99))

    assert wide.low < narrow.low <= narrow.value <= narrow.high < wide.high
    assert wide.low >= 0
    assert wide.high <= 1


def test_a_score_that_is_no_mean_is_combined_anew_for_each_resample():
    records = [turn("x" * n, depth=1, conversation=f"c{n}") for n in range(1, 11)]
    found = table(records, scorers={"longest": LongestAnswer()}, resamples=200, method="percentile")
    longest = found.groups[0].total.scores["longest"]

    assert longest.value == 10
    assert longest.high == 10
    assert 6 <= longest.low < 10
    assert found.columns["longest"].signature == "longest:characters"


def test_the_frame_has_a_row_per_system_policy_and_depth():
    frame = table(RECORDS, LENGTHS).to_frame()

    assert len(frame) == 3 * 4
    pred = frame[frame.policy == "pred"]
    assert pred.depth.tolist()[:3] == [1, 2, 3]
    assert pred.depth.isna().tolist() == [False, False, False, True]
    assert str(frame.depth.dtype) == str(frame.turns.dtype) == str(frame.f1_scored.dtype) == "Int64"
    assert str(frame.f1.dtype) == str(frame.invalid_share.dtype) == "float64"
    total = frame[(frame.policy == "pred") & frame.depth.isna()].iloc[0]
    assert total.f1 == pytest.approx(5 / 9)
    assert (total.em_scored, total.failed, total.edited_share) == (3, 1, 2 / 5)


def test_the_json_has_plain_values_only():
    plain = table(RECORDS, LENGTHS).to_json()

    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["columns"]["f1"] == {
        "signature": "f1:squad+cjk+max|declining:default",
        "unit": "share",
        "percent": True,
    }
    row = plain["groups"][1]["rows"][-1]
    assert (row["depth"], row["turns"], row["failures"]) == (None, 5, {"timed-out": 1})
    assert row["scores"]["em"]["unscored"] == {"no gold answer": 1, "not answered: timed-out": 1}


def test_a_turn_that_is_recorded_twice_is_a_mistake():
    with pytest.raises(ValueError, match='turn 1 of conversation "c1" is recorded twice'):
        table([turn(), turn()])


def test_records_must_be_among_the_conversations():
    with pytest.raises(RunError, match="not among the conversations"):
        table([turn()], {"c2": 1})
    with pytest.raises(RunError, match="it has 1 turn;"):
        table([turn(depth=2)], {"c1": 1})


def test_a_column_must_fit_the_records():
    column = ScoreColumn(scorer=em(), observed=[1.0])
    with pytest.raises(ValueError, match='score "em" has 1 values for 2 turns'):
        depth_table([turn(), turn(depth=2)], {"em": column}, {"c1": 2})


def test_kept_scores_are_put_beside_their_records():
    column = stored_column(em(), 3, [(2, None, "skipped"), (1, 1.0, None)])

    assert column.observed == [Unscored(reason="not scored yet"), 1.0, Unscored(reason="skipped")]


def test_policies_come_in_their_usual_order_and_others_after_them():
    names = ["zz", "filter", "augment", "aa", "replace", "rewrite", "pred", "gold"]
    found = table([turn(policy=name, system=system) for system in ("b", "a") for name in names])

    usual = ["gold", "pred", "rewrite", "replace", "augment", "filter", "aa", "zz"]
    assert [(g.group.system, g.group.policy) for g in found.groups] == [
        (system, name) for system in ("a", "b") for name in usual
    ]
