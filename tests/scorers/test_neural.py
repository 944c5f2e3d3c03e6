"""Scores that take the extra neural, beside bertscore, and the extra."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from replay.core.errors import PluginError
from replay.core.neural_models import (
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
from replay.scorers.bertscore import _sentencizer, bertscore, coverage, sentences, worst_covered
from replay.scorers.bertscore_model import bert_model
from replay.scorers.scorer import CheckedScorer, unit_of
from replay.scorers.similarity import SentenceModel, sentence_model, similarity
from replay.scorers.word_overlap import f1
from replay.testing import ScorerContract
from tests.scorers.neural import close, without_batch_noise
from tests.scorers.turns import turn


@without_batch_noise
class TestCoverageKeepsTheContract(ScorerContract):
    @pytest.fixture(params=[None, 0.85])
    def scorer(self, request, tiny_model):
        return coverage(model=tiny_model, num_layers=2, threshold=request.param, device="cpu")


@pytest.mark.parametrize(
    ("scores", "value"),
    [
        ([[0.9, 0.2], [0.3, 0.6]], 0.6),  # each reference sentence is said, the second less well
        ([[0.9, 0.2]], 0.2),
        ([[0.9], [0.2]], 0.9),  # a further sentence of the answer does no harm
    ],
)
def test_the_worst_covered_sentence_of_the_reference_decides(scores, value):
    assert worst_covered(scores) == value


@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(st.lists(st.floats(0, 1), min_size=n, max_size=n), min_size=1)
    )
)
def test_another_sentence_of_the_answer_never_lowers_it(scores):
    assert worst_covered([*scores, [0.5] * len(scores[0])]) >= worst_covered(scores)


def test_sentences_go_by_punctuation_and_no_answer_is_too_long():
    pytest.importorskip("spacy", reason='needs pip install "convreplay[neural]"')
    assert sentences("It was Paris. Was it?  Yes!") == ["It was Paris.", "Was it?", "Yes!"]
    assert sentences(" \n ") == []
    assert sentences("a \ud800.") == ["a ?."]
    assert _sentencizer("en").max_length >= 10**9


def test_is_made_of_the_bertscores_of_sentences(tiny_model):
    said, gold = ["the cat sat.", "it was paris."], ["a dog sat.", "it was london.", "the mat."]
    model = bert_model(tiny_model, 2, "cpu")
    by_hand = min(max(score.f1 for score in model.score([(one, other) for one in said])) for other in gold)
    scorer = coverage(model=tiny_model, num_layers=2, threshold=None, device="cpu")

    assert scorer.observe([turn(" ".join(said), " ".join(gold))]) == [close(by_hand)]
    assert scorer.observe([turn("the cat sat. a dog.", "a dog.")]) == [close(1)]


def test_the_threshold_makes_it_adequate_or_not(tiny_model):
    turns = [turn("the cat sat. a dog.", "a dog."), turn("the cat sat.", "a dog. it was paris.")]
    raw = coverage(model=tiny_model, num_layers=2, threshold=None).observe(turns)

    assert coverage(model=tiny_model, num_layers=2, threshold=raw[1]).observe(turns) == [1.0, 1.0]
    assert coverage(model=tiny_model, num_layers=2, threshold=1.0).observe(turns) == [1.0, 0.0]


@pytest.mark.parametrize(
    ("answer", "gold", "score"),
    [("", "a cat.", 0), ("a cat.", " ", 0), ("", "", 1), ("I don't know", "a cat.", 0)],
)
def test_blank_and_declining_answers(tiny_model, answer, gold, score):
    assert coverage(model=tiny_model, num_layers=2).observe([turn(answer, gold)]) == [score]


def test_settings_without_meaning_are_refused(tmp_path):
    with pytest.raises(ValueError, match="threshold"):
        coverage(threshold=85)
    with pytest.raises(ValueError, match=r"threshold: -1\.01 is not between -1 and 1"):
        coverage(threshold=-1.01)
    assert "threshold:-1|" in coverage(threshold=-1).signature
    assert "threshold:1|" in coverage(threshold=1).signature
    with pytest.raises(ValueError, match="num_layers"):
        coverage(model=str(tmp_path))
    with pytest.raises(ValueError, match="batch_size"):
        coverage(batch_size=0)


def test_the_signature_names_threshold_and_model():
    assert coverage().signature == (
        "coverage:bertscore-f1+max|threshold:0.85|model:roberta-large|layers:default|rescale:no"
        "|sentences:en|declining:default"
    )


TEXTS = [
    ("the cat sat on the mat", "a cat sat on the mat"),
    ("it was paris", "the city of london"),
    ("a dog", "it was paris"),
]


@without_batch_noise
class TestSimilarityKeepsTheContract(ScorerContract):
    @pytest.fixture
    def scorer(self, tiny_model):
        return similarity(model=tiny_model, device="cpu")


def published(model: str) -> list[float]:
    """What sentence-transformers' own functions give."""
    from sentence_transformers import SentenceTransformer, util

    loaded = SentenceTransformer(model, device="cpu")
    return [
        util.cos_sim(loaded.encode(answer, show_progress_bar=False), loaded.encode(gold)).item()
        for answer, gold in TEXTS
    ]


