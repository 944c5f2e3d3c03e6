"""What the gap between gold and reality is made of, on numbers that can be done by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from replay.scorers.operational import Operational
from replay.scorers.word_overlap import f1
from replay.statistics.attribution import Cells, GapAttribution, correct_attribution
from replay.statistics.group import Group
from replay.statistics.score_column import ScoreColumn

KINDS = {
    "gold": "gold",
    "pred": "pred",
    "rewrite": "rewrite",
    "augment": "augment",
    "clear": "gold+standalone",
    "replace": "replace+always",
    "replaced-drifted": "replace",
}
ALL = object()


def cells(reworded=(), drifted=(), scorer=None, **observed):
    """Two turns a conversation; *observed* by policy, *reworded* the positions asked in other words."""
    turns = [(f"c{n // 2:02}", n % 2 + 1) for n in range(len(observed["gold"]))]
    words = {turns[n]: f"Reworded {n}?" for n in (range(len(turns)) if reworded is ALL else reworded)}
    return Cells(
        score="f1",
        column=ScoreColumn(scorer=scorer or f1(), observed=()),
        observed={Group("s", policy): dict(zip(turns, of, strict=True)) for policy, of in observed.items()},
        asked={Group("s", policy): words for policy in observed if policy not in ("gold", "pred") and words},
        policies=KINDS,
        drifted={"s": {turns[n] for n in drifted}},
        seed=1,
        resamples=200,
    )


def only(attributions):
    (found,) = attributions
    return found


def judged(rows, by_verdict=()):
    return correct_attribution(GapAttribution(policies=KINDS, rows=tuple(rows), by_verdict=tuple(by_verdict)))


def values(row):
    return {name: part.value for name, part in row.parts.items()}


def test_the_four_cells_of_the_worked_example():
    """The one of docs/reports.md."""
    one = only(
        cells(
            gold=[1, 1, 1, 0],
            pred=[0, 0, 0, 0],
            clear=[1, 1, 1, 1],
            replace=[1, 1, 0, 0],
            reworded=ALL,
        ).attributions()
    )
    assert one.means == {"GR": 0.75, "OR": 0.0, "GM": 1.0, "OM": 0.5}
    assert values(one) == {"gap": 0.75, "drift_at_least": 0.25, "wrong_answers_at_most": 0.5, "wording": 0.25}
    assert (one.mended, one.controls, one.turns, one.conversations, one.edited) == (
        "replace", ("clear",), 4, 2, 4,
    )  # fmt: skip


def test_what_better_words_give_under_gold_too_is_no_drift():
    rng = np.random.default_rng(3)
    recorded, gain = rng.integers(0, 2, 400) * 0.5, rng.integers(0, 2, 400) * 0.5
    own = cells(
        gold=recorded, pred=recorded * 0.5, clear=recorded + gain, replace=recorded * 0.5 + gain, reworded=ALL
    )
    (one,) = judged(own.attributions()).rows
    assert one.parts["drift_at_least"].value == pytest.approx(0)
    assert not one.parts["drift_at_least"].is_certain
    assert one.parts["wrong_answers_at_most"].value == pytest.approx(one.parts["gap"].value)
    assert one.parts["wording"].value > 0.2


def test_what_better_words_give_under_the_own_history_alone_is_drift():
    ones, zeros = [1.0] * 40, [0.0] * 40
    own = cells(gold=ones, pred=zeros, clear=ones, replace=ones, reworded=ALL)
    (one,) = judged(own.attributions()).rows
    assert values(one) == {"gap": 1, "drift_at_least": 1, "wrong_answers_at_most": 0, "wording": 0}
    assert one.parts["drift_at_least"].is_certain


def test_augment_is_no_control_alone_or_beside_rewrite():
    """Its words cost something under gold, which hides what wrong answers cost."""
    assert cells(gold=[1, 1], pred=[0, 0], augment=[1, 1], reworded=ALL).attributions() == []
    one = only(cells(gold=[1, 1], pred=[0, 0], rewrite=[0, 1], augment=[0, 1], reworded=ALL).attributions())
    assert (one.mended, one.controls, values(one)) == ("rewrite", (), {"gap": 1, "mending": 0.5})


def test_drift_that_a_rewriter_misses_is_not_called_wrong_answers():
    """A wrong answer costs this system nothing but the referent, and people's words have all of them."""
    ones = [1.0] * 4
    best, rewrite = cells(
        gold=ones,
        pred=[1, 0, 1, 0],
        rewrite=[1, 1, 1, 0],
        augment=[1, 1, 1, 1],
        clear=ones,
        replace=ones,
        reworded=ALL,
    ).attributions()
    bounds = {"gap": 0.5, "drift_at_least": 0.5, "wrong_answers_at_most": 0, "wording": 0}
    assert (best.mended, best.controls, values(best)) == ("replace", ("clear",), bounds)
    assert (rewrite.mended, rewrite.controls) == ("rewrite", ("replace", "clear"))
    assert values(rewrite) == {**bounds, "mending": 0.25, "missed": 0.25}
    assert rewrite.means == {"GR": 1, "OR": 0.5, "GM": 1, "OM": 0.75, "OP": 1}


