"""The action and the workflow of docs/ci.md, run step by step as GitHub's runner does it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from replay.scenario.shipped import example_scenario
from tests.adapters.servers import answering
from tests.cli.command import replay_cli
from tests.docs.shown_output import page
from tests.scenarios.support_bots import listening
from tests.waiting import PATIENCE_S

PAGE = page("ci")
ACTION, WORKFLOW = (
    yaml.safe_load(re.search(rf"```yaml\n(# {re.escape(name)}\n.*?)```", PAGE, re.DOTALL)[1])
    for name in (".github/actions/replay/action.yml", ".github/workflows/chat.yml")
)
USES = WORKFLOW["jobs"]["replay"]["steps"][-1]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the steps are for bash")


def act(folder: Path, inputs: Mapping[str, str], programs: Path) -> int:
    """
    What the action ends with in *folder*, its programs found in *programs*; ``log`` has what it printed.

    A step that fails ends it. Installing and uploading is left out.
    """
    known = {f"inputs.{name}": str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
    known |= {f"inputs.{name}": value for name, value in inputs.items()}
    assert {f"inputs.{name}" for name in inputs} <= {f"inputs.{name}" for name in ACTION["inputs"]}

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{ (\S+) \}\}", lambda found: known[found[1]], text)

    for step in ACTION["runs"]["steps"]:
        if "run" not in step or "pip install" in step["run"]:
            continue
        assert step["shell"] == "bash", "a composite action's steps have to name one"
        assert "${{" not in step["run"], "an input could be a command"
        (folder / "step.sh").write_text(step["run"])
        (folder / "output").write_text("")
        environment = {
            **os.environ,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "GITHUB_OUTPUT": str(folder / "output"),
            **{name: filled(value) for name, value in step.get("env", {}).items()},
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "step.sh"]
        with (folder / "log").open("ab") as log:
            done = subprocess.run(
                command, cwd=folder, env=environment, stdout=log, stderr=log, timeout=PATIENCE_S
            )
        if done.returncode:
            return done.returncode
        for line in (folder / "output").read_text().splitlines():
            name, _, value = line.partition("=")
            known[f"steps.{step['id']}.outputs.{name}"] = value
    return 0


@pytest.mark.parametrize("status", [0, 2, 100])
def test_it_ends_as_the_run_does_and_reports_in_any_case(tmp_path, status):
    """Whatever the scenario is called: it is handed on in a variable, and never a command."""
    programs = tmp_path / "programs"
    programs.mkdir()
    said = 'printf "%s|" "$@" >> said; echo >> said; [ "$1" != report ] || { echo "### shown"; exit 7; }\n'
    (programs / "replay").write_text(f"#!/bin/sh\n{said}exit {status}\n")
    (programs / "replay").chmod(0o755)

    assert act(tmp_path, {"scenario": "$(touch bad) my.yaml", "cache": "kept answers"}, programs) == status
    played, shown = (tmp_path / "said").read_text().splitlines()
    assert played == "run|$(touch bad) my.yaml|--cache|kept answers|--junit|junit.xml|"
    assert shown.startswith("report|--markdown|")
    assert (tmp_path / "summary.md").read_text() == "### shown\n"
    assert not (tmp_path / "bad").exists()


def test_the_workflow_uses_it_as_it_is_written():
    assert USES["uses"] == "./.github/actions/replay"
    assert USES["with"].keys() <= ACTION["inputs"].keys()
    (upload,) = (step for step in ACTION["runs"]["steps"] if "upload-artifact" in step.get("uses", ""))
    assert upload["with"]["path"].split() == ["runs", "junit.xml", "replay.html"]
    assert ACTION["outputs"]["status"]["value"] == "${{ steps.play.outputs.status }}"


@pytest.mark.long
def test_the_example_is_played_and_shown(tmp_path):
    scenario, *_ = example_scenario("support", tmp_path / "support")
    with listening(scenario.parent, "worse") as port:
        scenario.write_text(scenario.read_text("utf-8").replace("8011", port), "utf-8")
        assert act(tmp_path, USES["with"], Path(sys.executable).parent) == 100

    summary = (tmp_path / "summary.md").read_text("utf-8")
    assert summary.startswith("### `support`\n\n**Assertions: ")
    assert "**Failed checks**" in summary
    assert re.search(r"\| [0-9.]+ \S+, \S+ [▁-█·]+ \|", summary)
    assert "depth 4: " in (tmp_path / "junit.xml").read_text("utf-8")
    assert (tmp_path / "replay.html").stat().st_size > 500_000
    assert list((tmp_path / "runs").glob("support-*/run.db"))
    assert any((tmp_path / "answers").iterdir())


@pytest.mark.long
def test_a_scenario_with_a_fault_ends_with_2(tmp_path):
    (tmp_path / "bad.yaml").write_text("name: [")
    assert act(tmp_path, {"scenario": "bad.yaml"}, Path(sys.executable).parent) == 2


def obeyed(log: str) -> list[str]:
    """The lines of *log* that GitHub's runner takes for commands (actions/runner, ActionCommand.cs)."""
    return [line for line in log.splitlines() if line.strip().startswith("::") or "##[" in line]


