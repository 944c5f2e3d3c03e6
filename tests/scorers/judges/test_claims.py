"""
The judge of claims: the contract, and what it does with lists.

Recall, precision and F1 of claims (checklist E).
"""

from __future__ import annotations

import csv
import json

import pytest

from replay.core.adapter import ChatReply
from replay.scorers.judges.claims import (
    IN_NEITHER,
    NO_CANDIDATE,
    NUMBERED,
    SCHEMA,
    ClaimCounts,
    ClaimsJudge,
    claims_in,
    count_claims,
    distinct,
    unsupported_claims,
)
from replay.scorers.scorer import Unscored
from replay.testing import RecordingAsk, always
from tests.scorers.judges.samples import case
from tests.scorers.judges.test_contract import CLAIMS


async def test_lists_are_counted_by_us_whatever_the_judge_says():
    lie = {**CLAIMS, "recall": 1.0, "common_claim_count": 9}
    opinion = await ClaimsJudge().opinion(case(2), RecordingAsk(always(json.dumps(lie))))

    assert opinion.values == pytest.approx({"recall": 1 / 2, "precision": 1 / 3, "f1": 0.4})
    assert opinion.evidence["counts"] == {"golden": 2, "candidate": 3, "common": 1}
    assert opinion.evidence["reported"] == {"recall": 1.0, "common_claim_count": 9}


async def test_a_broken_reply_is_shown_to_the_judge_with_the_error():
    replies = iter(['{"golden_claims": ["A"', '{"golden_claims": "A"}', json.dumps(CLAIMS)])
    ask = RecordingAsk(lambda step, prompt: ChatReply(text=next(replies)))
    opinion = await ClaimsJudge().opinion(case(2), ask)

    first, second, third = (prompt for prompt, *_ in ask.asked)
    assert first in second
    assert '{"golden_claims": ["A"' in second
    assert "at character" in second
    assert '"golden_claims" is not a list' in third
    assert opinion.values["recall"] == 0.5
    assert len(opinion.evidence["problems"]) == 2
    assert [sample for *_, sample in ask.asked] == [0, 1, 2]


async def test_after_the_last_try_the_turn_is_unscored():
    ask = RecordingAsk(always("no"))
    opinion = await ClaimsJudge(tries=2).opinion(case(2), ask)

    assert len(ask.asked) == 2
    assert set(opinion.values.values()) == {Unscored(reason="the judge's claims can't be read as JSON")}


def test_a_format_is_sent_as_the_endpoint_wants_it():
    named = {"name": "claims", "strict": True, "schema": SCHEMA}
    formats = {
        "json_object": {"type": "json_object"},
        "json_schema": {"type": "json_schema", "json_schema": named},
    }

    for name, sent in formats.items():
        judge = ClaimsJudge(response_format=name, parameters={"seed": 1, "temperature": None})
        assert judge.plan(case(2))[0].parameters == {"seed": 1, "response_format": sent}
        assert judge.needed_parameters == ("seed", "response_format")
    assert "response_format" not in ClaimsJudge().plan(case(2))[0].parameters
    assert SCHEMA["additionalProperties"] is False


def test_only_the_first_of_several_tries_is_sure():
    planned = ClaimsJudge(tries=2).plan(case(2))

    assert [(p.sample, p.certain, p.completion_tokens) for p in planned] == [(0, True, 200), (1, False, 200)]
    assert len(ClaimsJudge(tries=1).plan(case(2))) == 1
    with pytest.raises(ValueError, match="tries 0 is not a positive whole number"):
        ClaimsJudge(tries=0)


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        ({"golden_claims": []}, '"candidate_claims" is missing'),
        ({**CLAIMS, "common_claims": None}, '"common_claims" is not a list'),
        ({**CLAIMS, "common_claims": ["A", 5]}, '"common_claims" holds something that is not a text: 5'),
        (
            {**CLAIMS, "common_claims": [["x" * 90]]},
            f'"common_claims" holds something that is not a text: [\'{"x" * 58}',
        ),
    ],
)
async def test_a_reply_of_another_shape_is_told_to_the_judge(found, problem):
    steps = []

    def reply(step, prompt):
        steps.append(step)
        return ChatReply(text=json.dumps(found))

    opinion = await ClaimsJudge(tries=2).opinion(case(2), RecordingAsk(reply))

    assert opinion.evidence["problems"] == [problem, problem]
    assert steps == ["claims", "claims.retry"]


def listed(golden: int, candidate: int, common: int) -> str:
    counts = {"golden": golden, "candidate": candidate, "common": common}
    return json.dumps({f"{name}_claims": [f"c{n}" for n in range(count)] for name, count in counts.items()})


@pytest.mark.parametrize(
    ("counts", "clamped"),
    [((2, 2, 2), False), ((2, 3, 2), False), ((2, 1, 2), True), ((1, 3, 2), True)],
)
async def test_more_common_claims_than_an_answer_makes_are_kept_as_a_sign(counts, clamped):
    opinion = await ClaimsJudge().opinion(case(2), RecordingAsk(always(listed(*counts))))

    assert opinion.evidence["clamped"] is clamped


async def test_an_answer_without_claims_scores_0_and_is_flagged_and_without_golden_ones_there_is_no_score():
    opinion = await ClaimsJudge().opinion(case(2), RecordingAsk(always(listed(1, 0, 0))))
    assert (opinion.values, opinion.flags) == ({"recall": 0, "precision": 0, "f1": 0}, (NO_CANDIDATE,))

    opinion = await ClaimsJudge().opinion(case(2), RecordingAsk(always(listed(0, 1, 0))))
    assert set(opinion.values.values()) == {Unscored(reason="no claims in the gold answer")}
    assert ClaimsJudge().why_not(case(3)) == Unscored(reason="no claims in the gold answer")


async def test_what_a_judge_made_of_the_lists_is_flagged_as_often_as_it_did():
    lists = {
        "golden_claims": {"1": "A.", "2": "B"},
        "candidate_claims": ["A", "C"],
        "common_claims": ["a", "X", "Y"],
    }
    opinion = await ClaimsJudge().opinion(case(2), RecordingAsk(always(json.dumps(lists))))

    assert opinion.flags == (IN_NEITHER, IN_NEITHER, NUMBERED)
    assert opinion.evidence["in_neither_list"] == ["X", "Y"]
    assert opinion.evidence["golden_claims"] == ["A.", "B"]
    assert (await ClaimsJudge().opinion(case(2), RecordingAsk(always(json.dumps(CLAIMS))))).flags == ()


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
    with pytest.raises(ValueError, match=r"holds something that is not a text: \['A'\]"):
        claims_in({"1": ["A"]})


def test_a_common_claim_is_looked_for_in_both_lists_whatever_its_case_spaces_and_full_stop():
    assert unsupported_claims(["A b."], ["C"], ["a  B", "c.", "D", "d."]) == ["D"]
    assert unsupported_claims(["Sales were 5.2"], [], ["Sales were 52"]) == ["Sales were 52"]
