"""Items with known answers among the work, and who is stopped by them."""

from __future__ import annotations

import json

import pytest

from replay.core.errors import ScenarioError
from replay.study.running.overview import overview_of
from tests.study.running.test_practice import item, rate
from tests.study.serving import begun, served


def attention_study(run, folder, settings="every: 2, stop_after: 2", more="", items=3):
    lines = [json.dumps(item(1, question=f"Known {n}?")) for n in range(items)]
    (folder / "attention.jsonl").write_text("\n".join(lines) + "\n")
    return begun(
        f"name: check\nseed: 4\npreset: {{rating: {{answers: 6, raters: 1}}}}\nruns: ['{run}']\n"
        f"raters: [ann, ben]\nattention: {{items: attention.jsonl, {settings}}}\n{more}",
        folder,
    )


async def work(browser, known: str, other: str = "0"):
    """Until there is nothing to do; returns whether each screen was an attention item."""
    met = []
    while 'action="/rate/answer"' in browser.html:
        met.append("Known " in browser.html)
        await rate(browser, known if met[-1] else other)
    return met


async def test_one_stands_in_every_so_many_pieces_of_work_and_looks_like_them(quick_run, tmp_path):
    async with (
        served(attention_study(quick_run, tmp_path)) as study,
        study.at_work(1) as one,
    ):
        met = await work(one, "1")
        assert sum(met) == 3
        work_before = [sum(not earlier for earlier in met[:n]) for n, known in enumerate(met) if known]
        assert [before // 2 for before in work_before] == [0, 1, 2], "one in each two"
        assert one.heading == "Done"
        assert "attention" not in "".join(one.received).lower()
        assert "Practice" not in "".join(one.received)
        state = study.store.state()
        assert len(state.done) == 6
        assert len(study.pages._flow.file.preset.results(state).scores) == 6, "they count in no result"
        ann = overview_of(study.pages._flow.file, state, {}).raters[0]
        assert (ann.attention_wrong, ann.attention) == (0, 3)


async def test_too_many_wrong_end_a_part_and_others_do_the_work_again(quick_run, tmp_path):
    async with served(attention_study(quick_run, tmp_path)) as study:
        async with study.at_work(1) as ann:
            met = await work(ann, "0")
            assert sum(met) == 2, "the second wrong one is the last screen"
            assert ann.heading == "Thank you"
            assert "too many of yours were different" in ann.html
            done = [one.state for one in study.store.assignments(1)]
            assert done.count("discarded") == len(met) - 2
            assert study.store.state().done == []
        async with study.at_work(2) as ben:
            await work(ben, "1")
            assert len(study.store.state().done) == 6, "all of it"
        async with study.browser(study.owner_link) as owner:
            assert "stopped: attention items" in owner.html
            assert "2 of 2" in owner.html
            await owner.post("/owner/return", {**owner.form("/owner/return"), "rater": "1"})
        assert len(study.store.state().done) == 6 + len(met) - 2, "let back in, it counts again"


async def test_without_a_stop_rule_they_are_only_counted(quick_run, tmp_path):
    database = attention_study(quick_run, tmp_path, "every: 2")
    async with served(database) as study, study.at_work(1) as ann:
        assert sum(await work(ann, "0")) == 3
        assert ann.heading == "Done"
        assert len(study.store.state().done) == 6


async def test_they_take_nothing_of_what_a_rater_may_do(quick_run, tmp_path):
    database = attention_study(quick_run, tmp_path, "every: 2", "limits: {tasks_per_rater: 4}\n")
    async with served(database) as study, study.at_work(1) as ann:
        met = await work(ann, "1")
        assert met.count(False) == 4
        assert met.count(True) >= 2


async def test_the_owner_can_discard_somebody_s_work(quick_run, tmp_path):
    database = attention_study(quick_run, tmp_path)
    async with served(database) as study, study.at_work(1) as ann:
        await work(ann, "1")
        async with study.browser(study.owner_link) as owner:
            await owner.post("/owner/discard", {**owner.form("/owner/discard"), "rater": "1"})
        assert study.store.state().done == []
        await ann.open("/rate")
        assert ann.heading == "You have left this study"


def test_what_is_wrong_in_its_file_is_said_by_line(quick_run, tmp_path):
    (tmp_path / "attention.jsonl").write_text(json.dumps(item(7)) + "\n")
    with pytest.raises(ScenarioError) as caught:
        begun(
            f"name: check\npreset: rating\nruns: ['{quick_run}']\nattention: {{items: attention.jsonl}}\n",
            tmp_path,
        )
    assert "attention.items" in str(caught.value)
    assert "attention.jsonl:1: rating" in str(caught.value)
