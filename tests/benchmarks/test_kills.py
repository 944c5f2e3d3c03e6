"""Runs that are killed again and again end as if nobody had; the full figures are the benchmark's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "kills.py"


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")
@pytest.mark.parametrize(("keeper", "kills", "seed"), [([], 2, 1), (["--keeps-history"], 2, 2)])
def test_killed_runs_hold_every_turn_once_ask_nothing_durable_again_and_equal_an_undisturbed_one(
    keeper, kills, seed
):
    size = ["--conversations", "25", "--turns", "4", "--asks-at-most", "30"]
    options = ["--kills", str(kills), "--seed", str(seed), *size, *keeper]
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), "--json", *options], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["kills"] == kills
    assert figures["killed_while_asking"] == kills
    assert figures["durable_turns_asked_again"] == 0
    assert figures["turns_missing_or_twice"] == 0
    assert figures["turns_unlike_undisturbed"] == 0
    assert figures["tables_unlike_undisturbed"] == 0
