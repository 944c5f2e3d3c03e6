"""What the page "Gold against reality" says of a gap, from a run's database."""

from __future__ import annotations

import pytest

from replay.results.run import Run
from replay.statistics.attribution import Attribution, AttributionPart, GapByVerdict
from replay.store.page_queries import RunBrowser
from replay.viewer.difference_views import attribution_sentence, gap_view, missing_policies, verdict_sentence
from replay.viewer.pages import render
from replay.viewer.run_numbers import run_numbers
from tests.data_tables import from_table
from tests.viewer.runs import add, create, drifted, finish, record, talk

KINDS = {
    "gold": "gold",
    "mine": "pred|coref:x",
    "clear": "gold+standalone",
    "replace": "replace+always|coref:x",
    "augment": "augment|mode:resolve",
    "rewrite": "rewrite|rewriter:x",
}
CONVERSATIONS = 14


@pytest.fixture
async def view(tmp_path):
    """The page of a run with one score, by policy the value of every first and every second turn."""

    async def view(scorer="f1", edited=True, judged=True, other=0, **values):
        store = create(tmp_path / "run", {label: KINDS[label] for label in values})
        names = [f"c{n}" for n in range(CONVERSATIONS)]
        records, scores = [], {}
        for label, pair in values.items():
            for name in names:
                for depth, value in enumerate(pair, 1):
                    is_drifted = judged and label == "mine" and depth == 2
                    more = {"drift": drifted()} if is_drifted else {}
                    if edited and depth == 2 and label not in ("gold", "mine"):
                        is_other = label == "replace" and name in names[:other]
                        words = "In words of its own?" if is_other else "In other words?"
                        more |= {"asked": words, "edit": "replaced"}
                    records.append(record(name, depth, label, **more))
                    scores[label, name, depth] = value
        try:
            await add(store, [talk(name) for name in names], records)
            finish(store, {scorer: scores})
        finally:
            store.close()
        numbers = run_numbers(Run(tmp_path / "run"), RunBrowser(tmp_path / "run"), resamples=200)
        return gap_view(numbers)

    return view


def said(view):
    """The page's words, tags taken out."""
    import re

    page = render("gold.html", gold=view, failed=None)
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


async def test_four_cells_are_taken_apart_in_words_without_shares(view):
    page = said(await view(gold=(1, 0.8), mine=(1, 0.0), clear=(1, 0.9), replace=(1, 0.6)))
    assert "GR 90.0 · OR 50.0 · GM 95.0 · OM 80.0: At least 25.0 points of the gap is drift" in page
    assert "the same words give 5.0 points after the gold history" in page
    assert "At most 15.0 points is wrong answers in the history: drift that the words missed" in page
    assert "no words mend" not in page
    assert "% of the gap" not in page
    assert "add to the scenario" not in page


async def test_better_words_alone_are_not_called_drift(view):
    page = said(await view(gold=(1, 0.5), mine=(1, 0.3), clear=(1, 0.7), replace=(1, 0.5)))
    assert "Drift can't be told from none (p = 1.000); the same words give 10.0 points" in page.replace(
        "&#39;", "'"
    )


async def test_slower_answers_are_a_loss(view):
    page = said(await view("latency", gold=(1, 1), mine=(1, 3), clear=(1, 1), replace=(1, 2)))
    assert "At least 500 ms of the gap is drift" in page
    assert "does better" not in page


async def test_a_policy_that_edited_nothing_says_so(view):
    page = said(await view(gold=(1, 1), mine=(1, 0), replace=(1, 1), edited=False))
    assert "No question was put differently on these turns" in page


async def test_augment_alone_repairs_nothing(view):
    found = await view(gold=(1, 1), mine=(1, 0), augment=(1, 1), edited=False)
    assert found.attributions == ()
    assert len(found.missing) == 2


async def test_drift_that_a_rewriter_missed_is_not_called_wrong_answers(view):
    page = said(
        await view(gold=(1, 1), mine=(1, 0), rewrite=(1, 0.4), augment=(1, 0.9), clear=(1, 1), replace=(1, 1))
    ).replace("&#39;", "'")
    assert "control: replace, clear" in page
    assert "rewrite gives back 20.0 points: drift and better wording" in page
    assert "it missed or spoiled 30.0 points that people's words give back. At least 50.0 points" in page
    assert "What wrong answers in the history cost can't be told from nothing" in page