def ours(model: str | None) -> list[float]:
    return similarity(model=model, device="cpu").observe([turn(answer, gold) for answer, gold in TEXTS])


def test_is_sentence_transformers_own(tiny_model):
    assert ours(tiny_model) == close(published(tiny_model))


def test_is_sentence_transformers_own_on_minilm(minilm):
    """The default model, where it is installed."""
    assert ours(MINILM) == close(published(minilm))


def test_a_text_is_embedded_once(tiny_model, monkeypatch):
    sentence_model.cache_clear()
    model = SentenceModel(tiny_model, "cpu")
    encoded = []
    encode = model._model.encode
    monkeypatch.setattr(
        model._model, "encode", lambda texts, **kw: encoded.extend(texts) or encode(texts, **kw)
    )
    first = model.cosines(TEXTS)
    assert model.cosines(TEXTS) == first
    assert sorted(encoded) == sorted({text for pair in TEXTS for text in pair})

    monkeypatch.setattr("replay.scorers.similarity.KEPT_TEXTS", 6)
    for pair in (("mat", "mat"), ("city", "mat"), ("the city", "it")):
        model.cosines([pair])
        assert len(model._kept) <= 6
    assert model.cosines(TEXTS) == close(first)


@pytest.mark.parametrize(
    ("answer", "gold", "score"),
    [
        ("", "cat", 0),
        ("cat", " ", 0),
        ("", " ", 1),
        ("I don't know", "CANNOTANSWER", 1),
        ("cat", "CANNOTANSWER", 0),
        ("the cat", "the cat", 1),
        ("\ud800", "\ud800", 1),
    ],
)
def test_blank_declining_and_equal_texts(tiny_model, answer, gold, score):
    assert similarity(model=tiny_model).observe([turn(answer, gold)]) == [close(score)]


def test_a_model_that_is_not_to_be_had_is_named(tiny_model, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()

    with pytest.raises(PluginError, match=r'the model ".*empty" can\'t be loaded'):
        similarity(model="empty", folder=tmp_path).observe([turn("a", "b")])


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    sentence_model.cache_clear()

    with pytest.raises(PluginError, match=r'"similarity" needs sentence_transformers.*convreplay\[neural\]'):
        similarity().observe([turn("x", "y")])


def test_a_cosine_is_no_share():
    assert unit_of(similarity()) == ""


def test_the_signature_names_the_model_however_it_was_found():
    default = "similarity:cosine+max|model:sentence-transformers/all-MiniLM-L6-v2|declining:default"
    assert similarity().signature == default
    assert "|model:tiny|" in similarity(model="/somewhere/tiny").signature


@pytest.mark.parametrize("factory", [bertscore, coverage, similarity])
def test_a_missing_extra_can_be_told_before_a_run(factory, monkeypatch):
    installed: set[str] = set()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name if name in installed else None)
    scorer = factory()

    f1().check_installed()  # others need nothing
    assert isinstance(scorer, CheckedScorer)
    with pytest.raises(PluginError, match=r'needs torch, .*pip install "convreplay\[neural\]"'):
        scorer.check_installed()
    installed |= {"torch", "transformers", "bert_score", "sentence_transformers"}
    if factory is coverage:  # a core installation has none
        with pytest.raises(
            PluginError, match=r'"coverage" needs spacy, .*pip install "convreplay\[neural\]"'
        ):
            scorer.check_installed()
        installed.add("spacy")
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
    monkeypatch.setattr("replay.core.neural_models.neural_module", lambda name, wanted_by: bars)
    with quietly():
        assert not bars.shown

    assert bars.shown is shown


@pytest.mark.parametrize(
    ("error", "reason"),
    [(OSError("\n no file\nmore"), "no file"), (ValueError("  "), "ValueError"), (OSError(), "OSError")],
)
def test_why_a_model_cant_be_loaded_is_told_in_one_line(error, reason):
    assert f'the model "m" can\'t be loaded: {reason}; give the name' in str(cant_load("m", error))


def test_one_text_at_a_time_is_enough_and_half_a_surrogate_pair_becomes_a_question_mark():
    check_batch_size(1)
    with pytest.raises(ValueError, match="batch_size: 0 is not a positive whole number"):
        check_batch_size(0)
    assert encodable("a \ud800 ☃") == "a ? ☃"


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
