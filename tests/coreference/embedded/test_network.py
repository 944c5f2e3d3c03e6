"""The networks' arithmetic."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from replay.core.history import Exchange
from replay.coreference.embedded.asked import KINDS
from replay.coreference.embedded.features import Described, describe
from replay.coreference.embedded.network import Ensemble, shipped
from replay.coreference.embedded.scene import look_at
from replay.coreference.resolver import Document

A, S, F, NETWORKS, WIDTH, HIDDEN = len(KINDS) + 2, 4, 3, 2, 5, 3


def ensemble(seed=0, **changed):
    rng = np.random.default_rng(seed)
    sizes = {
        "mention": (A, NETWORKS * WIDTH), "candidate": (S, NETWORKS * WIDTH), "fit": (F, NETWORKS * WIDTH),
        "gate": (A, NETWORKS * WIDTH), "bias": (2, NETWORKS * WIDTH), "hidden": (NETWORKS, WIDTH, HIDDEN),
        "hidden_bias": (NETWORKS, 1, HIDDEN), "out": (NETWORKS, HIDDEN, 1), "wide_candidate": (len(KINDS), S),
        "wide_fit": (len(KINDS), F), "wide_alone": (len(KINDS),),
    }  # fmt: skip
    drawn = {name: rng.normal(size=size).astype(np.float32) for name, size in sizes.items()}
    return Ensemble(**(drawn | changed))


def described(mentions=2, candidates=3, seed=1):
    rng = np.random.default_rng(seed)
    rows = np.concatenate([np.eye(len(KINDS))[:mentions], rng.normal(size=(mentions, 2))], axis=1)
    return Described(
        rows.astype(np.float32),
        rng.normal(size=(candidates, S)).astype(np.float32),
        rng.normal(size=(mentions, candidates, F)).astype(np.float32),
    )


def one_by_one(weights, seen):
    """The same probabilities, each score computed by itself as the module says."""
    table = []
    for number, mention in enumerate(seen.mentions):
        kind, scores = int(mention[: len(KINDS)].argmax()), []
        for at in range(len(seen.candidates) + 1):
            alone = at == 0
            row = np.zeros(S) if alone else seen.candidates[at - 1]
            fit = np.zeros(F) if alone else seen.fits[number, at - 1]
            first = row @ weights.candidate + fit @ weights.fit + alone * weights.bias[1]
            first = first * (1 + mention @ weights.gate) + mention @ weights.mention + weights.bias[0]
            parts = np.maximum(first, 0).reshape(NETWORKS, WIDTH)
            deep = [
                np.maximum(part @ weights.hidden[n] + weights.hidden_bias[n, 0], 0) @ weights.out[n, :, 0]
                for n, part in enumerate(parts)
            ]
            wide = row @ weights.wide_candidate[kind] + fit @ weights.wide_fit[kind]
            scores.append(np.mean(deep) + wide + alone * weights.wide_alone[kind])
        raised = np.exp(np.asarray(scores) - max(scores))
        table.append(raised / raised.sum())
    return np.asarray(table)


@pytest.mark.parametrize("seed", range(3))
def test_probabilities_are_those_of_each_score_by_itself(seed):
    weights, seen = ensemble(seed), described(seed=seed + 10)

    assert weights.probabilities(seen) == pytest.approx(one_by_one(weights, seen), abs=1e-4)


@pytest.mark.parametrize(("mentions", "candidates"), [(1, 1), (1, 5), (4, 1), (5, 40)])
def test_leaving_alone_and_candidates_share_the_probability(mentions, candidates):
    found = ensemble().probabilities(described(mentions, candidates))

    assert found.shape == (mentions, candidates + 1)
    assert found.sum(axis=1) == pytest.approx(np.ones(mentions))
    assert (found >= 0).all()


def test_large_scores_give_no_nan():
    large = ensemble(wide_candidate=np.full((len(KINDS), S), 1e4, np.float32))

    assert np.isfinite(large.probabilities(described())).all()


def test_a_mention_is_read_the_same_beside_others_and_in_another_order():
    weights, seen = ensemble(), described(3, 4)
    found = weights.probabilities(seen)
    alone = weights.probabilities(Described(seen.mentions[1:2], seen.candidates, seen.fits[1:2]))
    turned = weights.probabilities(Described(seen.mentions, seen.candidates[::-1], seen.fits[:, ::-1]))

    assert alone[0] == pytest.approx(found[1], abs=1e-6)
    assert turned[:, 1:] == pytest.approx(found[:, :0:-1], abs=1e-6)


def test_the_gate_scales_what_is_seen_of_candidates_and_not_what_is_seen_of_the_mention():
    shut = ensemble(gate=np.zeros((A, NETWORKS * WIDTH), np.float32))
    flat = replace(
        shut,
        wide_candidate=np.zeros((len(KINDS), S), np.float32),
        wide_fit=np.zeros((len(KINDS), F), np.float32),
    )
    seen = described(1, 2)
    closing = np.zeros((A, NETWORKS * WIDTH), np.float32)
    closing[0] = -1  # of the first kind of mention
    closed = replace(flat, gate=closing).probabilities(seen)[0]

    assert closed[1] == pytest.approx(closed[2])
    assert flat.probabilities(seen)[0, 1] != pytest.approx(flat.probabilities(seen)[0, 2])


def test_what_ships_fits_the_features():
    turn = Exchange(question="Who came?", answer="Ann Lee did.")
    seen = describe(look_at(Document(question="Did she sing?", turns=(turn,))))
    weights = shipped()

    assert len(weights.mention) == len(weights.gate) == seen.mentions.shape[1]
    assert len(weights.candidate) == weights.wide_candidate.shape[1] == seen.candidates.shape[1]
    assert len(weights.fit) == weights.wide_fit.shape[1] == seen.fits.shape[2]
    assert weights.probabilities(seen).shape == (2, seen.fits.shape[1] + 1)
