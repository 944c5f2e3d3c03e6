"""Assertions about runs under load."""

from __future__ import annotations

from msgspec.structs import replace

import replay
from replay.results.comparing import check_assertions
from replay.store.store import RunStore
from tests.scenario.keys import scenario, talk


def play(folder, answers="gold", asserted=None, **load):
    talks = [talk(f"c{n}", expect={"contains": "said"}) for n in range(4)]
    system = {"settings": {"answers": answers, "delay_s": 0.01}}
    asserted = asserted or [
        {"metric": "em", "min": 1},
        {"metric": "latency_p50_s", "min": 0.01},
        {"metric": "check", "min": 1},
    ]
    file = scenario(folder, talks=talks, system=system, load=load, **{"assert": asserted})
    return replay.run(file, runs=folder / "runs")


def test_only_turns_due_in_the_measured_window_count(tmp_path):
    run = play(tmp_path, concurrency=2, warmup_s=0.3, duration_s=0.4)
    (level,) = run.load_summary(resamples=0).levels
    em, latency, checks = check_assertions(run)

    assert level.warm_up_turns > 0
    assert em.holds
    assert em.findings[0].turns == level.total.turns
    assert latency.holds
    assert checks.holds

    measured_from_s = level.played.measured_from_s
    warm_up, *_, measured = sorted(run.records(), key=lambda record: record.timing.scheduled_s)
    assert warm_up.timing.scheduled_s < measured_from_s
    # The second turn is one that the play was never taken to.
    for record, depth, unchecked in ((warm_up, 1, 0), (warm_up, 2, 0), (measured, 1, 1), (measured, 2, 2)):
        unlook(run, record, depth)
        assert check_assertions(run)[2].findings[0].unchecked == unchecked


def unlook(run, record, depth):
    """As if the check of the turn at *depth* of the same play could not be looked at."""
    check = next(one for one in run.checks() if one.conversation == record.conversation)
    store = RunStore(run.folder, write=True)
    store.add_checks([replace(check, depth=depth, passed=None, reason="not judged")])
    store.settle()
    store.close()


def test_turns_that_were_only_tallied_cannot_be_evaluated(tmp_path):
    run = play(tmp_path, concurrency=2, turns=30, keep_turns=10)
    found = check_assertions(run)

    assert not any(one.holds for one in found)
    assert "raise load.keep_turns" in found[0].findings[0].summary


def test_a_load_run_can_be_held_against_another(tmp_path):
    first = play(tmp_path, concurrency=2, turns=30)
    asserted = [{"metric": "em", "compare": str(first.folder), "max_drop": 0.5}]
    again = play(tmp_path, ["No idea."], asserted, concurrency=2, turns=30)
    (found,) = check_assertions(again)

    assert not found.holds
    assert found.findings[0].value == -1
