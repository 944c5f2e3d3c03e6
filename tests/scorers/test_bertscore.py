from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from replay.core.errors import PluginError
from replay.scorers import bertscore_model
from replay.scorers.bertscore import BertSettings, bertscore
from replay.scorers.bertscore_model import bert_model
from replay.scorers.scorer import Unscored
from replay.testing import ScorerContract
from tests.scorers.neural import close, without_batch_noise, write_tiny_model
from tests.scorers.turns import turn

TEXTS = [
    ("the cat sat on the mat", "a cat sat on the mat"),
    ("it was paris", "the city of london"),
    ("a dog", "the cat sat on the mat. it was a cat! was it?"),
    ("the city of paris, it was the city of london", "paris"),
    ("it was paris", "it was paris"),
    ("the cat sat on the mat", "it was paris"),
]


@without_batch_noise
class TestBertScoreKeepsTheContract(ScorerContract):
    @pytest.fixture(params=["precision", "recall", "f1"])
    def scorer(self, request, tiny_model):
        return bertscore(part=request.param, model=tiny_model, num_layers=2, device="cpu")


def published(model: str, num_layers: int, *, idf: bool) -> list[list[float]]:
    """What bert-score's own function gives, P, R and F."""
    from bert_score import BERTScorer

    references = [reference for _, reference in TEXTS]
    scorer = BERTScorer(model_type=model, num_layers=num_layers, idf=idf, nthreads=0, device="cpu")
    if idf:
        scorer.compute_idf(references)
    return [part.tolist() for part in scorer.score([answer for answer, _ in TEXTS], references)]


def ours(model: str, num_layers: int, *, idf: bool) -> list[list[float]]:
    turns = [turn(answer, reference, depth=depth) for depth, (answer, reference) in enumerate(TEXTS, 1)]
    return [
        bertscore(part=part, model=model, num_layers=num_layers, idf=idf, device="cpu").observe(turns)
        for part in ("precision", "recall", "f1")
    ]


@pytest.mark.parametrize("idf", [False, True])
@pytest.mark.parametrize("num_layers", [1, 2])
def test_is_bert_scores_own(tiny_model, num_layers, idf):
    for found, wanted in zip(
        ours(tiny_model, num_layers, idf=idf), published(tiny_model, num_layers, idf=idf), strict=True
    ):
        assert found == pytest.approx(wanted, abs=2e-6)


@pytest.mark.parametrize("idf", [False, True])
def test_is_bert_scores_own_on_minilm(minilm, idf):
    for found, wanted in zip(ours(minilm, 5, idf=idf), published(minilm, 5, idf=idf), strict=True):
        assert found == pytest.approx(wanted, abs=2e-6)


def test_the_best_reference_counts(tiny_model):
    scorer = bertscore(model=tiny_model, num_layers=2)
    both, first, second = scorer.observe(
        [turn("a cat", "the dog", "a cat!"), turn("a cat", "the dog"), turn("a cat", "a cat!")]
    )

    assert both == close(max(first, second))


@pytest.mark.parametrize(
    ("answer", "gold", "score"),
    [
        ("", "cat", 0),
        (" \n", "cat", 0),
        ("cat", "", 0),
        (" ", "", 1),
        ("\u200b", "cat", 0),  # a character of no word piece
        ("I don't know", "cat", 0),
        ("I don't know", "CANNOTANSWER", 1),
        ("\ud800", "\ud800", 1),
    ],
)
def test_blank_declining_and_unencodable_texts(tiny_model, answer, gold, score):
    assert bertscore(model=tiny_model, num_layers=2).observe([turn(answer, gold)]) == [close(score)]


def test_an_answer_longer_than_the_model_is_cut(tiny_model, tmp_path):
    """Also where the tokenizer has no limit of its own."""
    turns = [turn("the cat sat on a mat " * 50, "a cat")]
    unlimited = str(write_tiny_model(tmp_path, tokens=None))
    found, wanted = (bertscore(model=m, num_layers=2).observe(turns) for m in (unlimited, tiny_model))

    assert found == close(wanted)
    assert 0 < found[0] < 1