def test_replace_of_drifted_questions_leaves_the_bounds_to_replace_always():
    """What its detector misses stays as recorded."""
    partly = {"gold": [1, 1], "pred": [0, 0], "replaced-drifted": [0, 1], "clear": [1, 1]}
    own = cells(**partly, reworded=ALL)
    own.asked[Group("s", "replaced-drifted")] = {("c00", 2): "Reworded 1?"}
    alone = only(own.attributions())
    assert alone.controls == ("clear",)
    assert values(alone) == {"gap": 1, "drift_at_least": 0.5, "wrong_answers_at_most": 0.5, "wording": 0}
    _, beside = cells(**partly, replace=[1, 1], reworded=ALL).attributions()
    assert beside.controls == ("replace", "clear")
    assert values(beside) == {
        "gap": 1,
        "drift_at_least": 1,
        "wrong_answers_at_most": 0,
        "wording": 0,
        "mending": 0.5,
        "missed": 0.5,
    }


def test_a_control_alone_says_what_wording_does():
    one = only(cells(gold=[1, 0], pred=[0, 0], clear=[1, 1], reworded=[1]).attributions())
    assert (one.mended, one.controls) == (None, ("clear",))
    assert values(one) == {"gap": 0.5, "wording": 0.5}


def test_without_a_control_only_drift_and_wording_together_can_be_had():
    one = only(cells(gold=[1, 1], pred=[0, 0], replace=[1, 0], reworded=ALL).attributions())
    assert values(one) == {"gap": 1, "mending": 0.5}
    assert "GM" not in one.means


def test_turns_that_were_asked_as_recorded_have_the_gold_policy_for_a_control():
    """``replace`` mends what drifted, its control everything: only the same words are compared."""
    name = "replaced-drifted"
    own = cells(gold=[1, 1, 1, 1], pred=[0, 0, 0, 0], clear=[0, 0.5, 0, 0.5], **{name: [0, 1, 0, 1]})
    words = {("c00", 2): "In words?", ("c01", 2): "In words?"}
    own.asked[Group("s", name)] = words
    own.asked[Group("s", "clear")] = {**words, ("c00", 1): "Other?", ("c01", 1): "Other?"}
    one = only(own.attributions())
    assert one.means["GM"] == pytest.approx((1 + 0.5 + 1 + 0.5) / 4)
    assert (one.edited, one.left_out, one.turns) == (2, 0, 4)


def test_a_turn_whose_words_nobody_asked_under_gold_is_left_out_and_counted():
    own = cells(gold=[1, 1, 1, 1], pred=[0, 0, 0, 0], replace=[0, 1, 0, 1], clear=[1, 1, 1, 1])
    own.asked[Group("s", "replace")] = {("c00", 2): "In words?", ("c01", 2): "Other words?"}
    own.asked[Group("s", "clear")] = {("c00", 2): "In words?", ("c01", 2): "In words?"}
    one = only(own.attributions())
    assert (one.turns, one.left_out, one.edited) == (3, 1, 1)


def test_only_turns_that_all_cells_have_a_score_for_count():
    own = cells(gold=[1, 1, 0, 0], pred=[0] * 4, clear=[1] * 4, replace=[1] * 4, reworded=ALL)
    del own.observed[Group("s", "replace")]["c00", 1]
    del own.observed[Group("s", "clear")]["c00", 2]
    one = only(own.attributions())
    assert (one.turns, one.left_out, one.parts["gap"].value) == (2, 1, 0)


