"""docs/simulate.md: its example runs as it stands there, and the report says what it shows."""

from __future__ import annotations

import re

import msgspec

from replay.core.conversation import UserGoal
from replay.users.llm import GOAL_VARIABLES
from tests.cli.command import replay_cli
from tests.docs.shown_output import agree, blocks, page

PAGE = page("simulate")


def test_the_example_ends_as_the_page_says(tmp_path):
    (tmp_path / "goals.jsonl").write_text(blocks(PAGE, "jsonl")[0])
    (tmp_path / "shop.py").write_text(blocks(PAGE, "python")[0])
    (tmp_path / "shop.yaml").write_text(blocks(PAGE, "yaml")[0])
    checked = replay_cli("validate", "shop.yaml", cwd=tmp_path)
    assert (
        "2 conversations with goals\n" in checked.stdout
    )  # how many turns the policy takes its code alone says
    done = replay_cli("run", "shop.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    table = re.search(r"Simulated conversations\n(?:.+\n)+", done.stdout)
    assert table
    agree("docs/simulate.md", blocks(PAGE, "text")[0], table[0])


def test_every_field_of_a_goal_and_every_variable_of_its_prompt_is_on_the_page():
    for field in msgspec.structs.fields(UserGoal):
        assert f"| `{field.name}` |" in PAGE
    for variable in GOAL_VARIABLES:
        assert f"`{variable}`" in PAGE