def test_one_model_and_one_computation_serve_precision_recall_and_f1(tiny_model, monkeypatch):
    from bert_score import utils

    encoded = []
    encode = utils.bert_encode
    monkeypatch.setattr(utils, "bert_encode", lambda m, x, **kw: encoded.append(len(x)) or encode(m, x, **kw))
    bert_model.cache_clear()
    turns = [turn(f"the cat sat on mat {n % 3}", "a dog", depth=n + 1) for n in range(20)]

    for part in ("precision", "recall", "f1"):
        bertscore(part=part, model=tiny_model, num_layers=2).observe(turns)
    assert sum(encoded) == 4  # three answers, one reference
    assert bert_model.cache_info().misses == 1


def test_a_text_is_embedded_again_only_past_what_is_held(tiny_model, monkeypatch):
    pairs = [(f"the cat {'sat ' * n}", "a dog") for n in range(9)]
    whole = bertscore_model.BertModel(tiny_model, 2, "cpu").score(pairs, batch_size=2)
    monkeypatch.setattr(bertscore_model, "BLOCK", 3)
    monkeypatch.setattr(bertscore_model, "HELD_FLOATS", 1)
    monkeypatch.setattr(bertscore_model, "KEPT_PAIRS", 4)
    model = bertscore_model.BertModel(tiny_model, 2, "cpu")

    for wanted, *found in zip(whole, model.score(pairs), model.score(pairs[::-1])[::-1], strict=True):
        assert [list(one) for one in found] == [close(list(wanted))] * 2


def test_idf_is_of_the_turns_however_often_they_were_played_and_a_blank_one_weighs_nothing(tiny_model):
    scorer = bertscore(model=tiny_model, num_layers=2, idf=True)
    turns = [turn(answer, gold, depth=depth) for depth, (answer, gold) in enumerate(TEXTS, 1)]
    again = [turn(answer, gold, depth=d, policy="gold") for d, (answer, gold) in enumerate(TEXTS, 1)]
    found = scorer.observe(turns)

    assert scorer.observe([*turns, *again])[: len(turns)] == found
    assert scorer.observe([*turns, turn("a cat", " ", depth=9)]) == [*found, 0.0]


def test_a_text_of_word_pieces_that_stand_in_every_reference_gives_no_score(tiny_model):
    scorer = bertscore(model=tiny_model, num_layers=2, idf=True)
    nothing = Unscored(reason="no word piece with an idf above 0")
    turns = [turn("a cat", "a cat dog", depth=1), turn("dog", "a cat", depth=2)]

    assert scorer.observe([turn("a cat", "a cat")]) == [nothing]
    assert scorer.observe(turns) == [nothing, nothing]


def test_what_pairs_have_scored_is_kept_by_the_references_that_weighed_them(tiny_model):
    model = bertscore_model.BertModel(tiny_model, 2, "cpu")
    pairs, weighings = [("the cat sat", "a cat was it")], (["a cat", "the dog"], ["it was", "the mat"], None)
    kept = [model.score(pairs, idf_references=references) for references in weighings]

    assert len({str(scores) for scores in kept}) == 3
    for references, scores in zip(weighings, kept, strict=True):
        assert (
            bertscore_model.BertModel(tiny_model, 2, "cpu").score(pairs, idf_references=references) == scores
        )


def test_only_references_that_are_compared_weigh_word_pieces():
    first = [turn("a", "cat", "dog", depth=1), turn("I don't know", "dog", depth=2), turn(None, "x", depth=3)]
    scorer = bertscore(idf=True).survey([*first, turn("a", "CANNOTANSWER", depth=4)])

    assert scorer.references == {("c1", 1): ("cat", "dog")}
    assert scorer.survey([turn("a", "mat", depth=5)]).references == {
        ("c1", 1): ("cat", "dog"),
        ("c1", 5): ("mat",),
    }
    assert scorer.is_mean
    assert scorer.combine([0.25, 0.5]) == 0.375


