"""The example notebook runs from its first cell to its last, and docs/integrations.md shows what is so."""

from __future__ import annotations

import ast
import asyncio
import json
import re
from types import FunctionType

import pytest

from tests.docs.shown_output import DOCS, agree, blocks, page, section

NOTEBOOK = DOCS / "notebook.ipynb"
FIGURE = "application/vnd.plotly.v1+json"
SECTION = section(page("integrations"), "Notebooks")


def test_it_is_committed_without_outputs():
    content = json.loads(NOTEBOOK.read_text("utf-8"))
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]

    assert len(code) > 5
    assert {(len(cell["outputs"]), cell["execution_count"]) for cell in code} == {(0, None)}
    assert content["metadata"].keys() == {"kernelspec", "language_info"}
    assert NOTEBOOK.stat().st_size < 10_000


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """What each cell shows, by its id; run in Jupyter's own kernel."""
    nbclient = pytest.importorskip("nbclient", reason="needs pip install nbclient ipykernel")
    pytest.importorskip("ipykernel", reason="needs pip install nbclient ipykernel")
    import nbformat

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    folder = tmp_path_factory.mktemp("notebook")
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources).execute()
    return {cell["id"]: cell["outputs"] for cell in notebook.cells if cell.cell_type == "code"}


def test_nothing_is_said_beside_what_is_shown(outputs):
    kinds = {one["output_type"] for shown in outputs.values() for one in shown}
    assert kinds == {"display_data", "execute_result"}


def test_a_bar_is_full_where_a_run_was_played(outputs):
    for id in ("play", "mended"):
        bar = outputs[id][0]["data"]
        assert '<progress max="1" value="1.0000"' in bar["text/html"]
        assert re.search(r"\d+ conversations played, \d+ turns", bar["text/plain"])


def test_a_run_and_a_comparison_are_shown_as_html_with_the_text_beside_it(outputs):
    shown, *figures = (one["data"] for one in outputs["run"])
    assert shown["text/html"].startswith('<div class="convreplay')
    assert shown["text/plain"].startswith("bot, gold\n")
    titles = [one[FIGURE]["layout"]["title"]["text"] for one in figures]
    assert titles == ["Scores by depth: em", "Scores by depth: f1", "Invalid and edited questions"]

    compared, *figures = (one["data"] for one in outputs["compare"])
    assert "bot, gold (A), on the same turns" in compared["text/html"]
    assert figures[0][FIGURE]["layout"]["title"]["text"] == "Differences by depth: em"
    assert any("Gate: " in one["data"]["text/plain"] for one in outputs["mended"] if "data" in one)
    assert "True" in outputs["gate"][0]["data"]["text/plain"]
    assert "<table" in outputs["frame"][0]["data"]["text/html"]


@pytest.mark.long
def test_the_section_shows_what_comes_out(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    known: dict[str, object] = {}

    async def cells() -> None:
        for block in blocks(SECTION, "python"):
            code = compile(block, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            if (waiting := FunctionType(code, known)()) is not None:
                await waiting

    asyncio.run(cells())
    (shown,) = blocks(SECTION, "text")
    printed = capsys.readouterr().out
    found = re.search(rf"^{re.escape(shown.splitlines()[0])}\n(?:.+\n)+", printed, re.MULTILINE)
    assert found, printed
    agree("docs/integrations.md", shown, found[0])
