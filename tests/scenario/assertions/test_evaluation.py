from __future__ import annotations

import pytest
from msgspec.structs import replace

from replay.core.errors import RunError
from replay.core.record import Timing
from replay.scenario.assertions.evaluation import evaluate
from replay.scenario.assertions.section import Assertion
from replay.scorers.operational import latency
from replay.statistics.depth_table import depth_table
from replay.statistics.estimate import Sampling
from replay.statistics.group import Group
from replay.statistics.score_column import ScoreColumn
from tests.data_tables import from_table
from tests.scenario.assertions.samples import GOLD, answers, judge, scored
from tests.scorers.turns import INVALID, NOT_JUDGED, VALID, skipped_turn, turn


def test_a_number_is_held_against_both_bounds():
    run = answers("+-", "++")

    assert judge(run, min=0.75).holds
    assert judge(run, max=0.75).holds
    assert not judge(run, min=0.76).holds
    assert not judge(run, max=0.74).holds
    assert not judge(run, min=0.1, max=0.2).holds


def test_number_bound_interval_and_turns_are_told():
    (found,) = judge(answers("+-", "++", "--"), min=0.6).findings

    assert (found.value, found.bound, found.turns, found.conversations) == (0.5, 0.6, 6, 3)
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low < 0.5 < found.high <= 1
    interval = f"[{found.low:.4g}, {found.high:.4g}]"
    assert found.summary == f"0.5 {interval}, 0.1 below the bound 0.6, on 6 turns of 3 conversations"


def test_of_two_bounds_the_broken_one_is_told():
    (found,) = judge(answers("+-"), min=0.1, max=0.3).findings

    assert found.bound == 0.3


def test_the_number_and_its_interval_are_those_of_the_depth_table():
    run = answers("+-+", "-++", "++-", "---")
    table = depth_table(run.records, run.scores, {f"c{n}": 3 for n in range(4)}, resamples=200, seed=0)
    (found,) = judge(run, depth=2, min=0).findings
    row = table.groups[0].depths[1].scores["em"]

    assert (found.value, found.low, found.high) == (row.value, row.low, row.high)


def test_only_the_depths_asked_for_count():
    run = answers("+--", "+-+")

    assert judge(run, depth=1, min=1).findings[0].turns == 2
    assert judge(run, depth=">=2", max=0.25).findings[0].turns == 4
    assert not judge(run, depth="2-3", min=0.5).holds


def test_every_system_and_policy_has_to_keep_it():
    good, bad = answers("++", policy="gold"), answers("--", policy="pred")
    run = scored([*good.records, *bad.records])
    found = judge(run, min=0.5)

    assert [(f.group.policy, f.holds) for f in found.findings] == [("gold", True), ("pred", False)]
    assert not found.holds
    assert judge(run, min=0.5, policy="gold").holds


@from_table
def test_what_cannot_be_evaluated_fails_and_says_why(asserted, reason):
    (found,) = judge(answers("+!"), **{"min": 0, **asserted}).findings

    assert not found.holds
    assert reason in (found.reason or "")
    assert found.summary.startswith("could not be evaluated: ")


def test_a_policy_that_was_never_reached_fails():
    """An interrupted run has no record of it, and saying nothing would look like a pass."""
    expected = [Group("s", "pred"), Group("s", "rewrite")]
    found = judge(answers("++"), groups=expected, min=0.5)

    assert [f.holds for f in found.findings] == [True, False]
    assert judge(answers("++"), groups=expected, policy="replace", min=0.5).findings[0].reason


def test_errors_are_the_share_of_asks_without_an_answer():
    records = [turn(GOLD, GOLD), turn(None, GOLD, depth=2), skipped_turn(GOLD, depth=3)]
    (found,) = judge(scored(records), metric="errors", max=0.4).findings

    assert (found.value, found.turns, found.holds) == (0.5, 2, False)


def test_invalid_is_the_share_of_questions_compared():
    records = [turn(drift=VALID), turn(depth=2, drift=INVALID), turn(depth=3), skipped_turn(depth=4)]
    (found,) = judge(scored(records), metric="invalid", max=1).findings

    assert (found.value, found.turns) == (pytest.approx(2 / 3), 3)


