"""The page on the library is one program, which prints what the page shows."""

from __future__ import annotations

import io
import re
import sys
import warnings
from contextlib import chdir, redirect_stdout
from types import ModuleType
from unittest.mock import patch

import pytest

from tests.docs.shown_output import page

PAGE = page("library")
CHAPTERS = re.findall(r"\n## ([^\n]+)\n.*?```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def printed(tmp_path_factory) -> list[str]:
    """What each chapter's block prints."""
    program, found = ModuleType("library"), []
    modules = patch.dict(sys.modules, library=program)
    with chdir(tmp_path_factory.mktemp("library")), warnings.catch_warnings(), modules:
        warnings.simplefilter("error")
        for _, block, _ in CHAPTERS:
            with redirect_stdout(io.StringIO()) as out:
                exec(compile(block, "library.py", "exec"), vars(program))
            found.append(out.getvalue())
    return found


def test_every_block_of_the_page_is_run():
    assert len(CHAPTERS) == PAGE.count("```python") == PAGE.count("\n## ")


@pytest.mark.parametrize("chapter", range(len(CHAPTERS)), ids=[title for title, _, _ in CHAPTERS])
def test_a_chapter_prints_what_the_page_shows(printed, chapter):
    shown = CHAPTERS[chapter][2]
    assert printed[chapter].splitlines() == shown.splitlines()