def test_the_order_of_turns_moves_no_weight(tiny_model, monkeypatch):
    """A kept score is found again by the references in their order."""
    given = []
    score = bertscore_model.BertModel.score
    monkeypatch.setattr(
        bertscore_model.BertModel,
        "score",
        lambda self, pairs, **more: given.append(more["idf_references"]) or score(self, pairs, **more),
    )
    turns = [turn("a cat", "the mat", depth=1), turn("a dog", "a cat sat", depth=2)]
    scorer = bertscore(model=tiny_model, num_layers=2, idf=True)
    scorer.observe(turns)
    scorer.observe(turns[::-1])

    assert given == [["a cat sat", "the mat"]] * 2


def test_the_weighted_scorer_can_tell_what_is_missing_too(monkeypatch):
    monkeypatch.setattr("replay.core.neural_models.importlib.util.find_spec", lambda name: None)
    with pytest.raises(PluginError, match='"bertscore" needs torch'):
        bertscore(idf=True).check_installed()


def test_the_model_lies_on_the_device_that_was_named(tiny_model):
    import torch

    there = bertscore_model.BertModel(tiny_model, 2, "meta")
    assert next(there._model.parameters()).device.type == "meta"
    usual = "cuda" if torch.cuda.is_available() else "cpu"
    assert bertscore_model.BertModel(tiny_model, 2, None)._device == usual


def test_the_best_layer_of_a_known_model_is_bert_scores(tiny_model):
    assert bertscore_model.BertModel(tiny_model, 2, "cpu")._layers("roberta-large", None) == 17


def test_scores_are_kept_until_there_are_too_many(tiny_model, monkeypatch):
    monkeypatch.setattr(bertscore_model, "KEPT_PAIRS", 3)
    model = bertscore_model.BertModel(tiny_model, 2, "cpu")
    counts = []
    for pairs in ([("a", "cat")], [("a", "dog"), ("a", "mat")], [("it", "dog"), ("it", "mat")]):
        model.score(pairs)
        counts.append(len(model._kept))

    assert counts == [1, 3, 2]


@pytest.mark.parametrize(("held", "times"), [(2**28, 1), (1, 3)])
def test_a_text_of_several_blocks_is_embedded_once_while_it_is_held(tiny_model, monkeypatch, held, times):
    encoded = []
    model = bertscore_model.BertModel(tiny_model, 2, "cpu")
    embed = model._embed_texts
    monkeypatch.setattr(bertscore_model, "BLOCK", 2)
    monkeypatch.setattr(bertscore_model, "HELD_FLOATS", held)
    monkeypatch.setattr(
        model, "_embed_texts", lambda pieces, *more: encoded.extend(pieces) or embed(pieces, *more)
    )
    model.score([(f"the cat {'sat ' * n}", "a dog") for n in range(6)])

    assert encoded.count("a dog") == times


def test_a_baseline_is_rescaled_by(tiny_model, monkeypatch):
    baseline = bertscore_model.BertScores(0.5, 0.5, 0.2)
    monkeypatch.setattr(bertscore_model.BertModel, "baseline", lambda self, lang: baseline)
    monkeypatch.setattr(BertSettings, "__post_init__", lambda self: None)  # it would refuse
    turns = [turn("the cat", "a dog"), turn("", "a dog")]
    raw, blank = bertscore(model=tiny_model, num_layers=2).observe(turns)
    rescaled, still = bertscore(model=tiny_model, num_layers=2, rescale=True).observe(turns)

    assert rescaled == pytest.approx((raw - 0.2) / 0.8, abs=2e-6)
    assert blank == still == 0


