"""Every command and file of the tutorials, in their order, in a folder of their own."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import yaml

from replay.scenario.reading import parse_scenario
from tests.cli.command import forget_code
from tests.docs.shown_output import DOCS, blocks, page, shell

TUTORIALS = DOCS / "tutorials"
STEP = re.compile(
    r"^```\w+\n# (?P<name>[\w.]+)\n.*?^```$|^    (?P<command>replay [^\n]*)$", re.DOTALL | re.MULTILINE
)
pytestmark = pytest.mark.skipif(os.name != "posix", reason="the commands are for a POSIX shell")


def write_file(folder: Path, block: str) -> None:
    """Write the file that *block* shows, which begins with the file's name."""
    text = block.split("\n", 1)[1].removesuffix("```")
    (folder / text.split("\n")[0].removeprefix("# ")).write_text(text, "utf-8")


def steps(name: str, folder: Path) -> list[tuple[str, int, str]]:
    """Write the files and run the commands of a tutorial in their order; return what became of each."""
    found = []
    for step in STEP.finditer(page(f"tutorials/{name}")):
        if step["name"]:
            write_file(folder, step[0])
        else:
            done = shell(step["command"], folder)
            found.append((step["command"], done.returncode, done.stdout + done.stderr))
    return found


def shown(name: str) -> list[str]:
    """Return the outputs that a tutorial shows."""
    return blocks(page(f"tutorials/{name}"), "text")


def test_no_command_is_overlooked():
    """Lines set off as code are commands, and those are what the tests run."""
    for path in TUTORIALS.glob("*.md"):
        text = path.read_text("utf-8")
        fenceless = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
        lines = re.findall(r"^    +\S.*$", fenceless, re.MULTILINE)
        commands = [step["command"] for step in STEP.finditer(text) if step["command"]]
        assert [line.strip() for line in lines] == commands, path.name
        assert len(commands) >= 4


@pytest.mark.long
def test_a_first_table(tmp_path):
    for command, code, output in steps("first-table", tmp_path):
        assert code == 0, f"{command}\n{output}"
        if command == "replay run quickstart":
            (table,) = shown("first-table")
            assert table.strip() in output
    assert (tmp_path / "page.html").stat().st_size > 100_000


def test_your_own_bot_in_ci(tmp_path):
    text = page("tutorials/bot-in-ci")
    (data,) = blocks(text, "jsonl")
    (mended,) = re.findall(r"```python\n( +said .*)\n```", text)
    (tmp_path / "conversations.jsonl").write_text(data, "utf-8")
    bot = tmp_path / "bot.py"
    codes = []
    for step in STEP.finditer(text):
        if step["name"]:
            write_file(tmp_path, step[0])
        elif step["command"]:
            if codes and codes[-1] == 100:  # now comes the second run, of the mended bot
                before = bot.read_text("utf-8")
                bot.write_text(re.sub(r"^ +said \+= .*$", mended, before, flags=re.MULTILINE), "utf-8")
                assert bot.read_text("utf-8") != before
            forget_code()
            done = shell(step["command"], tmp_path)
            codes.append(done.returncode)
            if done.returncode == 100:
                assert shown("bot-in-ci")[0] in done.stdout
    assert codes == [0, 100, 0, 0]
    assert "<testsuites" in (tmp_path / "junit.xml").read_text("utf-8")
    assert "newly pass" in done.stdout


def test_the_workflow_and_the_scenarios_of_the_tutorials_are_sound(tmp_path):
    found = [text for path in TUTORIALS.glob("*.md") for text in blocks(path.read_text("utf-8"), "yaml")]
    scenarios = [text for text in found if "policies" in text]
    assert len(scenarios) == 2
    for text in scenarios:
        parse_scenario(text, source="tutorial", folder=tmp_path)
    (workflow,) = (yaml.safe_load(text) for text in found if "runs-on" in text)
    lines = [step["run"] for step in workflow["jobs"]["replay"]["steps"] if "run" in step]
    assert lines[1] == "replay run scenario.yaml --junit junit.xml"


@pytest.mark.long
def test_a_papers_experiment(tmp_path):
    pytest.importorskip("matplotlib")
    outputs = ""
    for command, code, output in steps("paper-experiment", tmp_path):
        assert code == 0, f"{command}\n{output}"
        outputs += output
    for table in shown("paper-experiment"):
        assert table in outputs
    assert "\\toprule" in (tmp_path / "tables.tex").read_text("utf-8")
    assert (tmp_path / "depth.pdf").read_bytes().startswith(b"%PDF")
    rows = (tmp_path / "turns.csv").read_text("utf-8")
    assert rows.count("with history") >= 196 * 3
    signature = re.search(r"`(pred: policy:pred\|\S+)`", page("tutorials/paper-experiment"))
    assert signature is not None
    assert f"% {signature[1]}" in (tmp_path / "tables.tex").read_text("utf-8")
