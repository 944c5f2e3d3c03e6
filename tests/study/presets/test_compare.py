"""``compare``, click by click."""

from __future__ import annotations

import re
import shutil
from collections import Counter

import msgspec
import numpy as np
import pytest

from replay.core.errors import InputError
from replay.study.presets.compare_results import ComparedSides
from replay.study.running.overview import overview_of
from replay.study.tasks import draw_number
from tests.study.presets.people import POLICIES, TELLTALE, animal_run, shown, study_text, table_of, work
from tests.study.serving import begun, served


def answers_shown(text: str) -> tuple[str, str]:
    return re.search(r"\nA\n(.*?)\nB\n(.*?)\n(?:Right answer|Which one is better)", text, re.DOTALL).groups()


def longer(heading, text):
    """Who prefers the longer answer, and says why where it is A."""
    a, b = map(len, answers_shown(text))
    if a == b:
        return {"choice": "tie"}
    return {"choice": "a", "reason": "longer"} if a > b else {"choice": "b"}


def always_a(heading, text):
    return {"choice": "a"}


def compared_of(study) -> dict[int, ComparedSides]:
    return {id: msgspec.convert(task.content, ComparedSides) for id, task in study.store.tasks().items()}


def answer(side) -> str:
    """As a page shows it."""
    return " ".join(side.turns[0].record.answer.split())


async def test_win_rates_and_the_place_are_counted_by_hand(heron, tmp_path):
    """Ann prefers longer answers, wherever they stand; ben whatever stands under A."""
    database = begun(study_text("compare", [str(heron)], "comparisons: 20", "policies: [ferret]"), tmp_path)
    async with served(database) as study:
        await work(study, 1, longer)
        await work(study, 2, always_a)
        results, state, compared = study.results, study.store.state(), compared_of(study)

    won = Counter()
    for assignment in state.done:
        one = compared[assignment.task]
        assert (one.first.name.system, one.second.name.system) == ("okapi", "zebra")
        depth = one.first.turns[0].record.depth
        if assignment.rater == 1:
            lengths = len(answer(one.first)), len(answer(one.second))
            outcome = "first" if lengths[0] > lengths[1] else "second" if lengths[1] > lengths[0] else "tie"
        else:
            outcome = "second" if assignment.draw % 2 else "first"
        won.update([(depth, outcome), ("all", outcome), (f"rater {assignment.rater}", outcome)])
    assert min(won["rater 2", "first"], won["rater 2", "second"]) > 2, "who stands under A is drawn"
    rows = table_of(results, "Which answers people prefer")
    assert [row["depth"] for row in rows][-1] == "all"
    assert len(rows) == 1 + len({one.first.turns[0].record.depth for one in compared.values()})
    for row in rows:
        of = {outcome: won[row["depth"], outcome] for outcome in ("first", "second", "tie")}
        total = sum(of.values())
        assert (row["under"], row["first"], row["second"], row["judgements"]) == (
            "ferret",
            "okapi",
            "zebra",
            total,
        )
        assert row["first is better"].value == pytest.approx(of["first"] / total)
        assert row["second is better"].value == pytest.approx(of["second"] / total)
        assert row["win rate of the first"].value == pytest.approx((of["first"] + of["tie"] / 2) / total)
    assert rows[-1]["win rate of the first"].low < rows[-1]["win rate of the first"].high
    places = {row["rater"]: row for row in table_of(results, "Whether the place mattered")}
    assert places["ben"]["win rate of A"].value == 1
    assert 0 < places["ann"]["win rate of A"].value < 1
    assert {row["reason"] for row in table_of(results, "Why")} == {"longer"}
    assert all(row["choice"] in ("okapi", "zebra") for row in table_of(results, "Why"))
    for system, outcome in (("okapi", "first"), ("zebra", "second")):
        scores = [s.value for s in results.scores if s.turn.system == system and s.rater == "ann"]
        assert sum(scores) == won["rater 1", outcome] + won["rater 1", "tie"] / 2
    assert all(one.draw == draw_number(3, one.rater, one.task) for one in state.done)
    # Agreement is of systems, not of letters.
    chosen = [set(one.ratings.values()) for one in results.rated["human_win"]]
    same = sum(
        len({"okapi" if c == "okapi" else "zebra" if c == "zebra" else c for c in one}) == 1 for one in chosen
    )
    assert all(set(one.ratings) == {"ann", "ben"} for one in results.rated["human_win"])
    assert 0 < same < len(chosen)
    overview = overview_of(study.pages._flow.file, state, {})
    assert overview.agreement[0].equal.value == pytest.approx(same / len(chosen))
    assert len(overview.partings) == len(chosen) - same
    assert "B is better (okapi, ferret)" in {
        said for one in overview.partings for said in one.answers.values()
    }


