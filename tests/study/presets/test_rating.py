"""``rating``, click by click."""

from __future__ import annotations

import random
import re
import shutil
from collections import Counter

import pytest
from hypothesis import given, strategies as st

from replay.core.errors import InputError, ReplayError
from replay.results.run import Run
from replay.statistics.rater_agreement import cohen
from replay.study.presets.run_turns import draw_turns
from tests.data_tables import from_table
from tests.study.presets.people import TELLTALE, study_text, work
from tests.study.serving import begun, served


def answer_shown(text: str) -> str:
    return re.search(r"\nAnswer to judge\n(.*?)\n(?:What others said|Does|How)", text, re.DOTALL)[1]


async def test_every_rater_is_given_the_same_drawn_answers(quick_run, tmp_path):
    database = begun(study_text("rating", [quick_run], "answers: 4"), tmp_path)
    async with served(database) as study:
        for rater, clicked in ((1, "1"), (2, "0")):
            pages = await work(study, rater, lambda heading, text, clicked=clicked: {"rating": clicked})
            assert len(pages) == 5
        state = study.store.state()
        assert len(state.tasks) == 4
        assert sorted((one.rater, one.task) for one in state.done) == [
            (r, t) for r in (1, 2) for t in (1, 2, 3, 4)
        ]
        assert {(score.rater, score.value) for score in study.results.scores} == {("ann", 1.0), ("ben", 0.0)}


async def test_a_click_that_comes_twice_counts_once_and_an_empty_form_says_what_is_missing(
    quick_run, tmp_path
):
    database = begun(f"name: check\npreset: {{rating: {{answers: 2}}}}\nruns: ['{quick_run}']\n", tmp_path)
    async with served(database) as study, study.at_work(1) as browser:
        await browser.send("/rate/answer")
        assert (browser.status, "choose one" in browser.html) == (422, True)
        assert not study.store.judgements()
        form = {**browser.form("/rate/answer"), "rating": "1"}
        await browser.post("/rate/answer", form)
        await browser.post("/rate/answer", form)
        assert len(study.store.state().done) == 1
        assert browser.heading == "Answer"


async def test_answers_that_raters_part_on_go_to_the_adjudicator_and_nothing_else_does(heron, tmp_path):
    """Four answers: ben says no to two of them, so cat has two screens; she says no to one and yes to one."""
    settings = ("answers: 4", "adjudicate: true", "adjudicator: cat")
    database = begun(study_text("rating", [heron], *settings, raters="[ann, ben, cat]"), tmp_path)
    bens, cats = iter("1010"), iter("01")
    bens_noes, cats_screens = [], []

    def ben(heading, text):
        rating = next(bens)
        bens_noes.extend([answer_shown(text)] * (rating == "0"))
        return {"rating": rating, "comment": "too short" if rating == "0" else ""}

    def cat(heading, text):
        cats_screens.append(text)
        return {"rating": next(cats)}

    async with served(database) as study:
        await work(study, 1, lambda heading, text: {"rating": "1"})
        await work(study, 2, ben)
        await work(study, 3, cat)
        results = study.results

    assert sorted(map(answer_shown, cats_screens)) == sorted(bens_noes)
    assert not any("too short" in text for text in cats_screens)
    ratings = {
        rater: {s.turn: s.value for s in results.scores if s.name == "human_rating" and s.rater == rater}
        for rater in ("ann", "ben", "cat")
    }
    assert ratings["cat"] == {}, "who adjudicates is no further rater"
    turns = list(ratings["ann"])
    # Observed agreement 2/4, expected 1 * 1/2: kappa (0.5 - 0.5)/(1 - 0.5).
    assert cohen([(ratings["ann"][t], ratings["ben"][t]) for t in turns]).value() == 0
    final = {s.turn: s.value for s in results.scores if s.name == "final_rating"}
    agreed = [turn for turn in turns if ratings["ben"][turn] == 1]
    assert [final[turn] for turn in agreed] == [1, 1]
    assert Counter(final[turn] for turn in turns if turn not in agreed) == {0.0: 1, 1.0: 1}
    (table,) = results.tables
    assert len(table.rows) == 2
    by_column = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert {row["ratings"] for row in by_column} == {"ann: Yes; ben: No (too short)"}
    assert {row["answer"] for row in by_column} == set(bens_noes)
    assert sorted(row["final"] for row in by_column) == [0, 1]


async def test_three_raters_part_once_and_their_majority_is_final_until_somebody_settles_it(heron, tmp_path):
    settings = ("answers: 1", "adjudicate: true", "adjudicator: cat")
    database = begun(study_text("rating", [heron], *settings, raters="[ann, ben, dan, cat]"), tmp_path)
    finals = []
    async with served(database) as study:
        for rater, rating in enumerate(("1", "0", "1"), start=1):
            await work(study, rater, lambda heading, text, rating=rating: {"rating": rating})
            finals.append([s.value for s in study.results.scores if s.name == "final_rating"])
        pages = await work(study, 4, lambda heading, text: {"rating": "0"})
        finals.append([s.value for s in study.results.scores if s.name == "final_rating"])

    assert finals == [[1], [None], [1], [0]]
    assert len(pages) == 2, "one answer to settle"


