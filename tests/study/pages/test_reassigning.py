"""The owner gives tasks to others, and other owners come in."""

from __future__ import annotations

import pytest
from aiohttp import ClientSession

from tests.study.running.test_phase import form_of
from tests.study.running.test_practice import rate
from tests.study.serving import begun, served


@pytest.fixture
def database(quick_run, tmp_path):
    """Of a study of two answers, each rated by one of two people."""
    return begun(
        f"name: check\npreset: {{rating: {{answers: 2, raters: 1}}}}\nruns: ['{quick_run}']\n"
        "raters: [ann, ben]\n",
        tmp_path,
    )


async def test_what_is_done_goes_to_others_and_counts_no_more(database):
    async with (
        served(database) as study,
        study.browser(study.rater_link(1)) as ann,
        study.browser(study.owner_link) as owner,
    ):
        await ann.send("/rate/begin")
        await rate(ann, 1, 1)
        await owner.open("/owner/task/1")
        await owner.send("/owner/reassign")
        assert owner.status == 200, owner.html
        assert len(study.store.state().done) == 1
        await ann.open("/rate")
        assert ann.heading == "Done", "it doesn't come back to whom it was taken from"
        async with study.at_work(2) as ben:
            await rate(ben, 0)
            assert ben.heading == "Done"
        assert {(one.task, one.rater) for one in study.store.state().done} == {(1, 2), (2, 1)}


async def test_what_is_open_can_be_given_to_somebody_by_name(database):
    async with (
        served(database) as study,
        study.browser(study.rater_link(1)) as ann,
        study.browser(study.owner_link) as owner,
    ):
        await ann.send("/rate/begin")
        (open_one,) = study.store.assignments(1)
        await owner.open(f"/owner/task/{open_one.task}")
        await owner.send("/owner/give", {"rater": "2"})
        assert owner.status == 200, owner.html
        await ann.open("/rate")
        await rate(ann, 1)
        assert ann.heading == "Done"
        async with study.at_work(2) as ben:
            await rate(ben, 1)
            assert ben.heading == "Done"
        assert (open_one.task, 2) in {(one.task, one.rater) for one in study.store.state().done}
        await owner.open(f"/owner/task/{open_one.task}")
        await owner.send("/owner/give", {"rater": "1"})
        assert owner.status == 422
        assert "choose somebody else" in owner.html


async def test_a_further_owner_has_a_link_that_can_be_taken_away(database):
    async with served(database) as study, study.browser(study.owner_link) as owner:
        await owner.send("/owner/add-owner", {"name": "Cleo"})
        link = f"{study.address}/owner?token={study.pages.access.further_owner_token(1)}"
        assert link in owner.html
        async with study.browser(link) as cleo:
            assert "The study is open" in cleo.html
            await cleo.post("/owner/phase", {**form_of(cleo), "phase": "paused"})
            assert "The study is paused" in cleo.html
            await owner.open("/owner")
            await owner.send("/owner/remove-owner")
            await cleo.open("/owner")
            assert cleo.status == 401
        await owner.send("/owner/add-owner", {"name": "Dan"})
        async with ClientSession() as client, client.get(link) as response:
            assert response.status == 401, "a number is used once"
    async with served(database) as study:
        again = f"{study.address}/owner?token={study.pages.access.further_owner_token(2)}"
        async with study.browser(again) as dan:
            assert dan.status == 200, "owners outlive the server"
