"""A load run's numbers: exact where they can be, and honest about what hides behind them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from replay.core.record import ServerTimes
from replay.load.numbers import read_load_summary
from replay.scorers.bleu import Bleu4
from replay.scorers.word_overlap import f1
from replay.statistics.load.histogram import ERROR, DurationHistogram
from replay.store.rows import StoredScore, StoredTally
from replay.store.store import RunStore
from tests.statistics.load_runs import ask, level, summarised, summary_of, write_run

NAMES = ("p50_s", "p90_s", "p95_s", "p99_s", "p99_9_s", "max_s")
SHARES = (0.5, 0.9, 0.95, 0.99, 0.999, 1.0)


def values(found):
    return [getattr(found, name) for name in NAMES]


def plays(latencies, *, every_s=0.005, **more):
    """One-turn plays of one conversation, one after the other."""
    return [
        ask(n * every_s, latency, conversation=f"c1~{n}", source="c1", **more)
        for n, latency in enumerate(latencies)
    ]


# Durations -----------------------------------------------------------------------------------------------


def test_percentiles_are_those_of_the_durations_themselves(tmp_path):
    latencies = np.random.default_rng(1).lognormal(-2, 1, 1500)
    records = [
        ask(n * 0.006, latency, late_s=0.001, conversation=f"c{n}", ttft_s=latency / 2)
        for n, latency in enumerate(latencies.tolist())
    ]
    total = summarised(tmp_path, records).levels[0].total
    assert values(total.latency) == pytest.approx(np.quantile(latencies, SHARES), rel=1e-9)
    assert values(total.response) == pytest.approx(np.quantile(latencies + 0.001, SHARES), rel=1e-9)
    assert values(total.ttft) == pytest.approx(np.quantile(latencies / 2, SHARES), rel=1e-9)
    assert total.latency.mean_s == pytest.approx(latencies.mean())
    assert (total.latency.count, total.latency.exact) == (1500, True)


def test_a_stall_that_latency_hides_shows_in_response_times(tmp_path):
    """
    One user's beat of 100 ms against a server that stalls for 5 s: a single ask is slow from where it was
    sent, and fifty from where they were due.
    """
    records, free_s = [], 0.0
    for n in range(100):
        due_s = n * 0.1
        sent_s = max(due_s, free_s)
        free_s = sent_s + (5.0 if n == 20 else 0.01)
        records.append(ask(due_s, free_s - sent_s, late_s=sent_s - due_s, conversation=f"c{n}"))
    total = summarised(tmp_path, records).levels[0].total
    assert total.latency.p95_s == pytest.approx(0.01)
    assert total.response.p90_s > 4.0
    assert total.response.p50_s > 0.5


def test_times_between_tokens_are_exact_though_only_counted(tmp_path):
    rng = np.random.default_rng(2)
    gaps = [rng.integers(0, 400, 20).tolist() for _ in range(50)]
    records = [ask(n * 0.1, 1.0, conversation=f"c{n}", ttft_s=0.2, gaps=gap) for n, gap in enumerate(gaps)]
    total = summarised(tmp_path, records).levels[0].total
    flat = np.concatenate(gaps) / 10_000
    assert values(total.inter_token) == pytest.approx(np.quantile(flat, SHARES))
    assert total.inter_token.mean_s == pytest.approx(flat.mean())


def test_time_per_token_leaves_the_first_token_out(tmp_path):
    records = [
        ask(0.0, 1.0, conversation="a", ttft_s=0.2, tokens=5, gaps=(1000, 3000)),
        ask(1.0, 1.0, conversation="b", ttft_s=0.4, tokens=1),
        ask(2.0, 1.0, conversation="c", tokens=9),
        # All of its tokens came at once: nothing says how long one takes.
        ask(3.0, 0.7, conversation="d", ttft_s=0.4, tokens=4),
    ]
    total = summarised(tmp_path, records).levels[0].total
    assert (total.time_per_token.count, total.time_per_token.max_s) == (1, pytest.approx(0.4 / 4))
    assert total.time_per_token_to_done.count == 2
    assert total.time_per_token_to_done.max_s == pytest.approx(0.8 / 4)


def test_an_end_that_comes_late_takes_no_time_of_a_token(tmp_path):
    """Ten tokens 20 ms apart, and the usage with the end mark 200 ms behind them."""
    late = ask(0.0, 0.1 + 9 * 0.02 + 0.2, ttft_s=0.1, tokens=10, gaps=[200] * 9)
    slo = {"tpot_p95_s": 0.03, "tpot_done_p95_s": 0.03}
    for chosen, good in ((slo, 0), ({"tpot_p95_s": 0.03}, 1), ({"tpot_done_p95_s": 0.03}, 0)):
        (tmp_path / str(chosen)).mkdir()
        found = summarised(tmp_path / str(chosen), [late], load={"slo": chosen}).levels[0]
        assert found.goodput.good == good
    assert found.total.time_per_token.p50_s == pytest.approx(0.02)
    assert found.total.time_per_token_to_done.p50_s == pytest.approx(0.02 + 0.2 / 9)


def test_the_servers_own_share_is_of_the_answers_that_tell_it(tmp_path):
    half = ServerTimes(queue_s=0.02, decode_s=0.03)
    records = [
        ask(1.0, 0.1, conversation="a", server=half),
        ask(2.0, 0.3, conversation="b", server=ServerTimes(total_s=0.25, queue_s=0.1)),
        ask(3.0, 0.1, conversation="c", server=ServerTimes(dropped=3)),
        ask(4.0, 0.1, conversation="d"),
        ask(5.0, 0.1, conversation="e", outcome="refused", server=half),
    ]
    (told,) = summarised(tmp_path / "told", records).levels
    (silent,) = summarised(tmp_path / "silent", records[2:]).levels

    assert told.total.server_share == pytest.approx(0.3 / 0.4)
    assert told.groups[0].depths[1].server_share == told.total.server_share
    assert silent.total.server_share is None


def test_failures_are_counted_and_have_no_part_in_durations(tmp_path):
    records = [
        ask(0.0, 0.1, conversation="a"),
        ask(3.0, 9.0, conversation="b", outcome="timed-out", error="later"),
        ask(1.0, 8.0, conversation="c", outcome="timed-out", error="no answer within 8 s"),
        ask(2.0, 0.3, conversation="d", outcome="cut-off", error="ended early", ttft_s=0.1, gaps=(7,)),
    ]
    found = summarised(tmp_path, records).levels[0]
    assert found.total.latency.max_s == pytest.approx(0.1)
    assert found.total.ttft is None
    assert found.total.inter_token is None
    assert found.total.outcomes == {"timed-out": 2, "answered": 1, "cut-off": 1}
    assert found.total.error_share == 0.75
    assert [(e.outcome, e.turns, e.first_s, e.first_message) for e in found.errors] == [
        ("timed-out", 2, 1.0, "no answer within 8 s"),
        ("cut-off", 1, 2.0, "ended early"),
    ]
    assert any("1 turn cut off in the middle" in warning for warning in found.warnings)


# Levels --------------------------------------------------------------------------------------------------


def test_a_turn_counts_where_it_was_due_and_warm_up_does_not_count(tmp_path):
    first = level(0, 0.0, 10.5, measured_from_s=2.0, measured_to_s=10.0)
    second = level(1, 11.0, 20.0, value=2.0, measured_from_s=12.0)
    due = (0.0, 1.999, 2.0, 9.999, 10.0, 11.5, 12.0, 19.0, 30.0)
    records = [ask(at, 3.0, conversation=f"c{n}") for n, at in enumerate(due)]
    summary = summarised(tmp_path, records, first, second)
    assert [(one.total.turns, one.warm_up_turns) for one in summary.levels] == [(2, 3), (2, 1)]
    assert summary.outside == 1
    assert summary.turns == 9


def test_rates_are_of_what_was_due_and_of_what_came_back_within_the_window(tmp_path):
    records = [
        ask(1.0, 0.5, conversation="a", depth=1, tokens=10),
        ask(2.0, 0.5, conversation="a", depth=2, tokens=30, attempts=3),
        ask(9.5, 2.0, conversation="b", depth=1, tokens=50),
        ask(9.6, 0.1, conversation="c", depth=1, outcome="refused"),
    ]
    rates = summarised(tmp_path, records).levels[0].rates
    assert rates.turns_due == 0.4
    assert rates.attempts == 0.6
    assert rates.turns_answered == 0.2
    assert rates.conversations_due == 0.3
    assert rates.conversations_ended == 0.2
    assert rates.tokens == 4.0


@pytest.mark.parametrize(
    ("streamed", "tokens", "where"),
    [((True, True), (9, 8), "usage"), ((True, True), (None, 8), "usage and pieces"),
     ((True, True), (None, None), "pieces"), ((False, False), (None, None), None)],
)  # fmt: skip
def test_it_says_where_numbers_of_tokens_come_from(tmp_path, streamed, tokens, where):
    records = [
        ask(n, 1.0, conversation=f"c{n}", ttft_s=0.5 if is_streamed else None, gaps=(1, 2), tokens=count)
        for n, (is_streamed, count) in enumerate(zip(streamed, tokens, strict=True))
    ]
    found = summarised(tmp_path, records).levels[0]
    assert found.tokens_from == where
    expected = sum(count or 3 for count in tokens) / 10
    assert found.rates.tokens == (None if where is None else pytest.approx(expected))


def test_a_level_without_turns_is_there_and_says_so(tmp_path):
    summary = summarised(tmp_path, [ask(0.5)], level(), level(1, 10.0, 20.0, value=2.0))
    empty = summary.levels[1]
    assert (empty.total.turns, empty.total.latency, empty.rates.turns_due) == (0, None, 0.0)
    assert ["no turn was due" in warning for warning in empty.warnings] == [True]


def test_a_run_that_ended_in_its_first_level_is_summed_up_as_far_as_it_went(tmp_path):
    interrupted = level(
        0, 0.0, 3.0, measured_from_s=1.0, interrupted=True, conversations=None, cut=None, generators=[]
    )
    found = summarised(tmp_path, [ask(0.5), ask(1.5, conversation="c2")], interrupted).levels[0]
    assert found.total.turns == 1
    assert "interrupted" in found.warnings[0]


def test_an_interruption_in_the_warm_up_leaves_a_window_without_length(tmp_path):
    early = level(0, 0.0, 1.0, measured_from_s=5.0, measured_to_s=1.0, interrupted=True)
    found = summarised(tmp_path, [ask(0.5)], early).levels[0]
    assert (found.total.turns, found.warm_up_turns, found.rates.turns_due) == (0, 1, None)


def test_without_any_level_there_is_nothing_but_turns_outside(tmp_path):
    folder = write_run(tmp_path / "run", [ask(0.5)], [])
    summary = summary_of(folder)
    assert (summary.levels, summary.outside, summary.knee) == ((), 1, None)


def test_a_run_that_was_not_played_under_load_has_no_summary(tmp_path):
    store = RunStore.create(tmp_path / "run", {"seed": 0})
    assert read_load_summary(store) is None
    store.close()


def test_depths_and_policies_are_told_apart(tmp_path):
    records = [
        ask(depth, depth / 10, conversation=f"c{n}", depth=depth, policy=policy)
        for policy in ("pred", "gold")
        for n in range(3)
        for depth in (1, 2)
    ]
    groups = summarised(tmp_path, records).levels[0].groups
    assert [(one.group.policy, one.total.turns) for one in groups] == [("gold", 6), ("pred", 6)]
    assert {depth: cell.latency.p50_s for depth, cell in groups[1].depths.items()} == pytest.approx(
        {1: 0.1, 2: 0.2}
    )


def test_goodput_counts_the_asks_that_meet_every_goal_as_the_goals_say(tmp_path):
    slo = {"ttft_p95_s": 0.3, "latency_p99_s": 1.0, "tpot_p50_s": 0.1, "errors": 0.5}
    records = [
        ask(1, 0.9, conversation="good", ttft_s=0.2, tokens=20),
        ask(2, 0.2, conversation="one token", ttft_s=0.2, tokens=1),
        ask(3, 1.1, conversation="slow", ttft_s=0.2, tokens=20),
        ask(4, 0.9, conversation="late token", ttft_s=0.31, tokens=20),
        ask(5, 0.9, conversation="no stream"),
        ask(6, 0.9, conversation="slow tokens", ttft_s=0.2, tokens=4, gaps=(6000,)),
        ask(7, 0.5, conversation="failed", ttft_s=0.1, tokens=20, outcome="cut-off"),
    ]
    found = summarised(tmp_path, records, load={"slo": slo}).levels[0].goodput
    assert found.limits_s == {"ttft": 0.3, "latency": 1.0, "tpot": 0.1}
    assert (found.good, found.asks, found.share, found.per_s) == (2, 7, 2 / 7, 0.2)


def test_waiting_for_the_system_is_not_taken_for_a_late_generator(tmp_path):
    """Who keeps a beat asks late when the answer before is late; a retried turn was sent in time at first."""
    beat = [
        ask(n, 2.0, late_s=n * 1.0, conversation=f"c{play}", depth=n + 1)
        for play in range(300)
        for n in range(4)
    ]
    found = summarised(tmp_path, [*beat, ask(1.0, 1.0, late_s=5.0, conversation="r", attempts=2)]).levels[0]
    assert found.lateness.max_s == pytest.approx(0.0)
    assert found.lateness.count == 1200
    assert found.total.response.max_s == pytest.approx(6.0)
    assert not any("was late" in warning for warning in found.warnings)


def test_arrivals_that_waited_for_room_are_not_taken_for_a_late_generator(tmp_path):
    records = [ask(1.0, 0.1, late_s=4.0), ask(6.0, 0.1, late_s=0.002, depth=2)]
    found = summarised(tmp_path, records, level(delayed=1)).levels[0]
    assert found.lateness.max_s == pytest.approx(0.002)


# Turns that were not kept --------------------------------------------------------------------------------


def tally_of(records, depth):
    histograms = {name: DurationHistogram() for name in ("latency", "response", "ttft")}
    for record in records:
        for name, histogram in histograms.items():
            histogram.record(getattr(record.timing, f"{name}_s"))
    data = {name: one.encode() for name, one in histograms.items()}
    return StoredTally(
        0, "s", "pred", depth, {"turns": len(records), "outcomes": {"answered": len(records)}, **data}
    )


def mixed(count):
    rng = np.random.default_rng(3)
    return [
        ask(n * 9.0 / count, latency, conversation=f"c{n}", depth=1 + n % 2, ttft_s=latency / 3, late_s=0.001)
        for n, latency in enumerate(rng.lognormal(-3, 1, count).tolist())
    ]


@pytest.mark.parametrize("kept", [0, 1, 700])
def test_tallied_turns_give_the_same_numbers_within_the_stated_error(tmp_path, kept):
    records = mixed(2000)
    exact = summarised(tmp_path / "exact", records).levels[0]
    tallies = [tally_of([r for r in records[kept:] if r.depth == depth], depth) for depth in (1, 2)]
    found = summarised(tmp_path / "tallied", records[:kept], tallies=tallies).levels[0]
    assert (found.total.turns, found.total.tallied) == (2000, 2000 - kept)
    assert found.total.outcomes == exact.total.outcomes
    pairs = [(found.total, exact.total)]
    pairs += [(found.groups[0].depths[depth], exact.groups[0].depths[depth]) for depth in (1, 2)]
    for ours, theirs in pairs:
        for name in ("latency", "response", "ttft"):
            assert values(getattr(ours, name)) == pytest.approx(values(getattr(theirs, name)), rel=ERROR)
            assert not getattr(ours, name).exact
            assert getattr(ours, name).count == getattr(theirs, name).count
    assert found.rates.turns_due == exact.rates.turns_due
    assert found.rates.conversations_ended is None
    assert any(f"{2000 - kept:,} turns of 2,000 kept only as counts" in w for w in found.warnings)


def test_skipped_turns_are_no_asks(tmp_path):
    nothing = dict.fromkeys(("latency", "response", "ttft"))
    data = {"turns": 5, "outcomes": {"answered": 2, "skipped": 3}, **nothing}
    found = summarised(tmp_path, [ask(0.5)], tallies=[StoredTally(0, "s", "pred", 1, data)])
    assert found.levels[0].total.turns == 3


# Scores --------------------------------------------------------------------------------------------------


def scored_run(tmp_path, observations, *, levels=2):
    """*observations*: (level, conversation of the data, play, depth, value or reason)."""
    records, scores = [], []
    for at, source, play, depth, value in observations:
        id = source if play == 0 else f"{source}~{play}"
        records.append(ask(10 * at + depth, conversation=id, depth=depth, source=source if play else None))
        reason = value if isinstance(value, str) else None
        scores.append(StoredScore(id, "s", "pred", depth, None if reason else value, reason))
    played = [level(n, 10.0 * n, 10.0 * n + 10, value=n + 1.0) for n in range(levels)]
    return write_run(tmp_path / "run", records, played, scores={"f1": scores})


def test_quality_is_shown_by_depth_with_its_drop_against_the_lowest_level(tmp_path):
    folder = scored_run(
        tmp_path,
        [(0, "a", 0, 1, 1.0), (0, "a", 0, 2, 0.8), (0, "b", 0, 1, 0.6), (0, "b", 0, 2, "no gold answer"),
         (1, "a", 1, 1, 0.5), (1, "a", 1, 2, 0.1), (1, "b", 1, 1, 0.6), (1, "b", 1, 2, 0.2)],
    )  # fmt: skip
    first, second = summary_of(folder, {"f1": f1()}).levels
    whole = first.groups[0].total
    assert whole.scores["f1"].value == pytest.approx(0.8)
    assert whole.scores["f1"].unscored == {"no gold answer": 1}
    assert whole.scores["f1"].conversations == 2
    assert whole.score_drops == {}
    assert second.groups[0].total.score_drops["f1"].value == pytest.approx(0.8 - 0.35)
    assert second.groups[0].depths[1].score_drops["f1"].value == pytest.approx(0.25)
    assert second.groups[0].depths[2].scores["f1"].value == pytest.approx(0.15)


def test_a_drop_is_paired_so_that_equal_levels_have_none_whatever_is_resampled(tmp_path):
    values = [0.0, 0.3, 0.9, 1.0]
    folder = scored_run(
        tmp_path, [(at, f"c{n}", at, 1, value) for at in (0, 1) for n, value in enumerate(values)]
    )
    drop = summary_of(folder, {"f1": f1()}).levels[1].groups[0].total.score_drops["f1"]
    assert (drop.value, drop.no_interval) == (0.0, "every conversation gives the same value")


def test_turns_that_no_scorer_looked_at_are_unscored(tmp_path):
    folder = write_run(tmp_path / "run", [ask(0.5), ask(1.5, depth=2)], [level()])
    found = summary_of(folder, {"f1": f1(), "bleu4": Bleu4()}).levels[0].groups[0].total.scores
    for name in ("f1", "bleu4"):
        assert (found[name].value, found[name].unscored) == (None, {"not scored yet": 2})


def test_a_score_that_is_no_mean_is_combined_from_its_statistics(tmp_path):
    scorer = Bleu4()
    records = [
        ask(n / 15, answer=f"the harbour of glass {n % 7}", gold=("the harbour of glass 3",),
            conversation=f"c{n}", source=f"c{n % 12}")
        for n in range(300)
    ]  # fmt: skip
    observed = list(scorer.observe(records))
    scores = [
        StoredScore(one.conversation, "s", "pred", 1, value, None)
        for one, value in zip(records, observed, strict=True)
    ]
    levels = [level(0, 0.0, 10.0), level(1, 10.0, 20.0, value=2.0)]
    folder = write_run(tmp_path / "run", records, levels, scores={"bleu4": scores})
    first, second = (
        one.groups[0].total for one in summary_of(folder, {"bleu4": scorer}, resamples=50).levels
    )
    assert first.scores["bleu4"].value == scorer.combine(observed[:150])
    drop = second.score_drops["bleu4"]
    assert drop.value == pytest.approx(first.scores["bleu4"].value - second.scores["bleu4"].value)
    assert drop.low <= drop.value <= drop.high


def test_a_summary_is_plain_json(tmp_path):
    folder = scored_run(tmp_path, [(0, "a", 0, 1, 1.0), (1, "a", 1, 1, 0.5)])
    plain = json.loads(json.dumps(summary_of(folder, {"f1": f1()}).to_json(), allow_nan=False))
    cell = plain["levels"][1]["groups"][0]["depths"]["1"]
    assert cell["scores"]["f1"]["value"] == 0.5
    assert cell["latency"]["p99_9_s"] == pytest.approx(0.1)
    assert plain["levels"][0]["played"]["name"] == "concurrency 1"
