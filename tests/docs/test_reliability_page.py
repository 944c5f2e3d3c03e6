"""What the documentation says of faults is what the tests try."""

from __future__ import annotations

import os
import re
from pathlib import Path

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