async def test_who_adjudicates_waits_until_the_others_are_done(heron, tmp_path):
    settings = ("answers: 2", "adjudicate: true", "adjudicator: cat")
    database = begun(study_text("rating", [heron], *settings, raters="[ann, ben, cat]"), tmp_path)
    headings = []
    async with served(database) as study, study.at_work(3) as cat:
        headings.append(cat.heading)
        for rater in (1, 2):
            await work(study, rater, lambda heading, text: {"rating": "1"})
            await cat.open("/rate")
            headings.append(cat.heading)

    assert headings == ["Nothing to do just now", "Nothing to do just now", "Done"]


async def test_without_a_name_somebody_who_has_not_rated_adjudicates_and_may_see_the_ratings(heron, tmp_path):
    settings = ("answers: 2", "raters: 2", "adjudicate: true", "adjudicator_sees_ratings: true")
    database = begun(study_text("rating", [heron], *settings, raters="[ann, ben, cat]"), tmp_path)
    screens = []

    def third(heading, text):
        screens.append(text)
        return {"rating": "0"}

    async with served(database) as study:
        await work(study, 1, lambda heading, text: {"rating": "1"})
        await work(study, 2, lambda heading, text: {"rating": "0"})
        await work(study, 3, third)
        state = study.store.state()
        final = [score.value for score in study.results.scores if score.name == "final_rating"]

    assert final == [0, 0]
    assert {one.rater for one in state.done if state.tasks[one.task].kind == "adjudicate"} == {3}
    assert all(
        "What others said\nDoes the answer cover the information of the right answer? Yes, No" in text
        for text in screens
    )


async def test_scales_part_above_a_distance_and_have_means(heron, tmp_path):
    """Two criteria; fluency differs by 1, which is borne, and covers by 2, which is not."""
    settings = (
        "answers: 1",
        "adjudicate: true",
        "adjudicator: cat",
        "adjudicate_above: 1",
        "criteria:",
        "  fluency: {question: How fluent is it, scale: {1: broken, 2: fair, 3: fluent}}",
        "  covers: {question: How much does it cover, scale: {1: nothing, 2: some, 3: all}}",
    )
    database = begun(study_text("rating", [heron], *settings, raters="[ann, ben, cat]"), tmp_path)
    asked = []

    def cat(heading, text):
        asked.append(text)
        return {"covers": "2"}

    async with served(database) as study:
        await work(study, 1, lambda heading, text: {"fluency": "3", "covers": "1"})
        await work(study, 2, lambda heading, text: {"fluency": "2", "covers": "3"})
        await work(study, 3, cat)
        scores = {(s.name, s.rater): s.value for s in study.results.scores}

    assert len(asked) == 1
    assert "How fluent" not in asked[0]
    assert scores == {
        ("human_fluency", "ann"): 3,
        ("human_fluency", "ben"): 2,
        ("final_fluency", "final"): 2.5,
        ("human_covers", "ann"): 1,
        ("human_covers", "ben"): 3,
        ("final_covers", "final"): 2,
    }


async def test_no_page_names_system_policy_or_run_and_strata_are_drawn_in_proportion(heron, tmp_path):
    database = begun(study_text("rating", [heron], "answers: 12", "stratify: [system, policy]"), tmp_path)
    async with served(database) as study:
        pages = await work(study, 1, lambda heading, text: {"rating": "1"})
        records = [task.content["record"] for task in study.store.tasks().values()]

    assert len(pages) == 13
    assert not [name for name in TELLTALE for page in pages if name in page.lower()]
    drawn_of = Counter((record["system"], record["policy"]) for record in records)
    assert len(drawn_of) == 6
    assert set(drawn_of.values()) == {2}


async def test_the_history_is_what_the_system_was_shown(heron, tmp_path):
    """Under gold the recorded answers, and under pred its own."""
    database = begun(study_text("rating", [heron], "answers: 200"), tmp_path)
    records = {(r.system, r.policy, r.conversation, r.depth): r for r in Run(heron).records()}
    async with served(database) as study:
        contents = [task.content for task in study.store.tasks().values()]

    seen = Counter()
    for content in contents:
        record = content["record"]
        if record["depth"] < 2:
            continue
        before = records[record["system"], record["policy"], record["conversation"], record["depth"] - 1]
        shown = before.gold_answers[0] if record["policy"] == "badger" else before.answer
        assert content["history"][-1]["answer"] == shown
        seen[record["policy"]] += before.answer != before.gold_answers[0]
    assert all(seen[policy] > 0 for policy in ("badger", "ferret", "marten"))