async def test_a_rewriter_without_people_s_words_is_told_what_is_left_to_tell(view):
    page = said(await view(gold=(1, 1), mine=(1, 0), rewrite=(1, 0.4), augment=(1, 0.9)))
    assert "What is left is wrong answers in the history, or drift that it missed or spoiled" in page
    assert "add to the scenario’s policies: replace: {always: true}" in page


async def test_words_that_cost_something_by_themselves_give_no_bounds(view):
    page = said(await view(gold=(1, 0.8), mine=(1, 0.0), clear=(1, 0.6), replace=(1, 0.5)))
    assert "the same words cost 10.0 points after the gold history" in page
    assert "can hide what wrong answers cost: trust no bound." not in page, "all alike: no interval"


async def test_turns_without_the_same_words_under_gold_are_told(view):
    page = said(await view(other=3, gold=(1, 0.8), mine=(1, 0.0), clear=(1, 0.9), replace=(1, 0.6)))
    assert "3 more turns are left out: their words were not asked under gold." in page


async def test_questions_that_nobody_judged_have_no_second_look(view):
    """Under ``detect: false`` no question is known to have drifted, which is not to say that none had."""
    found = await view(judged=False, gold=(1, 1), mine=(1, 0), clear=(1, 1), replace=(1, 1))
    assert found.by_verdict == ()
    assert [one.drifted_only for one in found.attributions] == [False]


async def test_without_a_control_the_page_names_it(view):
    page = said(await view(gold=(1, 1), mine=(1, 0), replace=(1, 0.5))).replace("&#39;", "'")
    assert "replace gives back 25.0 points: drift and better wording" in page
    assert "add to the scenario’s policies: gold: {question: standalone}" in page


async def test_the_second_look_names_what_was_lost_on_drifted_questions(view):
    page = said(await view(gold=(1, 1), mine=(0.9, 0)))
    assert "50 % of the questions had drifted, on which 50.0 points of the gap was lost." in page


@pytest.mark.parametrize(
    ("kinds", "missing"),
    [
        ({"pred"}, ["gold and pred"]),
        ({"gold", "pred"}, ["replace: {always: true}, the standalone", "gold: {question: standalone}, the"]),
        ({"gold", "pred", "rewrite+always", "augment"}, ["replace: {always: true}", "gold: {question:"]),
        ({"gold", "pred", "replace", "gold+standalone"}, ["replace: {always: true}, the standalone"]),
        ({"gold", "pred", "replace+always"}, ["gold: {question: standalone}, the same words"]),
        ({"gold", "pred", "replace+always", "gold+standalone"}, []),
    ],
)
def test_missing_policies_are_named_as_a_scenario_has_them(kinds, missing):
    found = missing_policies(kinds)
    assert len(found) == len(missing)
    assert all(one.startswith(start) for one, start in zip(found, missing, strict=True))


def part(value, p=0.001, low=None, high=None):
    return AttributionPart(value=value, low=low, high=high, p=p, adjusted_p=p)


def row(mended="replace", **parts):
    return Attribution(
        system="s",
        score="f1",
        unit="share",
        mended=mended,
        controls=("clear",),
        drifted_only=False,
        turns=100,
        conversations=20,
        edited=50,
        left_out=0,
        means={},
        parts=parts,
    )


@from_table
def test_only_what_is_certain_is_claimed(parts, sentence):
    bounds = {"drift_at_least": part(0.1), "wrong_answers_at_most": part(0.1), "wording": part(0.0, None)}
    assert sentence in attribution_sentence(
        row(**{"gap": part(0.2), **bounds, **{name: part(*said) for name, said in parts.items()}})
    )


@from_table
def test_the_second_look_claims_only_what_is_certain(gap, drifted, sentence):
    one = GapByVerdict(
        system="s",
        score="f1",
        unit="share",
        turns=100,
        drifted_turns=20,
        parts={"gap": part(*gap), "on_drifted": part(*drifted), "on_valid": part(0.1, None)},
    )
    assert verdict_sentence(one).startswith("20 % of the questions had drifted")
    assert sentence in verdict_sentence(one)
