"""
What a neural scorer keeps of the contract within float tolerance: a text's embedding depends in its last
digits on what it shares a batch with.
"""

from __future__ import annotations

from typing import Any

import pytest

from replay.scorers.scorer import Unscored

TOLERANCE = 5e-6


def close(value: Any) -> Any:
    """*value*, or something that differs from it by no more than float noise."""
    return pytest.approx(value, abs=TOLERANCE)


def alike(observed: list[Any], others: list[Any]) -> bool:
    """Whether two sequences of observations are the same but for float noise."""
    return len(observed) == len(others) and all(
        one == other if isinstance(one, Unscored) or isinstance(other, Unscored) else one == close(other)
        for one, other in zip(observed, others, strict=True)
    )


def without_batch_noise(contract: type) -> type:
    """*contract* with the claim about batches held to float tolerance."""

    def test_an_observation_does_not_depend_on_its_batch(self, scorer, records):
        alone = [scorer.observe([record])[0] for record in records]

        assert alike(list(scorer.observe(records)), alone)
        assert alike(list(scorer.observe(records[::-1])), alone[::-1])

    contract.test_an_observation_does_not_depend_on_its_batch = (
        test_an_observation_does_not_depend_on_its_batch
    )
    return contract
