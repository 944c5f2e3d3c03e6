"""docs/simulate.md: its example runs as it stands there, and the report says what it shows."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from replay.core.conversation import UserGoal
from replay.users.llm import GOAL_VARIABLES
from tests.cli.command import replay_cli
from tests.docs.shown_output import agree

PAGE = (Path(__file__).parents[2] / "docs" / "simulate.md").read_text("utf-8")


def block(kind: str) -> str:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[0]


def test_the_example_ends_as_the_page_says(tmp_path):
    (tmp_path / "goals.jsonl").write_text(block("jsonl"))
    (tmp_path / "shop.py").write_text(block("python"))
    (tmp_path / "shop.yaml").write_text(block("yaml"))
    checked = replay_cli("validate", "shop.yaml", cwd=tmp_path)
    assert (
        "2 conversations with goals\n" in checked.stdout
    )  # how many turns the policy takes its code alone says
    done = replay_cli("run", "shop.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    table = re.search(r"Simulated conversations\n(?:.+\n)+", done.stdout)
    assert table
    agree("docs/simulate.md", block("text"), table[0])


def test_every_field_of_a_goal_and_every_variable_of_its_prompt_is_on_the_page():
    for field in msgspec.structs.fields(UserGoal):
        assert f"| `{field.name}` |" in PAGE
    for variable in GOAL_VARIABLES:
        assert f"`{variable}`" in PAGE
