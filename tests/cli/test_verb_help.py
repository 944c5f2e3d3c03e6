"""
``replay --help`` groups the verbs, and each verb's help opens with two examples that parse.

Completion as a shell asks for it: the script that `replay --show-completion` prints, run by bash.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

from replay.cli import app
from replay.cli.verb_help import FIRST_WEEK, PANELS, VERB_HELP
from tests.cli.command import replay_cli

COMMAND: Any = typer.main.get_command(app)
VERBS = [
    path
    for name in COMMAND.commands
    for path in (
        name,
        *(f"{name} {below}" for below in getattr(COMMAND.get_command(None, name), "commands", ())),
    )
]


def test_every_verb_is_described_and_nothing_else():
    assert sorted(VERB_HELP) == sorted(VERBS)
    assert {verb.panel for verb in VERB_HELP.values()} == set(PANELS)
    for name, verb in VERB_HELP.items():
        assert len(verb.summary) <= 63, name
        assert verb.summary.endswith("."), name


def test_the_list_shows_the_first_week_first_and_each_verb_in_its_panel(tmp_path):
    text = replay_cli("--help", cwd=tmp_path, env={}).stdout
    _, *sections = text.split("\n\n")
    panels = {section.split(":\n")[0]: section for section in sections if ":\n" in section}
    assert [name for name in panels if name != "Options"] == list(PANELS)
    assert panels[FIRST_WEEK].count("\n  ") == 6
    for name, verb in VERB_HELP.items():
        if " " not in name:
            line = next(row for row in panels[verb.panel].split("\n") if row.split()[:1] == [name])
            assert line.endswith(f"  {verb.summary}"), "not cut, not wrapped"


@pytest.mark.parametrize("verb", VERBS)
def test_the_examples_come_before_everything_else_and_parse(verb, tmp_path):
    examples = VERB_HELP[verb].examples
    shown = replay_cli(*verb.split(), "--help", cwd=tmp_path).stdout
    head = shown.split("\n\n")[1]
    assert head == "\n".join(["Examples:", *(f"  {example}" for example in examples)])
    for example in examples:
        assert example.startswith(f"replay {verb}")
        _parse(COMMAND, None, shlex.split(example))


def _parse(command: Any, parent: Any, words: list[str]) -> None:
    """Parse *words* as *command* does, down to the verb; raise the error that the program would show."""
    name, *rest = words
    context = command.make_context(name, list(rest), parent=parent)
    if below := getattr(command, "commands", None):
        verb = next(word for word in rest if word in below)
        _parse(command.get_command(context, verb), context, rest[rest.index(verb) :])


def test_an_example_with_a_wrong_option_would_be_noticed():
    with pytest.raises(Exception, match="No such option"):
        _parse(COMMAND, None, shlex.split("replay report --latx"))


# What readline does when the tab key is pressed behind the words.
SHELL = """
script=$(replay --show-completion) && eval "$script"
tab() {
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    $(complete -p replay | sed 's/.*-F \\([^ ]*\\) .*/\\1/') replay && echo "${COMPREPLY[@]}"
}
tab replay sco
tab replay score --sc
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_verbs_and_options(tmp_path):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    done = subprocess.run(
        ["bash", "-c", SHELL],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split("\n") == ["score score-file", "--scorer", ""]
