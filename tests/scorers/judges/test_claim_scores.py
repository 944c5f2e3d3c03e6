"""Recall, precision and F1 of claims (checklist E)."""

from __future__ import annotations

import csv

import pytest

from replay.scorers.judges.claims import (
    ClaimCounts,
    claims_in,
    count_claims,
    distinct,
    unsupported_claims,
)


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
        # The framework's tables hold 0 where the candidate claims nothing.
        ((2, 0, 0), (0.0, 0.0, 0.0)),
        ((0, 3, 0), (None, None, None)),
        ((0, 3, 1), (None, None, None)),
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


def test_a_list_and_an_object_that_numbers_claims_are_read_alike():
    """The framework's own prompt shows its judge objects such as {"1": ...}."""
    assert claims_in(["A", "B"]) == claims_in({"1": "A", "2": "B"}) == ["A", "B"]
    for value, problem in (
        ("A", "is not a list"),
        (None, "is not a list"),
        (["A", 5], "holds something that is not a text: 5"),
        ({"1": ["A"]}, r"holds something that is not a text: \['A'\]"),
    ):
        with pytest.raises(ValueError, match=problem):
            claims_in(value)


def test_a_common_claim_is_looked_for_in_both_lists_whatever_its_case_spaces_and_full_stop():
    assert unsupported_claims(["A b."], ["C"], ["a  B", "c.", "D", "d."]) == ["D"]
    assert unsupported_claims(["Sales were 5.2"], [], ["Sales were 52"]) == ["Sales were 52"]