def test_a_second_look_is_at_the_turns_that_drifted():
    everything, drifted = cells(
        gold=[1, 1, 1, 1],
        pred=[0, 1, 0, 1],
        clear=[1] * 4,
        replace=[1, 1, 0, 1],
        reworded=ALL,
        drifted=[0, 2],
    ).attributions()
    assert (everything.drifted_only, everything.turns, everything.parts["drift_at_least"].value) == (
        False,
        4,
        0.25,
    )
    assert (drifted.drifted_only, drifted.turns, drifted.parts["drift_at_least"].value) == (True, 2, 0.5)


def test_a_loss_is_positive_where_less_is_better():
    slower = cells(
        gold=[1.0, 1.0],
        pred=[3.0, 3.0],
        clear=[1.0, 1.0],
        replace=[2.0, 2.0],
        reworded=ALL,
        scorer=Operational(measure="latency"),
    )
    one = only(slower.attributions())
    assert values(one) == {"gap": 2, "drift_at_least": 1, "wrong_answers_at_most": 1, "wording": 0}
    assert one.means["OR"] == 3


shares = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=6, max_size=6)


@given(shares, shares, shares, shares, st.sets(st.integers(0, 5)), st.sets(st.integers(0, 5)))
def test_the_parts_add_up_to_the_gap(gold, pred, clear, replace, drifted, reworded):
    own = cells(gold=gold, pred=pred, clear=clear, replace=replace, drifted=drifted, reworded=reworded)
    for one in own.attributions():
        if "drift_at_least" in one.parts:
            gap = one.parts["drift_at_least"].value + one.parts["wrong_answers_at_most"].value
            assert gap == pytest.approx(one.parts["gap"].value)
    split = only(own.by_verdict())
    assert split.parts["on_drifted"].value + split.parts["on_valid"].value == pytest.approx(
        split.parts["gap"].value
    )
    assert split.parts["gap"].value == pytest.approx(np.mean(gold) - np.mean(pred))
    assert split.drifted_turns == len(drifted)


def test_scores_that_are_no_means_add_up_too():
    median = Operational(measure="latency", quantile=0.5)
    own = cells(
        gold=[1, 2, 3, 9],
        pred=[2, 5, 4, 9],
        clear=[1, 1, 3, 8],
        replace=[2, 4, 4, 7],
        reworded=ALL,
        scorer=median,
    )
    one = only(own.attributions())
    found = values(one)
    assert found["drift_at_least"] + found["wrong_answers_at_most"] == pytest.approx(found["gap"])
    assert own.by_verdict() == []


def test_plays_of_one_conversation_are_drawn_together():
    from dataclasses import replace

    own = cells(gold=[1] * 4, pred=[0] * 4, clear=[1] * 4, replace=[1] * 4, reworded=ALL)
    one = only(replace(own, sources={"c01": "c00"}).attributions())
    assert (one.conversations, one.parts["gap"].low, one.parts["gap"].p) == (1, None, None)


def test_the_more_is_said_the_stricter():
    gold, pred = [1.0] * 12, [0.0] * 12
    own = cells(gold=gold, pred=pred, clear=gold, replace=pred, reworded=ALL)
    (alone,) = judged(own.attributions()).rows
    assert alone.parts["gap"].p == alone.parts["wrong_answers_at_most"].p == 2 / 2**6
    assert alone.parts["gap"].adjusted_p == 3 * 2 / 2**6, "gap, drift and history"
    assert not alone.parts["gap"].is_certain
    again = judged(own.attributions() * 3, own.by_verdict())
    assert len(again.p_values) == 4, "what was lost on drifted questions is one more, the same gap is none"
    same = [row.parts["gap"].adjusted_p for row in (*again.rows, *again.by_verdict)]
    assert same == [4 * 2 / 2**6] * 4
    assert alone.parts["wording"].p is None, "shown, and no claim"


def test_chance_alone_is_seldom_called_drift(long):
    """Four cells of noise with the same means: at 5 % a page, some 5 % of pages may err."""
    rng = np.random.default_rng(11)
    wrong, pages = 0, 60 if long else 24
    for _ in range(pages):
        own = cells(
            **{
                policy: rng.integers(0, 2, 60).astype(float)
                for policy in ("gold", "pred", "clear", "replace")
            },
            reworded=ALL,
        )
        (one,) = judged(own.attributions()).rows
        wrong += any(part.is_certain for part in one.parts.values())
    assert wrong <= 0.14 * pages


def test_without_gold_or_pred_there_is_nothing():
    own = cells(gold=[1, 1], pred=[0, 0], replace=[1, 0], clear=[1, 1], reworded=ALL)
    del own.observed[Group("s", "pred")]
    assert own.attributions() == []
    assert own.by_verdict() == []