def test_what_a_runner_obeys_is_seen():
    assert obeyed("a\n  ::add-mask::b\nc ##[group]d\nstd::vector") == ["  ::add-mask::b", "c ##[group]d"]


async def test_a_reply_gives_the_runner_no_commands(tmp_path):
    """Neither by the steps of the page, run and report, nor by comparing; names are as hostile as replies."""
    commands = ["::add-mask::s", "::error file=a.py::s", "##[set-output name=a]s", "::stop-commands::s"]
    reply = "\n".join([*commands, "".join(commands), *(f"{'x' * n} {commands[0]}" for n in range(60, 80))])
    turn = {"question": f"Who? {commands[1]}", "expect": {"contains": f"::notice::a\n{commands[0]}"}}
    talk = {"id": "::warning::talk", "turns": [turn, turn]}
    scenario = {
        "name": "named",
        "data": {"path": "talks.jsonl"},
        "systems": [
            {"name": "::debug::s", "adapter": "scripted", "settings": {"answers": [reply, reply]}},
            {"name": "::group::t", "adapter": "http", "settings": {"url": "", "body": {}, "answer": "a"}},
        ],
        "policies": ["pred"],
        "play": {"attempts": 1},
        "drift": {"nlp_workers": 0},
        "assert": [{"metric": "check", "min": 1}],
    }

    async def refusing(request: web.Request) -> web.Response:
        return web.Response(status=400, text=reply)

    (tmp_path / "talks.jsonl").write_text(json.dumps(talk) + "\n")
    async with answering(refusing) as url:
        scenario["systems"][1]["settings"]["url"] = url
        (tmp_path / "bad.yaml").write_text(yaml.safe_dump(scenario))
        played = await asyncio.to_thread(replay_cli, "run", "bad.yaml", "--junit", "junit.xml", cwd=tmp_path)
    assert played.returncode == 100, played.stderr
    (run,) = (tmp_path / "runs").iterdir()
    newer = shutil.copytree(run, tmp_path / "newer")
    gate = ["compare", "--baseline", run, newer, "--fail-on", "checks", "--flips", "9"]
    report = ["report", "newer"]
    log = played.stdout + played.stderr
    for verb in (
        [*report, "--markdown", "--html", "replay.html"],
        [*report, "--json"],
        gate,
        [*gate, "--json"],
        ["validate", "bad.yaml"],
    ):
        done = await asyncio.to_thread(replay_cli, *verb, cwd=tmp_path)
        # The report as Markdown goes into the summary, and so does not stand in the log.
        log += f"\n{done.stderr}\n{'' if '--markdown' in verb else done.stdout}\n"

    assert obeyed(log) == []
    assert r"\x3a:add-mask::s" in log, "it is shown all the same"
    assert r"\x23#[set-output" in log
    assert r"\u003a:error file" in log, "in JSON by JSON's own escape"
