"""Raters and items that come by CSV while a study goes on."""

from __future__ import annotations

import csv

import pytest

from replay.study.running.export import export_study
from tests.study.running.test_phase import form_of
from tests.study.running.test_practice import rate
from tests.study.serving import begun, served

ITEMS = (
    'question;answer;gold_answer;system\nWho wrote it?;Ann.;Ann Lee;robin\n"When;\nthen?";1921;1921;robin\n'
)


def study(run, folder, preset="rating: {answers: 1}"):
    return begun(f"name: check\npreset: {{{preset}}}\nruns: ['{run}']\nraters: [ann, ben]\n", folder)


async def add(owner, what, text):
    await owner.post(f"/owner/add-{what}", {**form_of(owner), "csv": text})


@pytest.mark.parametrize(
    "text", ["cleo\ndan  lee\n", "id,name\n7,cleo\n8,dan lee\n", "\ufeffname\r\ncleo\r\ndan lee\r\n"]
)
async def test_raters_come_from_lines_or_a_column(quick_run, tmp_path, text):
    async with served(study(quick_run, tmp_path)) as one, one.browser(one.owner_link) as owner:
        await add(owner, "raters", text)
        assert owner.status == 200, owner.html
        assert [rater.name for rater in one.store.raters()] == ["ann", "ben", "cleo", "dan lee"]
        assert one.pages.access.rater_token(4) in owner.html


async def test_a_row_that_can_t_be_taken_is_named_and_nobody_is_added(quick_run, tmp_path):
    async with served(study(quick_run, tmp_path)) as one, one.browser(one.owner_link) as owner:
        for text, said in (
            ("cleo\nann\n", "line 2: a rater is called"),
            ("", "there is no name in it"),
            ("name,x\ncleo,1,2\n", "line 2: has more cells"),
            (f"{'x' * 101}\n", "line 1: a rater&#39;s name has 1 to 100"),
        ):
            await add(owner, "raters", text)
            assert (owner.status, said in owner.html) == (422, True), owner.html
        assert len(one.store.raters()) == 2


async def test_items_are_given_judged_and_exported_like_all_others(quick_run, tmp_path):
    database = study(quick_run, tmp_path)
    async with (
        served(database) as one,
        one.browser(one.owner_link) as owner,
        one.at_work(1) as ann,
    ):
        await rate(ann, 1)
        assert ann.heading == "Done"
        await add(owner, "items", ITEMS)
        assert owner.status == 200, owner.html
        await ann.open("/rate")
        shown = ann.html
        await rate(ann, 1)
        assert "When;\nthen?" in shown + ann.html
        await rate(ann, 0)
        assert ann.heading == "Done"
        async with one.at_work(2) as ben:
            await rate(ben, 1, 1, 1)
            assert ben.heading == "Done"
        await owner.open("/owner/numbers")
        assert "robin" in owner.html
    export_study(database, tmp_path / "out", resamples=0)
    with (tmp_path / "out" / "ratings.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert sum(row["system"] == "robin" for row in rows) == 4


async def test_pairs_come_with_both_systems_names(heron, tmp_path):
    database = study(heron, tmp_path, "compare: {comparisons: 1}")
    async with served(database) as one, one.browser(one.owner_link) as owner:
        await add(owner, "items", "question,a,b,system_a,system_b\nWho?,Ann.,Bea.,robin,wren\n")
        assert owner.status == 200, owner.html
        async with one.at_work(1) as ann:
            pages = [ann.text]
            await ann.send("/rate/answer", {"choice": "a"})
            pages.append(ann.text)
            assert "Bea." in "".join(pages)
            assert "wren" not in "".join(pages)
            await ann.send("/rate/answer", {"choice": "a"})
            assert ann.heading == "Done"
        await owner.open("/owner/numbers")
        assert "wren" in owner.html


async def test_an_item_that_can_t_be_taken_is_named_and_none_is_added(quick_run, tmp_path):
    async with served(study(quick_run, tmp_path)) as one, one.browser(one.owner_link) as owner:
        for text, said in (
            ("question,answer\nWho?,Ann.\nWhen?,\n", "line 3: Object missing required field"),
            ("question,anwser\nWho?,Ann.\n", "columns: question, answer, gold_answer, passage, system"),
            ('question,answer\n"Who?,Ann.\n', "is not valid CSV"),
            ("question,answer\n", "there is no row in it"),
        ):
            await add(owner, "items", text)
            assert (owner.status, said in owner.html) == (422, True), owner.html
        assert len(one.store.tasks()) == 1
