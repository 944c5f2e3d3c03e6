"""A tutorial shows what the quickstart prints, and all ways to look at it say the same to the digit."""

from __future__ import annotations

import html
import io
import re
from functools import cache
from pathlib import Path

import pytest
from rich.console import Console

from replay.report.markdown import markdown_report
from replay.report.notebook import document_html
from replay.report.notes import hidden_sentences
from replay.report.run_document import run_document
from replay.report.text import print_report
from replay.results.run import Run
from tests.docs.shown_output import ROOT, agree


@cache
def report(folder: Path):
    return Run(folder).report()


def terminal(folder: Path) -> str:
    """The part of what `replay run quickstart` prints that the tutorial shows."""
    out = io.StringIO()
    print_report(report(folder), Console(file=out, width=80, color_system=None))
    return re.search(r"Against gold.*?(?=\nNotes)", out.getvalue(), re.DOTALL)[0]


def test_the_tutorial_shows_the_quickstarts_table_and_sentence(quickstart):
    """After a wanted change, run once with UPDATE_GOLDEN=1 and read what changed."""
    page = "docs/tutorials/first-table.md"
    (shown,) = re.findall(r"```text\n(Against gold.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
    agree(page, shown, terminal(quickstart))


def test_the_readme_says_what_testing_with_recorded_answers_hides(quickstart):
    """The words below its picture; UPDATE_GOLDEN=1 writes them, too."""
    (shown,) = re.findall(
        r"Testing with recorded answers hides .*? of em", (ROOT / "README.md").read_text("utf-8")
    )
    (sentence,) = hidden_sentences(report(quickstart).hidden)
    agree("README.md", shown, sentence[: sentence.index(" of em") + len(" of em")])


def markdown(shown):
    return markdown_report(shown, title="quickstart").replace("\\[", "[")


def notebook(shown):
    return document_html(run_document(shown, title="quickstart"), all_at="all of it")


@pytest.mark.parametrize("write", [markdown, notebook])
def test_markdown_and_notebooks_have_the_same_table_and_sentence(quickstart, write):
    found = html.unescape(write(report(quickstart)))
    (sentence,) = hidden_sentences(report(quickstart).hidden)

    assert sentence in " ".join(found.split())
    assert sentence in " ".join(terminal(quickstart).split())
    cells = re.findall(r"[-+][0-9.]+ \[.*?\]", terminal(quickstart))
    assert len(cells) == 12
    assert all(cell in found for cell in cells)