def test_questions_that_were_not_judged_are_in_no_share():
    records = [turn(drift=VALID), turn(depth=2, drift=INVALID), turn(depth=3, drift=NOT_JUDGED)]
    (some,) = judge(scored(records), metric="invalid", max=1).findings
    (none,) = judge(scored(records[2:]), metric="invalid", max=1).findings

    assert (some.value, some.turns) == (0.5, 2)
    assert (none.holds, "the question is not English (German)" in none.reason) == (False, True)


@pytest.mark.parametrize(
    ("metric", "value"), [("latency_p50_s", 1.0), ("latency_p95_s", 3.0), ("ttft_p50_s", 0.2)]
)
def test_latencies_are_quantiles_over_answered_turns(metric, value):
    times = [(1.0, 0.2), (1.0, 0.2), (3.0, 0.9)]
    records = [
        turn(
            GOLD,
            GOLD,
            depth=n,
            timing=Timing(scheduled_s=0, sent_s=5, done_s=5 + done, first_token_s=5 + first),
        )
        for n, (done, first) in enumerate(times, 1)
    ]
    records.append(turn(None, depth=4, timing=Timing(scheduled_s=0, sent_s=0, done_s=60)))

    assert judge(scored(records), metric=metric, max=9).findings[0].value == pytest.approx(value)


def test_cost_is_a_sum_and_unknown_where_an_answer_has_none():
    paid = [turn(GOLD, GOLD, depth=n, cost_usd=0.25) for n in (1, 2, 3)]
    free = turn(GOLD, GOLD, depth=4)

    assert judge(scored(paid), metric="cost_usd", max=0.75).holds
    assert not judge(scored(paid), metric="cost_usd", max=0.7).holds
    (found,) = judge(scored([*paid, free]), metric="cost_usd", max=9).findings
    assert found.reason == "1 of 4 turns were answered without a cost"


def test_the_interval_of_a_cost_holds_sums():
    paid = [turn(GOLD, GOLD, conversation=f"c{n}", cost_usd=float(n)) for n in range(5)]
    (found,) = judge(scored(paid), metric="cost_usd", max=10).findings

    assert found.value == 10
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low < 10 < found.high <= 20


def test_a_scorers_own_label_comes_before_an_operational_metric():
    run = answers("+-")
    column = ScoreColumn(scorer=latency(), observed=[5.0, 7.0])
    named = type(run)(name="run", records=run.records, scores={"errors": column}, signatures={})

    assert judge(named, metric="errors", max=9).findings[0].value == 6


def test_a_drop_is_measured_on_the_turns_of_both_runs():
    """The other run's third turn is not here, and what it scored doesn't count."""
    before, after = answers("+++", "++-"), answers("+-", "++")
    (found,) = judge(after, baseline=before, compare="old", max_drop=0.2).findings

    assert (found.before, found.after, found.value, found.bound) == (1, 0.75, -0.25, -0.2)
    assert (found.turns, found.conversations, found.holds) == (4, 2, False)
    assert found.remark == "2 turns left out that only one run has so"
    assert "from 1 to 0.75, p = 1" in found.summary
    assert judge(after, baseline=before, compare="old", max_drop=0.25).holds


def test_a_rise_is_allowed_where_a_drop_is_bounded_and_the_other_way_round():
    worse, better = answers("-+", "--"), answers("++", "+-")

    assert judge(better, baseline=worse, compare="old", max_drop=0).holds
    assert not judge(better, baseline=worse, compare="old", max_rise=0.4).holds
    assert judge(worse, baseline=better, compare="old", max_rise=0).holds


def test_with_significant_a_drop_by_chance_is_let_pass():
    """Of six conversations five get worse: p is 2/32, above 0.05; if all six do it is 2/64."""
    before = answers(*"++++++")
    asserted = {"baseline": before, "compare": "old", "max_drop": 0.02}
    for letters, holds, p in (("-----+", True, 2 / 32), ("------", False, 2 / 64)):
        after = answers(*letters)
        found = judge(after, significant=True, **asserted)

        assert found.holds is holds
        assert found.findings[0].p == p
        assert not judge(after, **asserted).holds
        if holds:
            assert "5 conversations that differ can't give a p below 0.062" in found.findings[0].summary


@pytest.mark.parametrize("letters", ["-----", "+++++"])
def test_with_significant_five_conversations_decide_nothing(letters):
    """Were it to hold, no drop could ever break it."""
    (found,) = judge(
        answers(*letters), baseline=answers(*"+++++"), compare="old", max_drop=0.02, significant=True
    ).findings

    assert not found.holds
    assert found.reason.startswith("too few conversations (5) for any change to be significant")


