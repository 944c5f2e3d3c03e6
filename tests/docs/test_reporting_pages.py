"""The commands and files that docs/ci.md and docs/plots.md show work as they stand there."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import yaml

from replay.scenario.assembly import try_assemble
from replay.scenario.reading import parse_scenario
from replay.scenario.shipped import find_scenario
from tests.docs.shown_output import blocks, shell

DOCS = Path(__file__).parents[2] / "docs"
CI, PLOTS = ((DOCS / f"{name}.md").read_text("utf-8") for name in ("ci", "plots"))


def commands(page: str) -> list[str]:
    """Lines set off as code, but for those that install something."""
    found = re.findall(r"^    (\S.*)$", re.sub(r"```.*?```", "", page, flags=re.DOTALL), re.MULTILINE)
    return [line for line in found if not line.startswith("pip install")]


def files(page: str) -> dict[str, str]:
    """YAML that begins with the file's name."""
    blocks = re.findall(r"```yaml\n(# (\S+\.yaml)\n.*?)```", page, re.DOTALL)
    return {name: text for text, name in blocks}


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="the commands are for a POSIX shell")
def test_the_commands_for_ci_end_as_they_are_said_to(tmp_path):
    for name, text in files(CI).items():
        (tmp_path / name).write_text(text)
    for command in commands(CI):
        done = shell(command, tmp_path)
        expected = 101 if "--fail-on" in command else 0  # four conversations
        assert done.returncode == expected, f"{command}\n{done.stdout}{done.stderr}"
        if "--fail-on" in command:
            assert re.search(r"```text\n(UNDECIDED .*?)\n", CI)[1] in done.stdout
    assert (tmp_path / "junit.xml").is_file()
    assert (tmp_path / "comment.md").read_text().startswith("### `against-baseline`")
    (tmp_path / "ci.yaml").write_text(files(CI)["ci.yaml"].replace("min: 0.3", "min: 0.9"))
    failed = shell("replay run ci.yaml", tmp_path)
    assert failed.returncode == 100
    for line in re.findall(r"```text\n(Assertions: .*?)\.\.\.", CI, re.DOTALL)[0].splitlines()[:3]:
        assert line in failed.stdout


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="the commands are for a POSIX shell")
def test_the_commands_for_pictures_draw_them(tmp_path):
    for command in commands(PLOTS):
        done = shell(command, tmp_path)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        if out := re.search(r"--out (\S+)", command):
            assert (tmp_path / out[1]).stat().st_size > 1000


@pytest.mark.parametrize("name", ["ci.yaml", "compare.yaml"])
def test_the_scenarios_are_sound(name, tmp_path):
    assert parse_scenario(files(CI)[name], source=name, folder=tmp_path).scenario.assertions


def test_the_snippets_for_ci_services_are_yaml():
    snippets = [yaml.safe_load(text) for text in blocks(CI, "yaml")]
    gate, action, github, gitlab = (s for s in snippets if "assert" not in s)
    github["jobs"]["replay"]["steps"] += gate

    assert action["runs"]["using"] == "composite"
    assert gitlab["chat-quality"]["artifacts"]["reports"] == {"junit": "junit.xml"}


def test_the_bounds_for_bots_that_vary_are_sound_for_the_example():
    (snippet,) = (yaml.safe_load(one) for one in re.findall(r"```yaml\n(play:\n.*?)```", CI, re.DOTALL))
    path = find_scenario("support")
    content = {**yaml.safe_load(path.read_text("utf-8")), **snippet}
    file = parse_scenario(yaml.safe_dump(content), source="ci.md", folder=path.parent)

    assert [one.metric for one in file.scenario.assertions] == [
        "pass^3(check)",
        "pass@3(check, conversations)",
    ]
    assert try_assemble(file)[1] == []


def test_every_picture_shown_is_there():
    for picture in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", CI + PLOTS):
        assert (DOCS / picture).is_file(), picture
