from __future__ import annotations

import sys

import pytest

from replay.core.errors import PluginError
from replay.scorers.neural_extra import MINILM
from replay.scorers.scorer import unit_of
from replay.scorers.similarity import SentenceModel, sentence_model, similarity
from replay.testing import ScorerContract
from tests.scorers.neural_contract import close, without_batch_noise
from tests.scorers.turns import turn

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
    model.cosines(TEXTS)
    model.cosines(TEXTS)
    assert sorted(encoded) == sorted({text for pair in TEXTS for text in pair})

    assert len(model._kept) == 5
    monkeypatch.setattr("replay.scorers.similarity.KEPT_TEXTS", 6)
    model.cosines([("mat", "mat")])
    assert len(model._kept) == 6  # as many as may be kept
    again = model.cosines([*TEXTS, ("city", "mat")])[:3]
    assert set(model._kept) == {"city", "mat", *(text for pair in TEXTS for text in pair)}
    assert model.cosines(TEXTS) == close(again)
    model.cosines([("the city", "it")])
    assert set(model._kept) == {"the city", "it"}


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