async def test_runs_are_told_apart_and_needed_no_more_once_the_study_has_begun(heron, tmp_path):
    for name in ("first", "second"):
        shutil.copytree(heron, tmp_path / name)
    text = study_text("rating", ["first", "second"], "answers: 6", "stratify: [system]")
    database = begun(text, tmp_path)
    for name in ("first", "second"):
        shutil.rmtree(tmp_path / name)
    async with served(database) as study:
        await work(study, 1, lambda heading, text: {"rating": "1"})
        results = study.results

    systems = {(origin.system, origin.run): name for (name, _), origin in results.origins.items()}
    assert systems == {
        (system, run): f"{system} ({run})" for system in ("zebra", "okapi") for run in ("first", "second")
    }
    assert {record.system for record in results.records} == set(systems.values())
    about = {conversation.id: conversation for conversation in results.conversations}
    assert all(
        about[record.conversation].turns[record.depth - 1].question == record.recorded
        for record in results.records
    )


@from_table
def test_settings_that_can_not_be_kept_are_told(heron, tmp_path, settings, error):
    with pytest.raises(InputError, match=error):
        begun(study_text("rating", [heron], *settings), tmp_path)


def test_runs_of_one_name_or_of_other_data_are_told(heron, tmp_path):
    shutil.copytree(heron, tmp_path / "heron")
    with pytest.raises(ReplayError, match='another run is called "heron" too'):
        begun(study_text("rating", [heron, "heron"]), tmp_path)


@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=6),
    count=st.integers(1, 200),
    seed=st.integers(0, 9),
)
def test_a_draw_keeps_proportions_or_is_even(sizes, count, seed):
    items = [(stratum, number) for stratum, size in enumerate(sizes) for number in range(size)]
    most = min(count, len(items))
    for evenly in (False, True):
        chosen = draw_turns(items, count, random.Random(seed), stratum=lambda item: item[0], evenly=evenly)

        assert len(set(chosen)) == len(chosen) == most
        taken = Counter(stratum for stratum, _ in chosen)
        for one, size in enumerate(sizes):
            if not evenly:
                assert abs(taken[one] - most * size / len(items)) < 2
            elif taken[one] < size:
                assert taken[one] >= max(taken.values()) - 1


TWO_CRITERIA = ("criteria:", "  fluent: {question: Is it fluent}", "  covers: {question: Does it cover}")


def rating_of(fluent, covers):
    return lambda heading, text: {"fluent": fluent, "covers": covers}


async def test_whoever_settles_gets_each_criterion_that_any_of_all_raters_part_on(heron, tmp_path):
    """The first two part on one, the fourth makes another a tie of two and two."""
    settings = ("answers: 1", "adjudicate: true", "adjudicator: eve", *TWO_CRITERIA)
    database = begun(study_text("rating", [heron], *settings, raters="[ann, ben, cat, dan, eve]"), tmp_path)
    asked = []

    def eve(heading, text):
        asked.append(text)
        return {"fluent": "0", "covers": "1"}

    async with served(database) as study:
        for rater, said in enumerate((("1", "1"), ("1", "0"), ("0", "1"), ("0", "0")), start=1):
            await work(study, 5, eve)
            assert asked == [], "as long as somebody has yet to rate it"
            await work(study, rater, rating_of(*said))
        await work(study, 5, eve)
        finals = {one.name: one.value for one in study.results.scores if one.rater == "final"}

    assert len(asked) == 1
    assert finals == {"final_fluent": 0, "final_covers": 1}


async def test_what_raters_part_on_later_is_settled_as_well(heron, tmp_path):
    settings = ("answers: 1", "adjudicate: true", "adjudicator: eve", *TWO_CRITERIA)
    database = begun(study_text("rating", [heron], *settings, raters="[ann, ben, eve]"), tmp_path)
    async with served(database) as study:
        await work(study, 1, rating_of("1", "1"))
        await work(study, 2, rating_of("1", "0"))
        assert len(await work(study, 3, lambda heading, text: {"covers": "1"})) == 2
        async with study.browser(study.rater_link(1)) as ann:
            await ann.open("/rate/1/rate")
            await ann.send("/rate/answer", {"fluent": "0", "covers": "1"})
        assert len(await work(study, 3, lambda heading, text: {"fluent": "0"})) == 2
        finals = {one.name: one.value for one in study.results.scores if one.rater == "final"}

    assert finals == {"final_fluent": 0, "final_covers": 1}


async def test_nobody_waits_for_who_has_left_or_may_be_given_no_more(heron, tmp_path):
    settings = ("answers: 2", "adjudicate: true", "adjudicator: eve")
    text = study_text("rating", [heron], *settings, raters="[ann, ben, cat, dan, eve]")
    async with served(begun(f"{text}limits: {{tasks_per_rater: 2}}\n", tmp_path)) as study:
        await work(study, 1, lambda heading, text: {"rating": "1"})
        await work(study, 2, lambda heading, text: {"rating": "0"})
        for rater in (3, 4):
            async with study.at_work(rater) as browser:
                await browser.send("/rate/leave")
        assert len(await work(study, 5, lambda heading, text: {"rating": "1"})) == 3
