"""``drift``, click by click."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from html import unescape

import msgspec
import pytest

from replay.core.errors import InputError
from replay.results.run import Run
from replay.study.presets.drift_results import DriftQuestion
from tests.study.presets.people import (
    TELLTALE,
    shown,
    study_text,
    table_of,
    work,
)
from tests.study.serving import begun, served

SCREEN = "One question, two conversations"


def block(text: str, heading: str) -> str:
    """The line below *heading*."""
    return re.search(rf"\n{re.escape(heading)}\n(.*?)\n", text)[1]


def changed(question: str) -> bool:
    """What these people believe, for no good reason."""
    return len(" ".join(question.split())) % 2 == 0


def right(reworded: str) -> bool:
    return len(" ".join(reworded.split())) % 3 != 0


def says(heading, text):
    if heading == SCREEN:
        return {"meaning": "changed" if changed(block(text, "Question")) else "same"}
    reworded = block(text, "In other words, to be asked in conversation 2")
    return {"right": str(int(right(reworded))), "fluent": "1"}


def compared(run) -> list[tuple[object, object]]:
    """The run's records with a verdict after a history of their own, each with that history."""
    found, before = [], defaultdict(list)
    for record in Run(run).records():
        place = (record.system, record.policy, record.conversation)
        own = tuple((q, a) for q, _, _, a in before[place])
        gold = tuple((recorded, answer) for _, recorded, answer, _ in before[place])
        if record.drift is not None and own != gold:
            found.append((record, own))
        before[place].append((record.asked, record.recorded, record.gold_answers[0], record.answer))
    return found


def by_hand(records, weights=None) -> dict[str, float | None]:
    """Weighted counts, and what follows from them."""
    counts, brier, rewrites, hits_rewritten = Counter(), 0.0, Counter(), Counter()
    for place, record in enumerate(records):
        weight = 1 if weights is None else weights[place]
        truth, found = changed(record.recorded), not record.drift.valid
        counts[truth, found] += weight
        brier += weight * (record.drift.probability - truth) ** 2
        if record.edit == "rewritten":
            rewrites[right(record.asked)] += weight
            if truth and found:
                hits_rewritten[right(record.asked)] += weight
    hits, alarms, misses = counts[True, True], counts[False, True], counts[True, False]

    def share(part: float, of: float) -> float | None:
        return part / of if of else None

    return {
        "precision": share(hits, hits + alarms),
        "recall": share(hits, hits + misses),
        "F1": share(2 * hits, 2 * hits + alarms + misses),
        "accuracy": share(hits + counts[False, False], sum(counts.values())),
        "Brier score": share(brier, sum(counts.values())),
        "rewordings right": share(rewrites[True], sum(rewrites.values())),
        "of hits reworded right": share(hits_rewritten[True], sum(hits_rewritten.values())),
    }


async def test_a_census_gives_the_numbers_of_a_calculation_by_hand(heron, tmp_path):
    """All questions judged by two who agree: plain counts over the run's own records."""
    database = begun(study_text("drift", [heron], "questions: 1000", "policies: [marten]"), tmp_path)
    async with served(database) as study:
        pages = await work(study, 1, says)
        await work(study, 2, says)
        results = study.results

    assert not [name for name in TELLTALE for page in pages if name in page.lower()]
    records = [record for record, _ in compared(heron) if record.policy == "marten"]
    assert {(r.system, r.policy, r.conversation, r.depth) for r in records} == {
        (r.system, r.policy, r.conversation, r.depth) for r in results.records
    }
    rows = table_of(results, "Drift verdicts against people")
    assert {row["detector"] for row in rows} == {"strict"}
    total = rows[-1]
    assert total["depth"] == "all"
    assert None not in [by_hand(records)[name] for name in ("precision", "recall", "F1")]
    for name, value in by_hand(records).items():
        assert total[name].value == pytest.approx(value), name
    assert (total["hits"], total["undecided"]) == (
        sum(changed(r.recorded) and not r.drift.valid for r in records),
        0,
    )
    for row in rows[:-1]:
        at = [r for r in records if r.depth == row["depth"]]
        same = sum(changed(r.recorded) != r.drift.valid for r in at)
        assert row["accuracy"].value == pytest.approx(same / len(at))
    bins = table_of(results, "Calibration of the drift probability")
    assert sum(row["turns"] for row in bins[:-1]) == len(records)
    assert results.rated["human_same"][0].ratings.keys() == {"ann", "ben"}
    same = {score.turn: score.value for score in results.scores if score.name == "human_same"}
    assert all(
        same[r.system, r.policy, r.conversation, r.depth] == (not changed(r.recorded)) for r in records
    )


async def test_a_drawn_sample_stands_for_the_run_by_its_weights(heron, tmp_path):
    """Verdicts and depths are drawn evenly; each question weighs what its stratum has for each drawn one."""
    async with served(begun(study_text("drift", [heron], "questions: 24"), tmp_path)) as study:
        await work(study, 1, says)
        results = study.results
        questions = [msgspec.convert(t.content, DriftQuestion) for t in study.store.tasks().values()]

    met = defaultdict(list)
    for record, own in compared(heron):
        met[record.conversation, record.depth, own].append(record)
    population = Counter(
        (any(not r.drift.valid for r in alike), depth) for (_, depth, _), alike in met.items()
    )
    sample = Counter((question.is_drifted, question.depth) for question in questions)
    assert len(questions) == 24
    assert set(sample) == set(population)
    weights, records = [], []
    for question in questions:
        stratum = question.is_drifted, question.depth
        assert question.weight == population[stratum] / sample[stratum]
        own = tuple((exchange.question, exchange.answer) for exchange in question.own)
        alike = met[question.turns[0].record.conversation, question.depth, own]
        assert len(alike) == len(question.turns)
        records += alike
        weights += [population[stratum] / sample[stratum]] * len(alike)
    assert len(set(weights)) > 1
    total = table_of(results, "Drift verdicts against people")[-1]
    expected, unweighted = by_hand(records, weights), by_hand(records)
    for name, value in expected.items():
        assert total[name].value == pytest.approx(value), name
    assert expected["recall"] != pytest.approx(unweighted["recall"])
    # What was drawn is as good as all of it, on the whole: the strata's sizes are the run's.
    turns = sum(len(alike) for alike in met.values())
    assert sum(weights) == pytest.approx(turns, rel=0.25)


