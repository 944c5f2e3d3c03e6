"""Word vectors: which words have one, and what is made of several."""

from __future__ import annotations

import numpy as np
import pytest

from replay.coreference import vectors as module
from replay.coreference.vectors import SIZE, mean_of, normalized, number_of, rows_of, vectors


def test_the_stored_vectors_read_alike_every_time():
    before = vectors(range(100)).copy()
    module._stored.cache_clear()

    assert np.array_equal(vectors(range(100)), before)
    assert before.shape == (100, SIZE)
    assert before.dtype == np.float32


def test_a_word_without_a_vector_has_number_0_and_means_nothing():
    assert number_of("quibbzz") == 0
    assert number_of("") == 0
    assert not vectors([0]).any()
    assert rows_of(["quibbzz"]).shape == (0, SIZE)
    assert not mean_of(["quibbzz"]).any()
    assert not mean_of([]).any()


def test_a_plural_without_a_vector_has_its_singulars(monkeypatch):
    monkeypatch.setattr(module, "_index", lambda: {"quibbzz": 7, "glasses": 8, "glass": 9})

    assert [number_of.__wrapped__(word) for word in ("quibbzz", "quibbzzs", "glasses", "zzquibb")] == [
        7,
        7,
        8,
        0,
    ]


def test_words_without_a_vector_are_left_out():
    assert np.array_equal(
        rows_of(["band", "quibbzz", "album"]), vectors([number_of("band"), number_of("album")])
    )
    assert np.array_equal(mean_of(["band", "quibbzz"]), mean_of(["band"]))


def test_a_mean_has_length_1_and_lies_between_its_words():
    mean = mean_of(["band", "album"])
    band, album = normalized(rows_of(["band", "album"]))

    assert np.linalg.norm(mean) == pytest.approx(1, abs=1e-5)
    assert mean @ band > band @ album < mean @ album


def test_words_of_one_kind_are_nearer_than_others():
    """What is stored belongs to the words it is stored for."""
    singer, musician, drummer, tax = normalized(rows_of(["singer", "musician", "drummer", "tax"]))

    assert min(singer @ musician, singer @ drummer) > singer @ tax


def test_rows_come_in_length_1_and_zero_stays_zero():
    rows = np.asarray([[3.0, 4.0], [0.0, 0.0]], np.float32)

    assert np.allclose(normalized(rows), [[0.6, 0.8], [0.0, 0.0]])
