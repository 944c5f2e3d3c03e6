"""`replay validate` says what code a scenario runs on this machine, before anything is run."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import yaml

from replay.core.settings.plugins import available
from replay.scenario.local_code import plugins_of_ones_own

PLUGINS = {
    "readers": "native",
    "adapters": "scripted",
    "policies": "pred",
    "scorers": "em",
    "judges": "correctness",
    "resolvers": "embedded",
}


def test_adapters_readers_policies_scorers_resolvers_and_judges_of_ones_own_are_listed(tmp_path):
    homes = {kind: available(kind)[name].value for kind, name in PLUGINS.items()}
    lines = [f"from {home.partition(':')[0]} import {home.partition(':')[2]}" for home in homes.values()]
    (tmp_path / "mine.py").write_text("\n".join([*lines, "def answer(question): return 'Yes.'"]) + "\n")
    own = {kind: f"mine.py:{home.partition(':')[2]}" for kind, home in homes.items()}
    (tmp_path / "talks.jsonl").write_text(json.dumps({"id": "a", "turns": [{"question": "Who?"}]}) + "\n")
    facts = {
        "name": "try",
        "data": {"path": "talks.jsonl", "format": own["readers"]},
        "systems": [
            {"name": "function", "adapter": "python", "settings": {"target": "mine.py:answer"}},
            {"name": "program", "adapter": "command", "settings": {"command": ["python", "-c", "print()"]}},
            {"name": "own", "adapter": own["adapters"], "settings": {"answers": "gold"}},
        ],
        "policies": [own["policies"]],
        "scorers": [own["scorers"]],
        "judges": [{own["judges"]: {"name": "j", "adapter": "scripted", "settings": {"answers": "gold"}}}],
        "drift": {"resolver": own["resolvers"], "nlp_workers": 0},
    }
    (tmp_path / "scenario.yaml").write_text(yaml.safe_dump(facts))
    done = subprocess.run(
        [sys.executable, "-m", "replay", "validate", "scenario.yaml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    for code in ("mine.py:answer", "python -c 'print()'", *own.values()):
        assert f"runs local code: {code}\n" in done.stdout, code


@pytest.mark.parametrize(
    "scenario",
    [
        {"name": "a: b", "systems": [{"name": "http://localhost:8000/v1", "adapter": "openai"}]},
        {"systems": [{"name": "llama:8b", "adapter": "openai", "settings": {}}]},
        {"data": {"path": "C:data", "format": "native"}, "policies": [{"name": "pred", "settings": {}}]},
        {"systems": [{"settings": {"url": "http://localhost:abc", "note": "mine.py:answer"}}]},
    ],
)
def test_what_only_has_a_colon_in_it_is_no_code(scenario):
    assert plugins_of_ones_own(scenario) == []


def test_a_rewriter_within_a_policys_settings_is_listed():
    settings = {"rewriter": {"mine.py:Rewriter": {"words": 3}}}
    assert plugins_of_ones_own({"policies": [{"name": "rewrite", "settings": settings}]}) == [
        "mine.py:Rewriter"
    ]
