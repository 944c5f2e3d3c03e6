"""
`replay validate` neither imports nor calls nor computes what a scenario names, whatever part it names it as.

Each attack leaves a file behind where it is run. They are played in the scenario's folder, from which Python
then imports modules as well.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from replay.core.errors import CodeNotRunError
from replay.runs.launch import load_scenario
from replay.scenario.assembly import assemble
from tests.cli.command import replay_cli, replay_process
from tests.core.asking import test_templating

SHELL = "subprocess:getoutput"
HEAVY = [text for text in test_templating.HEAVY if "|tojson" not in text]
"""Without those that take a second only to be parsed."""


def touch(mark: str) -> dict[str, Any]:
    return {"cmd": f"touch marks/{mark}"}


def asked(mark: str) -> dict[str, Any]:
    return {"adapter": SHELL, "settings": touch(mark)}


ATTACKS: dict[str, Any] = {
    "name": "attack",
    "data": {"path": "talks.jsonl", "format": SHELL, "settings": touch("reader")},
    "systems": [
        {"name": "shell", **asked("system")},
        {"name": "file", "adapter": "evil.py:Adapter"},
        {"name": "module", "adapter": "evil_module:Adapter"},
        {"name": "function", "adapter": "python", "settings": {"target": "evil.py:answer"}},
        {"name": "program", "adapter": "command", "settings": {"command": ["touch", "marks/program"]}},
        {"name": "limited", **asked("limited"), "limit": {"asks": 1, "per_s": 1}},
    ],
    "policies": [
        {SHELL: touch("policy")},
        {"named": SHELL, "settings": touch("named")},
        {"rewrite": {"rewriter": {SHELL: touch("rewriter")}}},
        {"augment": {"rewriter": {"llm": asked("rewriters-model")}}},
    ],
    "scorers": ["f1", {SHELL: touch("scorer")}, "evil.py:Scorer"],
    "judges": [
        {SHELL: {**touch("judge"), **asked("judges-model")}},
        {"tone": "correctness", "settings": asked("model")},
        {"correctness": {"voters": [asked("voter"), {"adapter": "evil.py:Adapter"}]}},
    ],
    "drift": {"resolver": SHELL, "settings": touch("resolver")},
    "tools": {"function": "evil_tools:answer"},
}
ASKING_RESOLVER = {"drift": {"resolver": "llm", "settings": asked("resolvers-model")}}
LEFT_BEHIND = [
    *("evil", "evil_module", "evil_tools", "reader", "system", "limited", "policy", "named", "rewriter"),
    *("rewriters-model", "scorer", "judge", "judges-model", "model", "voter", "resolvers-model"),
]
"""By a run; a program is started with its first question only."""
HELD_LOAD = {"load": {"turns": 1, "slo": {"latency_p99_s": 1}}}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "marks").mkdir()
    (tmp_path / "talks.jsonl").write_text(json.dumps({"id": "a", "turns": [{"question": "Who?"}]}) + "\n")
    for name in ("evil", "evil_module", "evil_tools"):
        (tmp_path / f"{name}.py").write_text(f"import pathlib\npathlib.Path('marks/{name}').touch()\n")
    yield tmp_path
    for name in ("evil_module", "evil_tools"):
        sys.modules.pop(name, None)


def marks(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "marks").iterdir())


@pytest.mark.parametrize(
    ("more", "arguments", "code"),
    [
        pytest.param({}, (), 0, marks=pytest.mark.long),
        ({**ASKING_RESOLVER, **HELD_LOAD}, ("--no-data",), 0),
        ({"scores": ["f1"]}, (), 2),  # a misspelt key: settings are then checked in another place
        pytest.param({"prices": "none.yaml"}, (), 2, marks=pytest.mark.long),
    ],
)
def test_validate_runs_no_code_of_a_scenario(folder, more, arguments, code):
    (folder / "s.yaml").write_text(yaml.safe_dump({**ATTACKS, **more}, sort_keys=False))
    done = replay_cli("validate", "s.yaml", *arguments, cwd=folder)
    assert marks(folder) == []
    assert done.returncode == code, done.stderr
    if "scores" in more:
        return
    for said in (
        SHELL,
        "evil.py:Adapter",
        "evil_module:Adapter",
        "evil.py:answer",
        "evil_tools:answer",
        "touch marks/program",
    ):
        assert f" {said} (" in done.stdout, said
    if code == 0:
        assert "unread" in done.stdout
        assert "data.format: is code; the data is not read" in done.stdout
        assert "  data " not in done.stdout


def test_a_run_does_run_it(folder):
    """So that the attacks above are ones; what the scenario names is then a mistake, told before any ask."""
    (folder / "s.yaml").write_text(yaml.safe_dump({**ATTACKS, **ASKING_RESOLVER}, sort_keys=False))
    done = replay_cli("run", "s.yaml", "--dry-run", cwd=folder)
    assert done.returncode == 2
    assert marks(folder) == sorted(LEFT_BEHIND)


def test_a_program_that_only_checks_runs_nothing_either(folder):
    (folder / "s.yaml").write_text(yaml.safe_dump(ATTACKS, sort_keys=False))
    with pytest.raises(CodeNotRunError, match="is code, which is not run to look at something"):
        assemble(load_scenario(Path("s.yaml")))
    assert marks(folder) == []


def _limits() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, 8 * 2**30))
    resource.setrlimit(resource.RLIMIT_CPU, (40, 40))


def test_validate_computes_no_template(folder):
    """Wherever one stands: most of these would take all memory, or never end."""
    model = {"base_url": "http://127.0.0.1:9/v1", "model": "m"}
    for name, variables in (
        ("rewrite", "{{ question }}"),
        ("judge", "{{ predicted }}"),
        ("own", "{{ own }}"),
    ):
        (folder / f"{name}.txt").write_text("".join(HEAVY) + variables)
    asking = {"adapter": "openai", "settings": model}
    facts = {
        "name": "attack",
        "data": {"path": "talks.jsonl"},
        "systems": [
            {"name": "http", "adapter": "http", "settings": {
                "url": f"http://127.0.0.1:9/{HEAVY[0]}", "answer": "a", "body": list(HEAVY),
                "params": {"q": HEAVY[1]}, "session_id": "id", "open": {"url": f"http://127.0.0.1:9/{HEAVY[2]}"},
                "close": {"url": f"http://127.0.0.1:9/{HEAVY[3]}"},
                "poll": {"url": f"http://127.0.0.1:9/{HEAVY[0]}", "until": "done"}}},
            {"name": "openai", "adapter": "openai", "settings": {
                **model, "system": "".join(HEAVY), "extra": {"a": list(HEAVY)}}},
            {"name": "anthropic", "adapter": "anthropic", "settings": {
                **model, "system": "".join(HEAVY), "extra": {"a": list(HEAVY)}}},
            {"name": "websocket", "adapter": "websocket", "settings": {
                "url": "ws://127.0.0.1:9/", "answer": "a", "send": list(HEAVY), "on_open": list(HEAVY)}},
            {"name": "bot", "adapter": "botframework", "settings": {
                "base_url": "http://127.0.0.1:9", "channel_data": list(HEAVY)}},
            {"name": "rasa", "adapter": "rasa", "settings": {"metadata": list(HEAVY)}},
            {"name": "command", "adapter": "command", "settings": {
                "command": ["python", "-c", "1"], "send": list(HEAVY)}},
        ],
        "policies": ["pred", {"rewrite": {"rewriter": {"llm": {**asking, "prompt": "rewrite.txt"}}}}],
        "judges": [{"correctness": {**asking, "prompt": "judge.txt"}}],
        "drift": {"resolver": "llm", "settings": {**asking, "prompt": "own.txt"}},
    }  # fmt: skip
    (folder / "s.yaml").write_text(yaml.safe_dump(facts, sort_keys=False))
    done = replay_process("validate", "s.yaml", cwd=folder, preexec_fn=_limits)
    assert (done.returncode, done.stderr) == (0, "")
