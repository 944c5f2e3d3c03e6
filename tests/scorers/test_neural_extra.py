from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from replay.core.errors import PluginError
from replay.scorers.bertscore import bertscore
from replay.scorers.coverage import coverage
from replay.scorers.neural_extra import encodable, model_name, model_place
from replay.scorers.scorer import CheckedScorer
from replay.scorers.similarity import similarity
from replay.scorers.token_f1 import f1


@pytest.mark.parametrize("factory", [bertscore, coverage, similarity])
def test_a_missing_extra_can_be_told_before_a_run(factory, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    assert isinstance(factory(), CheckedScorer)
    with pytest.raises(PluginError, match=r'needs torch, .*pip install "convreplay\[neural\]"'):
        factory().check_installed()


@pytest.mark.parametrize("factory", [bertscore, coverage, similarity])
def test_with_the_extra_there_is_nothing_to_say(factory, monkeypatch):
    scorer = factory()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)

    scorer.check_installed()


def test_other_scorers_need_nothing(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    f1().check_installed()


def test_coverage_needs_spacy_too(monkeypatch):
    """A core installation has none."""
    scorer = coverage()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "spacy" else name)

    with pytest.raises(PluginError, match=r'"coverage" needs spacy, .*pip install "convreplay\[neural\]"'):
        scorer.check_installed()


def test_a_folder_is_seen_from_the_scenario(tmp_path):
    (tmp_path / "model").mkdir()

    assert model_place("model", tmp_path) == str((tmp_path / "model").resolve())
    assert model_place("roberta-large", tmp_path) == "roberta-large"


def test_a_signature_has_a_models_name_and_no_place():
    names = ["roberta-large", "microsoft/deberta-base", "./models/mini lm", "a/b/tiny"]
    names.append(str(Path("/somewhere/tiny").absolute()))

    assert [model_name(name) for name in names] == [
        "roberta-large",
        "microsoft/deberta-base",
        "mini_lm",
        "tiny",
        "tiny",
    ]


def test_half_a_surrogate_pair_becomes_a_question_mark():
    assert encodable("a \ud800 ☃") == "a ? ☃"
