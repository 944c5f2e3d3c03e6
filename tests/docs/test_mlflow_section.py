"""What docs/integrations.md shows of MLflow works as it stands there."""

from __future__ import annotations

import pytest

import replay
from tests.docs.shown_output import agree, blocks, page, section
from tests.samples import ALBUM

pytest.importorskip("mlflow", reason='needs pip install "convreplay[mlflow]"')

import mlflow

from replay.integrations.mlflow_genai import reference_scorer

pytest_plugins = ["tests.integrations.in_mlflow"]
pytestmark = pytest.mark.usefixtures("mlflow_store")

SECTION = section(page("integrations"), "MLflow")
LOGGED, EVALUATED = blocks(SECTION, "python")


def test_the_nested_runs_have_the_numbers_that_the_page_shows(capsys):
    exec(LOGGED, {})
    (shown,) = blocks(SECTION, "text")
    agree("docs/integrations.md", shown, capsys.readouterr().out)


def test_turns_are_evaluated_as_the_page_says():
    """With a scorer of ours in the place of the judge, which needs a key."""
    system = {"name": "bot", "adapter": lambda question: "In Port Ellis."}
    run = replay.run({"name": "talk", "data": [ALBUM], "systems": [system], "policies": ["gold"]})
    names = {"mlflow": mlflow, "run": run, "ours": reference_scorer("rouge2")}
    exec(EVALUATED.replace("Correctness()", "ours"), names)
    assert names["result"].metrics["f1/mean"] == pytest.approx(run.turns()["f1"].mean())
    assert "rouge2/mean" in names["result"].metrics