async def test_pages_are_blind_and_their_order_is_each_raters_own_and_stays(heron, tmp_path):
    database = begun(
        study_text("compare", [str(heron)], "comparisons: 16", "show: [passage, gold]"), tmp_path
    )
    seen: dict[int, dict[tuple[str, ...], tuple[str, str]]] = {1: {}, 2: {}}

    def rater(number):
        def says(heading, text):
            a, b = answers_shown(text)
            seen[number][tuple(sorted((a, b)))] = (a, b)
            return {"choice": "tie"}

        return says

    async with served(database) as study:
        pages = await work(study, 1, rater(1))
        async with study.at_work(2) as browser:
            before = answers_shown(shown(browser))
    async with served(database) as study:  # begun anew, in the middle of a comparison
        async with study.browser(study.rater_link(2)) as browser:
            assert answers_shown(shown(browser)) == before
        pages += await work(study, 2, rater(2))

    assert len(pages) == 17 + 17
    assert not [name for name in TELLTALE for page in pages if name in page.lower()]
    orders = Counter(seen[1][pair] == seen[2][pair] for pair in seen[1])
    assert min(orders[True], orders[False]) > 2


async def test_three_policies_have_strengths(heron, tmp_path):
    database = begun(
        study_text("compare", [str(heron)], "comparisons: 45", "between: policies", "systems: [zebra]"),
        tmp_path,
    )
    async with served(database) as study:
        await work(study, 1, longer)
        results, compared = study.results, compared_of(study)

    names = ["badger", "ferret", "marten"]
    wins = np.zeros((3, 3))
    for one in compared.values():
        first, second = (names.index(side.name.policy) for side in (one.first, one.second))
        lengths = len(answer(one.first)), len(answer(one.second))
        share = 1 if lengths[0] > lengths[1] else 0 if lengths[1] > lengths[0] else 0.5
        wins[first, second] += share
        wins[second, first] += 1 - share
    p = np.ones(3)
    for _ in range(1_000):  # Hunter (2004), equation 3, one after the other
        for i in range(3):
            p[i] = wins[i].sum() / sum((wins[i, j] + wins[j, i]) / (p[i] + p[j]) for j in range(3) if j != i)
    expected = np.log(p) - np.log(p).mean()
    rows = table_of(results, "Strengths")
    assert {row["under"] for row in rows} == {"zebra"}
    assert {row["name"]: row["strength"].value for row in rows} == pytest.approx(
        dict(zip(names, expected, strict=True)), abs=1e-6
    )


async def test_each_side_shows_its_own_history_and_shared_ones_are_shown_once(heron, tmp_path):
    own = begun(
        study_text("compare", [str(heron)], "comparisons: 200", "policies: [ferret]"), tmp_path, "own.db"
    )
    shared = begun(
        study_text("compare", [str(heron)], "comparisons: 200", "policies: [ferret]", "history: shared"),
        tmp_path,
        "shared.db",
    )
    async with served(own) as study, study.at_work(1) as browser:
        while "Before A" not in browser.html:
            await browser.send("/rate/answer", {"choice": "tie"})
        assignment = study.store.assignments(1)[-1]
        a, b = compared_of(study)[assignment.task].in_order(assignment.draw)
        text = shown(browser)
        left, right = text.partition("Before A\n")[2].split("Before B\n")
        assert " ".join(a.before[-1].answer.split()) in left
        assert " ".join(b.before[-1].answer.split()) in right
        assert a.before != b.before
        some = compared_of(study)
    async with served(shared) as study:
        fewer = compared_of(study)
        assert all(one.first.before == one.second.before for one in fewer.values())
        pages = await work(study, 1, longer)
    assert 0 < len(fewer) < len(some)
    assert not any("Before A" in page for page in pages)


