"""The page on the library is one program, which prints what the page shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S

PAGE = (Path(__file__).parents[2] / "docs" / "library.md").read_text("utf-8")
CHAPTERS = re.findall(r"\n## ([^\n]+)\n.*?```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
END = "-- end of the chapter --"


@pytest.fixture(scope="module")
def printed(tmp_path_factory) -> list[str]:
    """What each chapter's block prints."""
    folder = tmp_path_factory.mktemp("library")
    blocks = [f"{block}\nprint({END!r})\n" for _, block, _ in CHAPTERS]
    (folder / "library.py").write_text("".join(blocks), "utf-8")
    command = [sys.executable, "-W", "error", "library.py"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split(f"{END}\n")[:-1]


def test_every_block_of_the_page_is_run():
    assert len(CHAPTERS) == PAGE.count("```python") == PAGE.count("\n## ")


@pytest.mark.parametrize("chapter", range(len(CHAPTERS)), ids=[title for title, _, _ in CHAPTERS])
def test_a_chapter_prints_what_the_page_shows(printed, chapter):
    shown = CHAPTERS[chapter][2]
    assert printed[chapter].splitlines() == shown.splitlines()
