"""The practice round, click by click."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.core.errors import ScenarioError
from replay.study.running.export import rater_rows
from tests.study.serving import Browser, begun, served


def item(rating, **more):
    return {"question": "Who?", "answer": "Ann.", "gold_answer": "Ann", "rating": rating, **more}


def practice_study(run, folder: Path, items, practice: str = "") -> Path:
    """The database of a study with the practice *items*; *practice* are more of its settings."""
    lines = [one if isinstance(one, str) else json.dumps(one) for one in items]
    (folder / "practice.jsonl").write_text("\n".join(lines) + "\n")
    return begun(
        f"name: check\npreset: {{rating: {{answers: 2}}}}\nruns: ['{run}']\nraters: [ann, ben]\n"
        f"practice: {{items: practice.jsonl, {practice}}}\n",
        folder,
    )


async def rate(browser: Browser, *ratings: int) -> None:
    for rating in ratings:
        await browser.send("/rate/answer", {"rating": str(rating)})


async def test_practice_comes_first_and_in_order_with_what_was_right(quick_run, tmp_path):
    items = [item(1, question="First?", why="Because <b>so</b>."), item(0, question="Second?")]
    database = practice_study(quick_run, tmp_path, items, "pass_mark: 0.5")
    async with served(database) as study, study.at_work(1) as browser:
        assert "First?" in browser.html
        assert "Practice, 1 of 2" in browser.html
        await rate(browser, 0)
        assert browser.heading == "Not correct"
        assert "wrong: No" in browser.html
        assert "Because &lt;b&gt;so&lt;/b&gt;." in browser.html
        # Once the right answer was seen, the one that was given stands.
        await browser.open("/rate")
        assert browser.heading == "Not correct"
        first = browser.form("/rate/practice")
        await browser.send("/rate/practice")
        assert "Second?" in browser.html
        await rate(browser, 0)
        await browser.post("/rate/practice", first)
        assert browser.heading == "Correct", "a click that comes twice goes on once"
        await browser.send("/rate/practice")
        assert browser.heading == "Practice passed"
        assert "1 of 2 answers were right; 50 % are needed" in browser.html
        assert study.store.raters()[0].qualified_at is None
        await browser.send("/rate/practice")
        assert study.store.raters()[0].qualified_at is not None
        await rate(browser, 1, 1)
        assert browser.heading == "Done"

        state = study.store.state()
        results = study.pages._flow.file.preset.results(state)
        assert len(state.done) == len(results.scores) == 2, "practice counts in no result"
        assert all(record.system != "practice" for record in results.records)


async def test_an_answer_stands_once_its_feedback_was_shown(quick_run, tmp_path):
    database = practice_study(quick_run, tmp_path, [item(1)])
    async with served(database) as study, study.at_work(1) as browser:
        late = {**browser.form("/rate/answer"), "rating": "1", "click": "late"}
        await rate(browser, 0)
        await browser.post("/rate/answer", late)

        assert browser.heading == "Not saved"
        await browser.open("/rate")
        assert browser.heading == "Not correct"
        assert [one.answer for one in study.store.judgements()[1].values()] == [{"rating": 0}]


async def test_a_qualification_shows_nothing_and_is_failed_for_good_after_its_tries(quick_run, tmp_path):
    database = practice_study(quick_run, tmp_path, [item(1), item(0)], "tries: 2, feedback: false")
    async with served(database) as study:
        async with study.at_work(1) as browser:
            await rate(browser, 1, 1)
            assert browser.heading == "Not passed yet"
            assert "1 of 2 answers were right; 80 % are needed" in browser.html
            assert "try again once" in browser.html
            again = browser.form("/rate/practice")
            await browser.send("/rate/practice")
            assert browser.heading == "Answer"
            await browser.post("/rate/practice", again)
            assert browser.heading == "Answer", "a click that comes twice begins one try"
            await rate(browser, 1, 1)
            assert browser.heading == "Thank you"
            assert "not passed" in browser.html
            last = study.store.assignments(1)[-1].id
            await browser.post("/rate/practice", {**again, "assignment": str(last)})
            assert browser.heading == "Thank you"
            assert len(study.store.assignments(1)) == 4
        async with study.at_work(2) as browser:
            await rate(browser, 0, 0)
            await browser.send("/rate/practice")
            await rate(browser, 1, 0)
            assert browser.heading == "Practice passed", "the last try counts, and no other"

        ann, ben = study.store.raters()
        assert ann.failed_at
        assert not ann.qualified_at
        assert not ben.failed_at


async def test_practice_takes_nothing_of_what_a_rater_may_do(quick_run, tmp_path):
    """The limit and the progress count work."""
    database = practice_study(quick_run, tmp_path, [item(1)], "feedback: false}\nlimits: {tasks_per_rater: 1")
    async with served(database) as study, study.at_work(1) as browser:
        await rate(browser, 1)
        await browser.send("/rate/practice")
        assert "0 done" in browser.html
        await rate(browser, 1)
        assert browser.heading == "Done"
        state = study.store.state()
        assert len(state.done) == 1
        assert [row["done"] for row in rater_rows(study.pages._flow.file.preset, state)] == [1, 0]


async def test_practice_goes_on_where_a_killed_server_left_it(quick_run, tmp_path):
    database = practice_study(quick_run, tmp_path, [item(1), item(1)])
    async with served(database) as study, study.at_work(1) as browser:
        await rate(browser, 1)
    async with served(database) as study, study.browser(study.rater_link(1)) as browser:
        assert browser.heading == "Correct"
        await browser.send("/rate/practice")
    async with served(database) as study, study.browser(study.rater_link(1)) as browser:
        assert "Practice, 2 of 2" in browser.html


@pytest.mark.parametrize(
    ("items", "wrong"),
    [
        ([], ["practice.jsonl: holds no item"]),
        ([item(1), "{"], ["practice.jsonl:2: "]),
        ([item(1), {"question": "Who?"}], ["practice.jsonl:2: answer: is required but missing"]),
        ([item(1, ratting=2)], ["practice.jsonl:1: ratting: is not a field here; did you mean"]),
        (
            [item(7), item(1), item(8)],
            [
                'practice.jsonl:1: rating: "7" can\'t be the right answer; it takes 1 (Yes)',
                'practice.jsonl:3: rating: "8"',
            ],
        ),
    ],
)
def test_bad_items_are_all_named_when_the_study_begins(quick_run, tmp_path, items, wrong):
    with pytest.raises(ScenarioError) as caught:
        practice_study(quick_run, tmp_path, items)
    assert all(one in str(caught.value) for one in wrong)
    assert len(caught.value.faults) == len(wrong)
    assert "practice.items" in str(caught.value)
    assert not (tmp_path / "study.db").exists()


def test_a_practice_file_that_is_not_there_is_named(quick_run, tmp_path):
    with pytest.raises(ScenarioError, match=r"gone.jsonl"):
        begun(
            f"name: check\npreset: rating\nruns: ['{quick_run}']\npractice: {{items: gone.jsonl}}\n", tmp_path
        )
