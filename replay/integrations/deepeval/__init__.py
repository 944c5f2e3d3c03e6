"""
DeepEval: a run's plays as its test cases, our scores, checks and drift as its metrics, and its metrics as our
scorers.

Imports the package ``deepeval`` (extra ``deepeval``), so nothing else of ours imports this.
"""

from replay.integrations.deepeval.cases import DeepEvalScorer, as_conversations, as_test_cases
from replay.integrations.deepeval.metrics import ChecksMetric, DriftMetric, ScoreMetric

__all__ = [
    "ChecksMetric",
    "DeepEvalScorer",
    "DriftMetric",
    "ScoreMetric",
    "as_conversations",
    "as_test_cases",
]
