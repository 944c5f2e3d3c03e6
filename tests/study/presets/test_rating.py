"""``rating``, click by click."""

from __future__ import annotations

from tests.study.serving import begun, served


async def test_every_rater_is_given_the_same_drawn_answers(quick_run, tmp_path):
    database = begun(
        f"name: check\npreset: {{rating: {{answers: 4}}}}\nruns: ['{quick_run}']\nraters: [ann, ben]\n",
        tmp_path,
    )
    async with served(database) as study:
        for rater, clicked in ((1, "1"), (2, "0")):
            async with study.browser(study.rater_link(rater)) as browser:
                assert browser.heading == "What to do"
                await browser.send("/rate/begin")
                for _ in range(4):
                    assert browser.heading == "Answer"
                    await browser.send("/rate/answer", {"rating": clicked})
                assert browser.heading == "Done"

        state = study.store.state()
        assert len(state.tasks) == 4
        assert sorted((one.rater, one.task) for one in state.done) == [
            (r, t) for r in (1, 2) for t in (1, 2, 3, 4)
        ]
        results = study.pages._flow.file.preset.results(state)
        assert {(score.rater, score.value) for score in results.scores} == {("ann", 1.0), ("ben", 0.0)}


async def test_a_click_that_comes_twice_counts_once(quick_run, tmp_path):
    database = begun(f"name: check\npreset: {{rating: {{answers: 2}}}}\nruns: ['{quick_run}']\n", tmp_path)
    async with served(database) as study, study.browser(study.rater_link(1)) as browser:
        await browser.send("/rate/begin")
        form = {**browser.form("/rate/answer"), "rating": "1"}
        await browser.post("/rate/answer", form)
        await browser.post("/rate/answer", form)

        assert len(study.store.state().done) == 1
        assert browser.heading == "Answer"


async def test_an_empty_form_is_shown_again_with_what_is_missing(quick_run, tmp_path):
    database = begun(f"name: check\npreset: rating\nruns: ['{quick_run}']\n", tmp_path)
    async with served(database) as study, study.browser(study.rater_link(1)) as browser:
        await browser.send("/rate/begin")
        await browser.send("/rate/answer")

        assert browser.status == 422
        assert "choose one" in browser.html
        assert not study.store.judgements()
