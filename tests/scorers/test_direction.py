"""Whether less of a score is better."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from replay.scenario.assertions.operational_metrics import OPERATIONAL_METRICS
from replay.scorers.operational import cost, latency, prompt_tokens
from replay.scorers.scorer import lower_is_better
from replay.scorers.word_overlap import f1


@dataclass
class Toxicity:
    """A plug-in's scorer: a share of which less is better."""

    lower_is_better = True


@dataclass
class Speed:
    """One in seconds of which more is better, as of time saved."""

    unit = "s"
    lower_is_better = False


@pytest.mark.parametrize(
    ("scorer", "lower"),
    [
        (f1(), False),
        (latency(), True),
        (prompt_tokens(), True),
        (cost(), True),
        (Toxicity(), True),
        (Speed(), False),
        *((scorer, True) for scorer in OPERATIONAL_METRICS.values()),
    ],
)
def test_it_is_as_the_scorer_says_or_else_by_its_unit(scorer, lower):
    assert lower_is_better(scorer) is lower
