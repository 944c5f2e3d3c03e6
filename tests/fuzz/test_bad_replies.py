"""Whatever a system replies, an ask ends: with an answer, or with one of our errors."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from tests.fuzz.inputs import HAND_MADE, mutated
from tests.fuzz.replies import REPLIES, trying
from tests.waiting import PATIENCE_S

EXAMPLES = 30


@pytest.mark.parametrize("name", REPLIES)
async def test_whatever_a_system_replies_the_ask_ends_with_an_answer_or_an_error_of_ours(name, tmp_path):
    target = REPLIES[name]
    inputs = {what: content for what, content in HAND_MADE.items() if not what.startswith("YAML")}
    slow = target.may_wait  # each takes a process or a wait
    for number in range(EXAMPLES // 3 if slow else EXAMPLES):
        random = Random(f"{name} {number}")
        inputs[f"mutated {number}"] = mutated(random.choice(target.seeds), random)
    async with trying(target, tmp_path) as tried:
        for seed in target.seeds:
            assert await tried(seed, patient=True) is not None, "the good reply is not taken"
        for what, content in inputs.items():
            try:
                async with asyncio.timeout(PATIENCE_S):
                    await tried(content)
            except Exception as error:
                raise AssertionError(f"{name}: {what}: {type(error).__name__}: {content[:300]!r}") from error