async def test_nothing_tells_of_a_rewording_before_the_question_is_judged_and_that_stands(heron, tmp_path):
    database = begun(
        study_text("drift", [heron], "questions: 1000", "policies: [marten]", "window: 2"), tmp_path
    )
    async with served(database) as study, study.at_work(1) as browser:
        while True:
            assert browser.heading == SCREEN
            task = study.store.task(study.store.assignments(1)[-1].task)
            question = msgspec.convert(task.content, DriftQuestion)
            page = unescape(browser.html)
            if question.rewordings:
                break
            assert page.count('class="question"') <= 4
            await browser.send("/rate/answer", {"meaning": "same"})
        assert question.rewordings[0] not in page
        assert 'class="steps"' not in page, "one screen is known, and not that there are two"
        assert "eworded" not in page.replace("Some questions were reworded", "")
        await browser.send("/rate/answer", {"meaning": "unsure"})
        assert browser.heading == "The question in other words"
        assert question.rewordings[0] in unescape(browser.html)
        await browser.open(f"/rate/{study.store.assignments(1)[-1].id}/meaning")
        assert "be changed any more" in browser.html
        await browser.open("/rate")
        late = {**browser.form("/rate/answer"), "step": "meaning", "meaning": "same"}
        await browser.post("/rate/answer", late)
        assert (browser.status, browser.heading) == (409, "Not saved")
        given = study.store.judgements()[study.store.assignments(1)[-1].id]
        assert given["meaning"].answer == {"meaning": "unsure"}


async def test_who_can_not_say_has_no_vote_and_a_tie_is_undecided(heron, tmp_path):
    database = begun(study_text("drift", [heron], "questions: 2", raters="[ann, ben, cat]"), tmp_path)
    answers = {1: ["same", "same"], 2: ["changed", "unsure"], 3: ["unsure", "same"]}
    async with served(database) as study:
        order: list[int] = []

        def rater(number):
            def answer(heading, text):
                if heading != SCREEN:
                    return {"right": "1", "fluent": "1"}
                task = study.store.assignments(number)[-1].task
                order.append(task)
                return {"meaning": answers[number][task - 1]}

            return answer

        for number in answers:
            await work(study, number, rater(number))
        results = study.results
        questions = {t.id: msgspec.convert(t.content, DriftQuestion) for t in study.store.tasks().values()}

    total = table_of(results, "Drift verdicts against people")[-1]
    assert total["undecided"] == len(questions[1].turns)
    assert total["misses"] + total["hits"] == 0
    disputed = {row["question"]: row["people"] for row in table_of(results, "Questions to look at")}
    assert disputed[questions[1].recorded_question] == "ann: same; ben: changed; cat: can't say"


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        (("policies: [martin]",), 'no run has "martin"; did you mean "marten"'),
        (("policies: [badger]",), "no question has a drift verdict after a history that differs"),
        (("questions: 0",), "preset.drift.questions"),
    ],
)
def test_settings_that_can_not_be_kept_are_told(heron, tmp_path, settings, error):
    with pytest.raises(InputError, match=error):
        begun(study_text("drift", [heron], *settings), tmp_path)


ITEM = (
    '{"question": "Where was she born?", "meaning": "changed",'
    ' "recorded_history": [{"question": "Who wrote it?", "answer": "Ann Ito."}],'
    ' "own_history": [{"question": "Who wrote it?", "answer": "Bo Lind."}],'
    ' "reworded": "Where was Ann Ito born?", "right": true, "why": "She is Ann Ito in the first alone."}\n'
)


async def test_practice_has_both_screens(heron, tmp_path):
    (tmp_path / "items.jsonl").write_text(ITEM)
    text = study_text("drift", [heron], "questions: 1") + "practice: {items: items.jsonl, pass_mark: 1}\n"
    async with served(begun(text, tmp_path)) as study, study.at_work(1) as browser:
        assert block(shown(browser), "Question") == "Where was she born?"
        await browser.send("/rate/answer", {"meaning": "changed"})
        assert "Where was Ann Ito born?" in browser.html
        await browser.send("/rate/answer", {"right": "1", "fluent": "0"})
        assert "She is Ann Ito in the first alone." in browser.html
        await browser.send("/rate/practice")
        assert not study.results.scores


def test_a_practice_item_without_a_rewording_has_nothing_right_of_it(heron, tmp_path):
    (tmp_path / "items.jsonl").write_text(ITEM.replace('"reworded": "Where was Ann Ito born?", ', ""))
    text = study_text("drift", [heron]) + "practice: {items: items.jsonl}\n"
    with pytest.raises(InputError, match="reworded: is missing"):
        begun(text, tmp_path)
