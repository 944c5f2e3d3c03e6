from __future__ import annotations

import importlib.machinery
import importlib.util
from pathlib import Path

import pytest

from replay.core.errors import PluginError
from replay.scorers.bertscore import bertscore, coverage
from replay.scorers.neural_extra import (
    MINILM,
    cant_load,
    check_batch_size,
    encodable,
    model_name,
    model_place,
    neural_module,
    packaged_minilm,
    quietly,
)
from replay.scorers.scorer import CheckedScorer
from replay.scorers.similarity import similarity
from replay.scorers.word_overlap import f1


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


class Bars:
    """What transformers has for its progress bars."""

    def __init__(self, shown: bool) -> None:
        self.shown = shown

    def is_progress_bar_enabled(self) -> bool:
        return self.shown

    def disable_progress_bar(self) -> None:
        self.shown = False

    def enable_progress_bar(self) -> None:
        self.shown = True


@pytest.mark.parametrize("shown", [True, False])
def test_bars_are_hidden_while_a_model_is_loaded_and_then_as_they_were(monkeypatch, shown):
    bars = Bars(shown)
    monkeypatch.setattr("replay.scorers.neural_extra.neural_module", lambda name, wanted_by: bars)
    with quietly():
        assert not bars.shown

    assert bars.shown is shown


@pytest.mark.parametrize(
    ("error", "reason"),
    [(OSError("\n no file\nmore"), "no file"), (ValueError("  "), "ValueError"), (OSError(), "OSError")],
)
def test_why_a_model_cant_be_loaded_is_told_in_one_line(error, reason):
    assert f'the model "m" can\'t be loaded: {reason}; give the name' in str(cant_load("m", error))


def test_one_text_at_a_time_is_enough_and_none_is_not():
    check_batch_size(1)
    with pytest.raises(ValueError, match="batch_size: 0 is not a positive whole number"):
        check_batch_size(0)


def test_a_module_that_lacks_another_is_told_by_the_others_name(monkeypatch):
    def lacking(name):
        raise ImportError("no torchaudio here", name="torchaudio")

    monkeypatch.setattr(importlib, "import_module", lacking)
    with pytest.raises(PluginError, match=r'"s" needs torchaudio, .* \(no torchaudio here\)'):
        neural_module("sentence_transformers", "s")


def test_the_packaged_model_is_used_where_it_is_installed(monkeypatch, tmp_path):
    found = importlib.machinery.ModuleSpec("gt", None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found)
    assert packaged_minilm() is None
    (tmp_path / "model").mkdir()
    assert model_place(MINILM, tmp_path / "elsewhere") == str(tmp_path / "model")
    assert model_place("other", tmp_path / "elsewhere") == "other"
    found.origin = None
    assert model_place(MINILM, tmp_path / "elsewhere") == MINILM
