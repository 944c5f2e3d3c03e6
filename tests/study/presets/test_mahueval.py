"""``mahueval``, click by click."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from replay.core.errors import ScenarioError
from replay.results.run import Run
from replay.study.running.export import export_study
from replay.study.running.numbers import study_numbers
from replay.study.running.overview import overview_of
from replay.study.running.start import open_study
from tests.study.presets.evaluation import QUESTIONS, at_work, study
from tests.study.serving import served

SAID = {
    # Round 1: intent, answer correct, rank of the first right passage.
    ("ann", "lighthouse"): [("extractive", 1, 1), ("extractive", 1, 1)],
    ("ann", "observatory"): [("extractive", 1, 1), ("abstractive", 0, 2)],
    ("ben", "orchestra"): [("extractive", 1, 1), ("extractive", 1, 1)],
    ("ben", "railway"): [("abstractive", 1, 1), ("extractive", 0, 0)],
    # Round 2.
    ("ben", "lighthouse"): [("extractive", 1, 1), ("extractive", 0, 2)],
    ("ben", "observatory"): [("extractive", 0, 0), ("abstractive", 0, 2)],
    ("ann", "orchestra"): [("boolean", 1, 1), ("extractive", 1, 0)],
    ("ann", "railway"): [("extractive", 1, 1), ("boolean", 0, 0)],
}
OWN_WAY = {("ann", "railway"): "Which animals did the valley use after the explosion?"}
"""In the place of the second question that the other asked."""


async def both_rounds(study):
    """Ann and Ben go through all of it; returns all that was sent to them."""
    sent = []
    for rater, name in ((1, "ann"), (2, "ben"), (1, "ann"), (2, "ben")):
        async with at_work(study, rater) as person:
            while person.browser.heading == "Conversation":
                topic, opening = person.task.conversation, person.task.content["opening"]
                first, second = QUESTIONS[topic]
                await person.talk(opening or first, OWN_WAY.get((name, topic), second))
                await person.judge(
                    lambda topic, depth, name=name: dict(
                        zip(("intent", "correct", "rank"), SAID[name, topic][depth - 1], strict=True)
                    )
                )
            sent += person.browser.received
            sent.append(person.browser.heading)
    return sent


@pytest.fixture(scope="module")
def numbers_and_results(tmp_path_factory):
    """Of a whole study, both rounds, and what its raters were sent."""
    import asyncio

    database = study(tmp_path_factory.mktemp("mahueval"))

    async def play():
        async with served(database) as talks:
            sent = await both_rounds(talks)
            file, state = talks.pages._flow.file, talks.store.state()
            return study_numbers(file, state), file.preset.results(state), sent, state, database

    return asyncio.run(play())


def shares(numbers, name):
    """A score by depth, and last over all."""
    (group,) = numbers.groups
    assert (group.system, group.policy) == ("zebra", "live")
    return {row.depth: row.scores[name].value for row in group.rows}


def table(results, title):
    (found,) = [one for one in results.tables if one.title == title]
    return found


def test_accuracy_and_hit_rates_by_depth_are_those_calculated_by_hand(numbers_and_results):
    numbers, *_ = numbers_and_results

    # First turns: only Ben's of the observatory is wrong. Second ones: right are Ann's of the lighthouse and
    # of the orchestra, and Ben's of the orchestra.
    assert shares(numbers, "human_correct") == {1: 7 / 8, 2: 3 / 8, None: 10 / 16}
    # Second turns: rank 1 twice (lighthouse, Ann; orchestra, Ben), rank 2 three times, none three times.
    assert shares(numbers, "human_hr@1") == {1: 7 / 8, 2: 2 / 8, None: 9 / 16}
    assert shares(numbers, "human_hr@3") == {1: 7 / 8, 2: 5 / 8, None: 12 / 16}
    assert shares(numbers, "human_passage") == {1: 7 / 8, 2: 5 / 8, None: 12 / 16}
    assert shares(numbers, "human_mrr") == {1: 7 / 8, 2: 3.5 / 8, None: 10.5 / 16}
    # No turn had five passages, so there is no HR@5 to be had.
    assert "human_hr@5" not in numbers.scores


def test_cohens_kappa_is_that_of_the_turns_that_both_judged(numbers_and_results):
    """All four first turns, and the three second ones that both asked alike."""
    _, results, *_ = numbers_and_results
    rows = {row[0]: row[1:] for row in table(results, "Agreement on the same turns").rows}

    # Correct, Ann and Ben: lighthouse 11 10, observatory 10 00, orchestra 11 11, railway 11. They agree on 5
    # of 7; Ann says 1 six times, Ben four times: by chance (6*4 + 1*3)/49 = 27/49.
    turns, equal, kappa = rows["answer correct"]
    assert (turns, equal.value) == (7, pytest.approx(5 / 7))
    assert kappa.value == pytest.approx((5 / 7 - 27 / 49) / (1 - 27 / 49))
    # A passage is right: 11 11, 10 11, 11 01, 11. Both say so six times: by chance (6*6 + 1*1)/49.
    turns, equal, kappa = rows["passage right"]
    assert (turns, equal.value) == (7, pytest.approx(5 / 7))
    assert kappa.value == pytest.approx((5 / 7 - 37 / 49) / (1 - 37 / 49))
    # Intent: extractive 5 and 5, abstractive 1 and 2, boolean 1 and 0: by chance (25 + 2)/49.
    turns, equal, kappa = rows["question intent"]
    assert (turns, equal.value) == (7, pytest.approx(5 / 7))
    assert kappa.value == pytest.approx((5 / 7 - 27 / 49) / (1 - 27 / 49))


def test_the_owner_sees_the_same_agreement_and_where_people_part(numbers_and_results):
    """Here, each turn with the same answer has the same passages."""
    *_, state, database = numbers_and_results
    file, store = open_study(database)
    store.close()
    overview = overview_of(file, state, {})
    found = {one.field: one for one in overview.agreement}
    assert [found[name].items for name in ("intent", "correct", "rank")] == [7, 7, 7]
    assert found["correct"].cohen.value == pytest.approx((5 / 7 - 27 / 49) / (1 - 27 / 49))
    parted = [one for one in overview.partings if one.label == "Is the answer correct?"]
    assert [set(one.answers.values()) for one in parted] == [{"Yes", "No"}] * 2
    assert {len(one.tasks) for one in parted} == {2}


def test_kinds_of_questions_and_conversations_have_numbers_of_their_own(numbers_and_results):
    _, results, _, state, _ = numbers_and_results
    rows = [(*row[:3], row[3].value, row[4].value) for row in table(results, "Kinds of questions").rows]
    assert rows == [
        ("zebra", "abstractive", 3, pytest.approx(1 / 3), 1.0),
        ("zebra", "boolean", 2, 1 / 2, 1 / 2),
        ("zebra", "extractive", 11, pytest.approx(8 / 11), pytest.approx(8 / 11)),
    ]

    found = table(results, "By conversation")
    rows = {row[0]: (row[2], *(one.value for one in row[4:])) for row in found.rows}
    (bens,) = [
        one.id for one in state.done if one.rater == 2 and state.tasks[one.task].conversation == "observatory"
    ]
    assert found.columns[4:] == ("accuracy", "right passage found", "HR@1", "HR@3")
    assert len(rows) == 8
    assert rows[f"observatory~{bens}"] == ("ben", 0.0, 0.5, 0.0, 0.5)


def test_no_page_names_the_system(numbers_and_results):
    _, _, sent, *_ = numbers_and_results

    assert not [page for page in sent if "zebra" in page]


def test_talks_are_records_of_their_topics_and_can_be_replayed(numbers_and_results):
    _, results, *_ = numbers_and_results

    assert len(results.records) == 16
    assert {record.source for record in results.records} == set(QUESTIONS)
    assert {record.conversation for record in results.records} == {one.id for one in results.conversations}
    (railway,) = [one for one in results.data_set if one.turns[1].question == OWN_WAY["ann", "railway"]]
    assert railway.title == "Railway"
    # The first answer was judged correct, by its first passage; the second was not.
    first, second = railway.turns
    assert first.gold_answers == ("The railway through the Gorse valley carried slate and sheep.",)
    assert (first.gold_passages, second.gold_answers, second.gold_passages) == (("railway-1",), (), ())
    assert {"railway-1", "railway-2", "railway-3"} <= {one.id for one in railway.passages}


def test_the_exported_run_holds_no_system_against_its_own_answers(numbers_and_results, tmp_path):
    """What was judged correct is gold for others; for the system itself every score would be perfect."""
    *_, database = numbers_and_results
    export_study(database, tmp_path / "results", resamples=10)
    records, columns = Run(tmp_path / "results").scored()

    assert len(records) == 16
    assert "human_correct" in columns
    assert not [name for name in columns if not name.startswith("human_")]


async def test_who_has_ended_the_first_round_waits_and_then_repeats_the_others_openings(tmp_path):
    async with served(study(tmp_path)) as talks:
        said = {"intent": "extractive", "correct": 1, "rank": 1}
        asked = {}
        for rater in (1, 2):
            async with at_work(talks, rater) as person:
                for number in (1, 2):
                    # The second round is counted before it is made: what is left only gets less.
                    assert f"{number - 1} done, {5 - number} left" in person.browser.html
                    topic, opening = person.task.conversation, f"Tell me number {number} of {rater}: "
                    asked[rater, topic] = question = opening + QUESTIONS[topic][0]
                    await person.talk(question, QUESTIONS[topic][1])
                    await person.judge(lambda topic, depth: said)
                if rater == 1:
                    assert person.browser.heading == "Nothing to do just now"
                    await person.browser.open("/rate")
                    assert not [one for one in talks.store.tasks().values() if one.round == 2]
                else:
                    assert person.browser.heading == "Conversation"
        async with at_work(talks, 1) as person:
            assert person.browser.heading == "Conversation"
            await person.browser.open("/rate")
            task = person.task
            assert asked[2, task.conversation] == task.content["opening"]
            assert "readonly" in person.browser.html
            # Another question than the fixed one is not asked.
            await person.browser.send("/rate/talk/ask", {"question": "Something else?"})
            assert not talks.store.talks(5).get(5)

        tasks = talks.store.tasks()
        second = [one for one in tasks.values() if one.round == 2]
        assert Counter(one.only for one in second) == {(1,): 2, (2,): 2}
        first = {(one.only, one.conversation): one for one in tasks.values() if one.round == 1}
        for one in second:
            (other,) = {(1,), (2,)} - {one.only}
            assert one.system == first[other, one.conversation].system
            assert one.content["opening"] == asked[*other, one.conversation]
            # Erased with the conversation that it repeats.
            (source,) = one.sources
            assert talks.store.talks(source)[source][0].question == one.content["opening"]


async def test_passages_are_there_when_the_talk_is_over_and_not_before(tmp_path):
    unsaid = "burned whale oil until 1931"
    async with served(study(tmp_path)) as talks, at_work(talks, 1) as person:
        browser = person.browser
        assert person.task.conversation == "lighthouse"
        await browser.open("/rate/search?words=whale")
        assert browser.status == 404
        await browser.open("/rate")
        await person.ask(QUESTIONS["lighthouse"][0])
        assert talks.store.talks(1)[1][0].passages
        await browser.open("/rate/search?words=whale")
        assert browser.status == 404
        assert not [page for page in browser.received if unsaid in page]

        await browser.open("/rate")
        await person.ask(QUESTIONS["lighthouse"][1])
        assert browser.heading == "Question 1"
        assert len(person.ranked) == 3
        assert unsaid in person.ranked[2]
        await browser.open("/rate/search?words=Whale")
        assert unsaid in browser.html
        await browser.open("/rate/search?words=comets")
        assert "discovered two comets" in browser.html

        # With the next talk the search is closed again.
        await browser.open("/rate")
        await person.judge(lambda topic, depth: {"intent": "boolean", "correct": 0, "rank": 0})
        assert browser.heading == "Conversation"
        await browser.open("/rate/search?words=whale")
        assert browser.status == 404


async def test_the_index_can_be_the_topics_own(tmp_path):
    async with served(study(tmp_path, index="topic")) as talks, at_work(talks, 1) as person:
        await person.talk("Who founded the orchestra?", QUESTIONS["lighthouse"][0])

        # The system had the same passages as the person has.
        first, second = talks.store.talks(1)[1]
        assert (first.answer, first.passages) == ("CANNOTANSWER", ())
        assert second.passages[0].id == "lighthouse-1"
        await person.browser.open("/rate/search?words=orchestra")
        assert "0 passages have" in person.browser.html
        await person.browser.open("/rate/search")
        assert "3 passages" in person.browser.html


async def test_a_right_passage_that_was_not_found_is_taken_from_the_index(tmp_path):
    async with served(study(tmp_path)) as talks, at_work(talks, 1) as person:
        await person.talk("Who founded the orchestra in 1964?", "Blah blah blah?")
        browser = person.browser
        answer = {"intent": "extractive", "correct": 0, "rank": 0}
        await browser.send("/rate/answer", {**answer, "elsewhere": "lighthouse-9"})
        assert browser.status == 422
        assert "no passage of the index is called" in browser.html
        assert not talks.store.judgements()
        await browser.send("/rate/answer", {**answer, "elsewhere": "lighthouse-2"})
        # Nothing was found for the second, so there is no rank to give.
        assert browser.heading == "Question 2"
        assert 'name="rank"' not in browser.html
        await browser.send("/rate/answer", {"intent": "boolean", "correct": 0})

        results = talks.results
        assert [record.gold_passages for record in results.records] == [("lighthouse-2",), ()]
        # The system names passages elsewhere, so that here it found none: 0, and not unknown.
        assert [one.value for one in results.scores if one.name == "human_passage"] == [0.0, 0.0]


async def test_a_system_that_names_no_passages_is_not_judged_by_them(tmp_path):
    answers = {"adapter": "scripted", "settings": {"answers": ["Yes.", "No."]}}
    database = study(tmp_path, file={"systems": [{"name": "zebra", **answers}]})
    async with served(database) as talks, at_work(talks, 1) as person:
        await person.talk("Is it?", "And now?")
        await person.judge(lambda topic, depth: {"intent": "boolean", "correct": depth % 2})

        results = talks.results
        assert [(one.name, one.value) for one in results.scores] == [
            ("human_correct", 1.0),
            ("human_passage", None),
            ("human_correct", 0.0),
            ("human_passage", None),
        ]


async def test_practice_shows_a_turn_with_known_answers(tmp_path):
    passages = [{"id": "a", "text": "Rex is a dog."}, {"id": "b", "text": "Rex was born in 1999."}]
    right = {"intent": "extractive", "correct": 1, "rank": 2}
    item = {"question": "When was Rex born?", "answer": "In 1999.", "passages": passages, **right}
    (tmp_path / "practice.jsonl").write_text(json.dumps(item), "utf-8")
    database = study(tmp_path, file={"practice": {"items": "practice.jsonl", "tries": 2}})
    async with served(database) as talks, at_work(talks, 1) as person:
        assert person.ranked == ["Rex is a dog.", "Rex was born in 1999."]
        await person.browser.send("/rate/answer", {**right, "rank": "1"})
        assert person.browser.heading == "2 of 3 correct"
        await person.browser.send("/rate/practice")
        assert "2 of 3 answers were right" in person.browser.html
        await person.browser.send("/rate/practice")
        await person.browser.send("/rate/answer", {name: str(value) for name, value in right.items()})
        assert person.browser.heading == "Correct"

        assert not talks.results.records


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"rank": 3},
            'rank: "3" can\'t be the right answer; it takes 1 (Passage 1), 2 (Passage 2), 0 (None of them)',
        ),
        ({"passages": []}, "rank: there are no passages"),
        ({"intent": "odd"}, "intent"),
    ],
)
def test_a_practice_item_with_a_fault_is_told_when_the_study_begins(tmp_path, changes, message):
    passages = [{"id": "a", "text": "Rex is a dog."}, {"id": "b", "text": "Rex was born in 1999."}]
    item = {"question": "When?", "answer": "In 1999.", "intent": "extractive", "correct": 1, "rank": 2}
    (tmp_path / "practice.jsonl").write_text(json.dumps({**item, "passages": passages, **changes}), "utf-8")

    with pytest.raises(ScenarioError) as error:
        study(tmp_path, file={"practice": {"items": "practice.jsonl"}})
    assert message in str(error.value)
    assert "practice.jsonl" in str(error.value)