def test_a_significant_drop_within_the_bound_is_let_pass():
    before, after = answers(*["+" * 20] * 12), answers(*["+" * 19 + "-"] * 12)

    assert judge(after, baseline=before, compare="old", max_drop=0.06, significant=True).holds


def test_only_the_depths_asked_for_are_compared():
    before, after = answers("++", "++"), answers("-+", "-+")

    assert judge(after, baseline=before, compare="old", max_drop=0, depth=">=2").holds
    assert not judge(after, baseline=before, compare="old", max_drop=0, depth=1).holds


def test_a_lone_system_is_compared_whatever_it_was_called():
    before, after = answers("++", system="old-bot"), answers("++", system="new-bot")

    assert judge(after, baseline=before, compare="old", max_drop=0).holds


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        (answers("++", policy="gold"), "nothing to compare with s, pred"),
        (answers("++", recorded="Who?"), "no turn at all depths has a em in both runs"),
        (scored([]), "(it has no record)"),
    ],
)
def test_runs_without_common_ground_fail_the_assertion(before, reason):
    (found,) = judge(answers("++"), baseline=before, compare="old", max_drop=0.5).findings

    assert not found.holds
    assert reason in (found.reason or "")


def test_a_run_that_is_not_there_fails_the_assertion():
    def missing(folder):
        raise RunError(f'there is no run in "{folder}"')

    (found,) = evaluate(
        answers("++"),
        [Assertion(metric="em", compare="old", max_drop=0.1)],
        groups=[Group("s", "pred")],
        baseline=missing,
        sampling=Sampling(seed=0),
    )

    assert found.findings[0].reason == 'there is no run in "old"'


def test_a_score_of_other_settings_is_not_compared():
    before, after = answers("++"), answers("++")
    other = ScoreColumn(scorer=latency(quantile=0.5), observed=[1.0, 1.0])
    changed = type(before)(name="old", records=before.records, scores={"em": other}, signatures={})
    (found,) = judge(after, baseline=changed, compare="old", max_drop=0.5).findings

    assert "means two things" in (found.reason or "")


def test_a_number_that_fails_names_the_turns_that_pull_it_down():
    """Of a share those that break the bound themselves; where the number holds, none."""
    run = answers("+-", "--", "++")

    assert judge(run, min=0.6).findings[0].against == (("c0", 2), ("c1", 1), ("c1", 2))
    assert judge(run, max=0.2).findings[0].against == (("c0", 1), ("c2", 1), ("c2", 2))
    assert judge(run, min=0.6, depth=2).findings[0].against == (("c0", 2), ("c1", 2))
    assert judge(run, min=0.5).findings[0].against == ()
    assert "against" not in judge(run, min=0.6).findings[0].to_json()


def test_failed_asks_and_invalid_questions_are_against_their_bounds():
    records = [turn(GOLD, drift=VALID), turn(None, depth=2, drift=INVALID), turn(depth=3, drift=NOT_JUDGED)]
    run = scored(records)

    assert judge(run, metric="errors", max=0).findings[0].against == (("c1", 2),)
    assert judge(run, metric="invalid", max=0.1).findings[0].against == (("c1", 2),)


def test_a_sum_is_made_by_all_of_its_turns():
    run = scored([turn(cost_usd=0.5), turn(depth=2, cost_usd=0.6)])

    assert judge(run, metric="cost_usd", max=1).findings[0].against == (("c1", 1), ("c1", 2))


def test_a_drop_is_made_by_the_turns_that_got_worse():
    before, after = answers("++-", "+++"), answers("+-+", "--+")
    asserted = {"compare": "x", "max_drop": 0.1}

    assert judge(after, baseline=before, **asserted).findings[0].against == (("c0", 2), ("c1", 1), ("c1", 2))
    other = scored([replace(after.records[1], recorded="Something else?"), *after.records[2:]])
    assert judge(other, baseline=before, **asserted).findings[0].against == (("c1", 1), ("c1", 2))


def test_no_turn_is_named_where_the_drop_may_be_chance():
    before, after = answers(*"++++++"), answers(*"-+++++")
    found = judge(after, baseline=before, compare="x", max_drop=0.1, significant=True)

    assert found.holds
    assert found.findings[0].against == ()
