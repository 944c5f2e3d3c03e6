"""What a played run says of its gap, from its database."""

from __future__ import annotations

import pytest

from replay.runs.launch import run
from replay.scenario.reading import read_scenario, with_changes
from replay.scenario.shipped import find_scenario


def test_the_shipped_scenario_has_all_four_cells(tmp_path):
    file = with_changes(read_scenario(find_scenario("attribution")), {"data": {"limit": 3}})
    played = run(file, runs=tmp_path)
    found = played.attribution(resamples=100)
    records = {(r.policy, r.conversation, r.depth): r for r in played.records()}
    scores = played.turns().set_index(["policy", "conversation", "depth"])["f1"]

    everything, drifted = found.rows
    assert (everything.mended, everything.controls) == (
        "replace(always=True)",
        ("gold(question=standalone)",),
    )
    turns = sum(len(one.turns) for one in played.conversations())
    assert (everything.turns, everything.conversations, everything.left_out) == (turns, 3, 0)
    assert everything.edited == sum(
        r.asked != r.recorded for (policy, *_), r in records.items() if policy == "replace(always=True)"
    )
    means = {cell: scores[policy].mean() for cell, policy in (
        ("GR", "gold"), ("OR", "pred"), ("OM", "replace(always=True)"), ("GM", "gold(question=standalone)")
    )}  # fmt: skip
    assert everything.means == pytest.approx(means)
    assert (
        0
        < drifted.turns
        == sum(r.drift.invalid for (policy, *_), r in records.items() if policy == "pred" and r.drift)
    )
    for row in found.rows:
        bounds = row.parts["drift_at_least"].value + row.parts["wrong_answers_at_most"].value
        assert bounds == pytest.approx(row.parts["gap"].value)
