"""Numbers that would take a machine's memory, or years, are refused with the limit and the reason."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
import yaml

from replay.core.errors import ScenarioError
from replay.scenario.reading import parse_scenario
from tests.reliability.programs import write_scenario
from tests.waiting import PATIENCE_S

LOAD = {"profile": "closed", "conversations": 1}
TOO_MUCH = {
    "play.concurrency": {"play": {"concurrency": 20_000_000}},
    "play.attempts": {"play": {"attempts": 10**9}},
    "play.repeats": {"play": {"repeats": 101}},
    "play.timeout_s": {"play": {"timeout_s": float("inf")}},
    "play.backoff_s": {"play": {"backoff_s": 1e300}},
    "play.retry_budget_s": {"play": {"retry_budget_s": float("nan")}},
    "play.raw_limit_bytes": {"play": {"raw_limit_bytes": 2**40}},
    "seed": {"seed": -1},
    "drift.nlp_workers": {"drift": {"nlp_workers": 20_000_000}},
    "systems[0].limit.asks": {"limit": {"asks": 10**15, "per_s": 1}},
    "systems[0].limit.per_s": {"limit": {"asks": 1, "per_s": float("inf")}},
    "load.concurrency": {"load": {**LOAD, "concurrency": 20_000_000}},
    "load.max_open": {"load": {**LOAD, "max_open": 20_000_000}},
    "load.workers": {"load": {**LOAD, "workers": 20_000_000}},
    "load.rate": {"load": {**LOAD, "profile": "poisson", "rate": 1e12}},
    "load.duration_s": {"load": {**LOAD, "duration_s": 1e12}},
    "load.ramp_s": {"load": {**LOAD, "ramp_s": 1e12}},
    "load.turns": {"load": {**LOAD, "turns": 10**18}},
    "load.conversations": {"load": {"conversations": 10**18}},
    "load": {"load": {"sweep": {"levels": [200_000]}, "duration_s": 1}},
    "load.sweep.high": {
        "load": {"sweep": {"low": 1, "high": 1e9}, "duration_s": 1, "slo": {"error_rate": 1}}
    },
}


@pytest.mark.parametrize("place", TOO_MUCH)
def test_what_no_machine_can_do_is_refused_with_the_limit(tmp_path, place):
    changes = dict(TOO_MUCH[place])
    system = {"name": "s", "adapter": "scripted"}
    if "limit" in changes:
        system["limit"] = changes.pop("limit")
    path = write_scenario(tmp_path, **{"systems": [system], **changes})
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(path.read_text(), source="s", folder=tmp_path)
    found = {fault.path: fault.message for fault in caught.value.faults}
    assert place in found
    assert re.search(
        r"is more than [\d,]+, the most that is allowed: |at most: |greater than or", found[place]
    )


@pytest.mark.skipif(os.name != "posix", reason="limits the memory of a process")
@pytest.mark.long
def test_the_largest_concurrency_does_not_eat_the_machine(tmp_path):
    import resource

    path = write_scenario(tmp_path, talks=1, turns=1)
    content = {**yaml.safe_load(path.read_text()), "play": {"concurrency": 65_536}}
    path.write_text(yaml.safe_dump(content))

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (120, 120))

    command = [sys.executable, "-m", "replay", "run", "scenario.yaml"]
    done = subprocess.run(
        command, cwd=tmp_path, preexec_fn=limit, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
