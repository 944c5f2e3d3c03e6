"""What the documentation says of faults is what the tests try."""

from __future__ import annotations

import os
import re
from pathlib import Path

from replay.scenario.sections import PlaySection
from tests.faults.table import FAULTS
from tests.faults.test_wire import CASES

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
HEAD = ("what happens", "outcome", "asked again", "next step in the message")
TABLE = re.compile(r"^\| what happens \| outcome \|.*?\n\n", re.MULTILINE | re.DOTALL)
COUNT = re.compile(r"\d+ faults, [\d,]+ cases\.")


def row(*cells: str) -> str:
    return f"| {' | '.join(cell or '-' for cell in cells)} |\n"


def test_the_table_of_faults_is_the_one_that_is_tried():
    """`UPDATE_GOLDEN=1 pytest tests/faults` writes it; then read the difference."""
    rows = [row(fault.what, f"`{fault.outcome}`", fault.asked_again, fault.shown_step) for fault in FAULTS]
    table = "".join([row(*HEAD), "|---|---|---|---|\n", *rows, "\n"])
    count = f"{len(FAULTS)} faults, {len(CASES)} cases."
    page = PAGE.read_text("utf-8")
    if os.environ.get("UPDATE_GOLDEN"):
        page = COUNT.sub(count, TABLE.sub(lambda _: table, page))
        PAGE.write_text(page, "utf-8")
    assert TABLE.findall(page) == [table]
    assert COUNT.findall(page) == [count]


def test_every_fault_is_listed_once():
    names = [fault.what for fault in FAULTS]
    assert len(set(names)) == len(names)


def test_the_settings_of_the_page_are_those_of_a_scenario_with_their_defaults():
    shown = re.findall(r"^\| `(\w+)` \| (\S+)", PAGE.read_text("utf-8"), re.MULTILINE)
    settings = {name: default.strip("`") for name, default in shown if name in PlaySection.model_fields}
    defaults = {name: PlaySection.model_fields[name].default for name in settings}
    assert settings.keys() == {
        "timeout_s", "attempts", "backoff_s", "retry_budget_s", "on_failure", "fail_fast", "stop_after",
    }  # fmt: skip
    assert settings == {
        name: "none" if value is None else str(value).lower() if isinstance(value, bool) else f"{value:g}"
        if isinstance(value, float) else str(value)
        for name, value in defaults.items()
    }  # fmt: skip