async def test_equal_answers_are_shown_to_nobody_and_counted(heron, tmp_path):
    database = begun(study_text("compare", [str(heron)], "comparisons: 200", "policies: [badger]"), tmp_path)
    async with served(database) as study, study.at_work(1) as browser:
        compared = list(compared_of(study).values())
        await browser.send("/rate/answer", {"choice": "tie"})
        results = study.results

    assert all(one.first.answers != one.second.answers for one in compared)
    assert {(one.different, one.same) for one in compared} == {(len(compared), 30 - len(compared))}
    (table,) = [one for one in results.tables if one.title == "Which answers people prefer"]
    assert f"Of 30 comparisons that the runs offer, {30 - len(compared)} have the same" in table.caption


async def test_whole_conversations_are_compared(heron, tmp_path):
    database = begun(
        study_text("compare", [str(heron)], "unit: conversation", "policies: [ferret]"), tmp_path
    )
    async with served(database) as study:
        pages = await work(study, 1, lambda heading, text: {"choice": "b"})
        results, state = study.results, study.store.state()

    assert len(pages) == 4
    assert pages[0].count('class="question"') == 20
    assert not [name for name in TELLTALE for page in pages if name in page.lower()]
    (row,) = table_of(results, "Which answers people prefer")
    assert (row["depth"], row["judgements"]) == ("all", 3)
    assert row["first is better"].value == sum(one.draw % 2 for one in state.done) / 3
    assert {score.turn.depth for score in results.scores} == {10}
    assert len(results.records) == 60


@pytest.fixture
def changed_zebra(tmp_path):
    """The same conversations, answered by another version of a system."""
    changed = {"name": "zebra", "adapter": "extractive", "settings": {"history_weight": 4.0}}
    return animal_run(tmp_path, systems=[changed], policies=POLICIES[1:2], name="after", conversations=1)


async def test_two_runs_of_one_system_are_compared_as_systems(heron, changed_zebra, tmp_path):
    shutil.copytree(heron, tmp_path / "before")
    runs = ["before", str(changed_zebra)]
    text = study_text("compare", runs, "systems: [zebra (before), zebra (after)]", "comparisons: 3")
    async with served(begun(text, tmp_path)) as study:
        await work(study, 1, longer)
        rows = table_of(study.results, "Which answers people prefer")

    assert {(row["first"], row["second"]) for row in rows} == {("zebra (after)", "zebra (before)")}


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        (("systems: [zebro]",), 'no run has "zebro"; did you mean "zebra"\\? \\(there are okapi, zebra\\)'),
        (("systems: [zebra]", "policies: [ferret]"), "there are no two answers to compare"),
        (("unit: conversation", "history: shared"), "history: shared is for single turns"),
        (("between: runs",), "preset.compare.between"),
    ],
)
def test_settings_that_can_not_be_kept_are_told(heron, tmp_path, settings, error):
    with pytest.raises(InputError, match=error):
        begun(study_text("compare", [str(heron)], *settings), tmp_path)


async def test_practice_shows_what_is_right(heron, tmp_path):
    (tmp_path / "items.jsonl").write_text(
        '{"question": "Who?", "a": "She did.", "b": "Ann Ito did.", "choice": "b", "why": "B says who."}\n'
    )
    text = (
        study_text("compare", [str(heron)], "comparisons: 1")
        + "practice: {items: items.jsonl, pass_mark: 1}\n"
    )
    async with served(begun(text, tmp_path)) as study, study.at_work(1) as browser:
        assert answers_shown(shown(browser)) == ("She did.", "Ann Ito did.")
        await browser.send("/rate/answer", {"choice": "b"})
        assert "B says who." in browser.html
        await browser.send("/rate/practice")
        assert not study.results.scores
