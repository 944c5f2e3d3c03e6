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
from tests.data_tables import from_table
from tests.reliability.programs import write_scenario
from tests.waiting import PATIENCE_S


@from_table
def test_what_no_machine_can_do_is_refused_with_the_limit(tmp_path, place, changes):
    changes = dict(changes)
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
