"""Many raters at once: no error, and nothing lost or given twice, however their clicks fall."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from tests.study.serving import begun, served


@pytest.mark.parametrize(("raters", "each"), [(15, None), (50, 3)])
async def test_raters_work_side_by_side(quick_run, tmp_path, raters, each):
    """Every answer by everybody, or by three of them, who all want the next one at the same moment."""
    chosen = "" if each is None else f", raters: {each}"
    database = begun(
        f"name: check\npreset: {{rating: {{answers: 5{chosen}}}}}\nruns: ['{quick_run}']\nraters: {raters}\n",
        tmp_path,
    )
    statuses = Counter()

    async def work(study, rater):
        async with study.at_work(rater) as browser:
            while browser.heading == "Answer":
                await browser.send("/rate/answer", {"rating": str(rater % 2)})
                statuses[browser.status] += 1
            assert browser.heading == "Done"

    async with served(database) as study:
        async with asyncio.TaskGroup() as group:
            for rater in range(1, raters + 1):
                group.create_task(work(study, rater))
        state = study.store.state()

    assert set(statuses) == {200}
    assert Counter(one.task for one in state.done) == dict.fromkeys(range(1, 6), each or raters)
    assert len({(one.rater, one.task) for one in state.done}) == len(state.assignments)
    for one in state.done:
        assert state.answers[one.id]["rate"].answer == {"rating": one.rater % 2}
