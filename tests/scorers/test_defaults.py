"""
What a scorer or a judge does that was told nothing: every default moves numbers, costs or waits.

Those that move a scorer's numbers stand in its signature, which other tests
hold.
"""

from __future__ import annotations

from inspect import Parameter, signature
from pathlib import Path

import pytest

from replay.core.neural_models import MINILM
from replay.scorers.answer_text import DECLINING_PATTERNS
from replay.scorers.bertscore import bertscore, coverage
from replay.scorers.judges.claims import ClaimsJudge
from replay.scorers.judges.factual import FactualJudge
from replay.scorers.judges.geval import GEvalJudge, JudgeCriterion
from replay.scorers.judges.judge import PlannedAsk
from replay.scorers.judges.panel import Panel
from replay.scorers.judges.yes_no import CorrectnessJudge
from replay.scorers.similarity import similarity

ANSWERS = {"answerable_only": False, "declining": DECLINING_PATTERNS}
MODEL = {"batch_size": 64, "device": None, "folder": Path(), **ANSWERS}
BERT = {"model": "roberta-large", "num_layers": None, "rescale": False, "lang": "en", **MODEL}
PROMPTS = {"prompt", "verification_prompt", "retry_prompt", "steps_prompt"}
"""One that is left out is the shipped one, for every judge alike."""


@pytest.mark.parametrize(
    ("made", "defaults"),
    [
        (bertscore, {"part": "f1", "idf": False, **BERT}),
        (coverage, {"threshold": 0.85, **BERT}),
        (similarity, {"model": MINILM, **MODEL}),
        (CorrectnessJudge, {}),
        (FactualJudge, {"threshold": 0.8, "ask": "always", "declining": DECLINING_PATTERNS}),
        (ClaimsJudge, {"response_format": "none", "tries": 3}),
        (
            GEvalJudge,
            {"level": "turn", "criteria": None, "criteria_file": None, "samples": 20, "min_samples": None},
        ),
        (JudgeCriterion, {"scale": (1, 5), "steps": (), "needs_fact": False}),
        (PlannedAsk, {"sample": 0, "certain": True, "once": False, "after": None}),
        (Panel, {"repeats": 1, "concurrency": 4, "cache": None}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_nothing_said_is_the_documented_default(made, defaults):
    found = {
        name: parameter.default
        for name, parameter in signature(made).parameters.items()
        if parameter.default is not Parameter.empty and repr(parameter.default) != "<factory>"
    }
    assert {name: value for name, value in found.items() if name not in PROMPTS} == defaults
    assert all(found[name] is None for name in PROMPTS & found.keys())
