"""The weights as they are loaded and run; what they have learned is no matter here."""

from __future__ import annotations

import shutil
import sys
from dataclasses import fields

import numpy as np
import pytest

from replay.core.errors import ResolverError
from replay.coreference.reading import network
from replay.coreference.reading.embedded import EmbeddedResolver
from replay.coreference.reading.network import WEIGHTS, Network
from replay.coreference.reading.sequence import sequence_of
from tests.coreference.reading.made_up import document

SINGER = document("Where was she born?", "Who is that?", "Ann Lee is a singer.")


@pytest.fixture
def in_use():
    """Gives the weights in use back after a test that chose others."""
    before = network.folder_in_use()
    yield
    network.use(before)


def test_what_was_run_before_changes_no_output():
    shipped = Network()
    sequence = sequence_of(shipped.pieces, SINGER)
    other = sequence_of(shipped.pieces, document("Why?", "Who?", "word " * 300))
    first = shipped.run(sequence)
    shipped.run(other)
    again = shipped.run(sequence)

    assert all(np.array_equal(getattr(first, f.name), getattr(again, f.name)) for f in fields(first))


def test_every_token_has_a_number_that_the_network_knows():
    shipped = network.load_network(WEIGHTS)
    last = max(shipped.pieces.vocabulary, key=lambda piece: shipped.pieces.vocabulary[piece])
    sequence = sequence_of(shipped.pieces, SINGER)
    sequence.ids[1] = shipped.pieces.vocabulary[last]

    assert np.isfinite(shipped.run(sequence).tags).all()


def test_a_missing_onnx_runtime_is_a_resolvers_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    network.load_network.cache_clear()

    with pytest.raises(ResolverError, match="needs ONNX Runtime, which can't be loaded here") as raised:
        EmbeddedResolver().read([SINGER])
    assert "Install a wheel of onnxruntime" in str(raised.value)
    assert "drift.resolver: fastcoref, or llm" in str(raised.value)


def test_weights_that_cannot_be_read_are_an_error(tmp_path):
    shutil.copy(WEIGHTS / "vocabulary.txt", tmp_path)
    (tmp_path / "reader.onnx").write_bytes(b"no network")

    with pytest.raises(ResolverError, match="the reader's weights can't be loaded"):
        Network(tmp_path)


def test_other_weights_can_be_used_for_a_while(tmp_path, in_use):
    assert network.folder_in_use() == WEIGHTS
    shutil.copytree(WEIGHTS, tmp_path / "other")
    network.use(tmp_path / "other")

    assert network.folder_in_use() == tmp_path / "other"
    assert network.current() is network.load_network(tmp_path / "other") is not network.load_network(WEIGHTS)