def test_published_baselines_are_bert_scores(tiny_model):
    import bert_score

    model = bertscore_model.BertModel(tiny_model, 2, "cpu")
    model.name, model.num_layers = "roberta-large", 17
    rows = (Path(bert_score.__file__).parent / "rescale_baseline/en/roberta-large.tsv").read_text()

    assert rows.splitlines()[18] == "17," + ",".join(map(str, model.baseline("en")))
    with pytest.raises(PluginError, match='no baseline for "roberta-large" in "xx"'):
        model.baseline("xx")
    model.num_layers = 99
    with pytest.raises(PluginError, match="no layer 99"):
        model.baseline("en")


def test_a_local_model_needs_its_layer_and_has_no_baseline(tmp_path):
    (tmp_path / "model").mkdir()

    with pytest.raises(ValueError, match="num_layers: of the local model"):
        bertscore(model="model", folder=tmp_path)
    with pytest.raises(ValueError, match="rescale: baselines are published by model name"):
        bertscore(model="model", num_layers=5, rescale=True, folder=tmp_path)
    with pytest.raises(ValueError, match="num_layers: 0"):
        bertscore(num_layers=0)
    with pytest.raises(ValueError, match="batch_size"):
        bertscore(batch_size=0)


def test_a_model_that_is_not_to_be_had_is_named(tiny_model, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "empty").mkdir()
    turns = [turn("a cat", "the cat")]

    with pytest.raises(PluginError, match=r'the model ".*empty" can\'t be loaded'):
        bertscore(model="empty", num_layers=1, folder=tmp_path).observe(turns)
    with pytest.raises(PluginError, match=r"num_layers: .* has no layer 9"):
        bertscore(model=tiny_model, num_layers=9).observe(turns)
    with pytest.raises(PluginError, match='bert-score knows no best layer of "nobody/nothing"'):
        bertscore(model="nobody/nothing").observe(turns)


def test_without_the_extra_a_scorer_can_be_built_and_read_but_not_score(monkeypatch):
    """A report of a run is shown where torch was never installed."""
    monkeypatch.setitem(sys.modules, "bert_score.utils", None)
    bert_model.cache_clear()
    scorer = bertscore()

    assert scorer.combine([0.5, 1.0]) == 0.75
    assert scorer.observe([turn("x"), turn(None, "x")])[0] == Unscored(reason="no gold answer")
    with pytest.raises(PluginError, match=r'pip install "convreplay\[neural\]"'):
        scorer.observe([turn("x", "y")])


@pytest.mark.long
def test_the_same_bytes_in_every_process(tiny_model):
    """bert-score's own order is that of a set."""
    pairs = [(f"the cat {word}", f"a {word} dog") for word in TEXTS[2][1].split()]
    program = (
        "import sys; from replay.scorers.bertscore_model import bert_model\n"
        f"print(bert_model(sys.argv[1], 2, 'cpu').score({pairs}))"
    )
    elsewhere = subprocess.run(
        [sys.executable, "-c", program, tiny_model],
        env={**os.environ, "PYTHONHASHSEED": "1"},  # here it is another, drawn at random
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert elsewhere == f"{bert_model(tiny_model, 2, 'cpu').score(pairs)}\n"
    assert "BertScores" in elsewhere


def test_the_signature_names_what_moves_the_number(tmp_path):
    assert (
        bertscore().signature
        == "bertscore:f1+max|model:roberta-large|layers:default|idf:no|rescale:no|declining:default"
    )
    place = tmp_path / "my model"
    place.mkdir()
    local = bertscore(part="recall", model=str(place), num_layers=5, idf=True)
    assert local.signature.startswith("bertscore:recall+max|model:my_model|layers:5|idf:yes|rescale:no")
    assert "|rescale:en|" in bertscore(rescale=True).signature
    assert "model:microsoft/deberta-base" in bertscore(model="microsoft/deberta-base").signature
