"""The cases of the benchmark: how models quote and users ask, played through a server and a policy."""

from __future__ import annotations

import pytest

from replay.coreference.service.llm import HISTORY_CHARACTERS
from replay.policies.augment import AugmentPolicy
from replay.report.findings import why_invalid
from tests.benchmarks.programs import load_program
from tests.coreference.asked_model import history

benchmark = load_program("llm_resolver")
CASES = {case.name: case for case in benchmark.CASES}


async def planned(*names, policy_of=lambda policy: policy):
    """How the questions of the cases *names* are planned, and the prompts that this took."""
    plans = []
    async with benchmark.serving() as model, benchmark.rewriting(model) as rewrite:
        for case in map(CASES.get, names):
            model.tell(case.replies)
            plans.append(await policy_of(rewrite).plan(*benchmark.turn_after(case.said, case.question)))
    return plans, model.prompts


@pytest.mark.parametrize("name", CASES)
async def test_each_case_is_judged_and_asked_as_a_careful_model_means_it(name):
    (plan,), prompts = await planned(name)
    case = CASES[name]
    assert (plan.drift.valid, plan.question) == (case.valid, case.asked)
    assert len(prompts) == len(case.replies)


async def test_all_that_is_no_history_comes_first_and_never_changes():
    _, (first, second) = await planned("Why?", "do that")
    fixed = first[: benchmark.shared_start(first, second)]
    assert fixed.endswith("<recorded_history>\nUser: W")


async def test_augment_asks_what_the_model_says_too():
    (plan,), (prompt,) = await planned(
        "Why?", policy_of=lambda rewrite: AugmentPolicy(detector=rewrite.detector)
    )
    assert (plan.question, plan.edit) == (CASES["Why?"].asked, "augmented")
    assert "own" not in prompt


async def test_a_question_without_any_meaning_left_says_so():
    (plan,), _ = await planned("Yes please")
    assert [one.state for one in plan.drift.mentions] == ["lost"]
    assert why_invalid(plan.drift) == (
        "what is left out is “book the 9:40 train” in the gold history, and means nothing in its own"
    )


async def test_of_a_long_conversation_the_newest_exchanges_that_fit_are_shown():
    _, (prompt,) = await planned("long, named ten exchanges ago")
    recorded, own = history(prompt, "recorded"), history(prompt, "own")
    assert recorded.count("User: ") == own.count("User: ") == 22
    assert max(len(recorded), len(own)) < HISTORY_CHARACTERS + 22 * len("\nUser: \nSystem: ")
    assert recorded.endswith("Room 9 is open.\n")
    assert "Hall 18" not in prompt


def test_what_two_prompts_share_is_counted_as_reused():
    assert benchmark.reused(["abcd", "xbcd", "abxx", "abxy"]) == (2 + 3) / 16
