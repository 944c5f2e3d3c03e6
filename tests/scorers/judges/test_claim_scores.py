"""Recall, precision and F1 of claims (checklist E)."""

from __future__ import annotations

import csv

import pytest

from replay.scorers.judges.claim_scores import ClaimCounts, count_claims, distinct


def scores(golden: int, candidate: int, common: int) -> tuple[float | None, ...]:
    counts = ClaimCounts(golden=golden, candidate=candidate, common=common)
    return counts.recall, counts.precision, counts.f1


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((4, 2, 1), (0.25, 0.5, 1 / 3)),
        ((3, 3, 3), (1.0, 1.0, 1.0)),
        ((2, 5, 0), (0.0, 0.0, 0.0)),
        # More in common than the candidate makes: then it made at least as many.
        ((4, 1, 2), (0.5, 1.0, 2 / 3)),
        # More in common than there are golden ones: all of them.
        ((1, 3, 2), (1.0, 2 / 3, 0.8)),
        ((2, 0, 0), (0.0, None, 0.0)),
        ((0, 3, 0), (None, 0.0, None)),
    ],
)
def test_the_formulas(counts, expected):
    assert scores(*counts) == pytest.approx(expected)


def test_the_published_rows_recompute(shared_data):
    """Dataworkz evaluation framework, the 50 rows of its example result."""
    path = shared_data / "dataworkz" / "apple10k_evaluation_result_a.csv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))

    assert len(rows) == 50
    for row in rows:
        names = ("Golden Response Claim Count", "Candidate Response Claim Count", "Common Claim Count")
        ours = scores(*(int(float(row[name])) for name in names))
        published = [float(row[name]) for name in ("LLM Recall", "LLM Precision", "LLM F1")]
        assert ours == pytest.approx(published, abs=5e-5), row["SNo."]


def test_a_claim_listed_twice_counts_once():
    counts = count_claims(["A b.", "a  B.", " "], ["A b."], [])

    assert (counts.golden, counts.candidate, counts.common) == (1, 1, 0)
    assert distinct(["A b.", "a  B."]) == ("A b.",)
