"""``convqa``: both halves over HTTP, its numbers against a calculation by hand, and the circle to a run."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from replay.core.conversation import CANNOT_ANSWER, Conversation, Passage, Turn
from replay.core.errors import ReplayError, ScenarioError
from replay.datasets.native import write_native
from replay.runs.launch import run_async
from replay.scenario.reading import parse_scenario
from replay.study.tasks import Task
from tests.data_tables import from_table
from tests.study.serving import Browser, Served, begun, served
from tests.study.talks import ask

PASSAGE = "Ann Lee wrote the book in 1999.\nIt was read by many.\nShe lives in Rome."

TALKS = {
    "one": [
        ("Who wrote the book?", "Ann Lee wrote the book"),
        ("When?", "She lives in Rome."),
        ("Why did she write it?", CANNOT_ANSWER),
        ("And so it goes.", "It was read by many."),
    ],
    "two": [
        ("Who wrote the book?", CANNOT_ANSWER),
        ("Where does she live?", "Rome"),
        ("Is she married?", "It was read by many."),
        ("How old is she?", CANNOT_ANSWER),
    ],
}
ASKERS = {"one": [1, 1, 0, 1], "two": [0, 1, 1, 1]}
A, U, V = "answerable", "unanswerable", "invalid"
VALIDATIONS = {
    "one": [
        [(A, 1), (A, 0, "1999"), (U,), (V,)],
        [(A, 1), (A, 0, "in 1999"), (U,), (V,)],
    ],
    "two": [
        [(A, 0, "Ann Lee"), (A, 1), (U,), (U,)],
        [(U,), (V,), (V,), (A, 0, "1999")],
    ],
}
"""By system, for each validator, what they say of each pair: the question, the answer, the span."""


BOOK = Conversation(
    id="book",
    title="Ann Lee",
    section="Her book",
    background="A writer.",
    passages=(Passage(id="p", text=PASSAGE),),
    turns=(Turn(id="q", question="Who wrote the book?"),),
)


def convqa_study(
    folder: Path,
    raters: str = "[ann, ben, cid]",
    settings: str = "conversations: 1",
    topics: int = 1,
    more: str = "",
    turns: str = "fewest_turns: 4, most_turns: 4",
) -> Path:
    write_native([replace(BOOK, id=f"book-{number}") for number in range(topics)], folder / "data.jsonl")
    systems = [
        {"name": name, "adapter": "scripted", "settings": {"answers": [answer for _, answer in talk]}}
        for name, talk in TALKS.items()
    ]
    return begun(
        f"name: check\npreset: {{convqa: {{{turns}, {settings}}}}}\ndata: {{path: data.jsonl}}\n"
        f"systems: {json.dumps(systems)}\nlimits: {{between_messages_s: 0}}\n"
        f"raters: {raters}\n{more}",
        folder,
    )


def open_task(study: Served, rater: int) -> Task:
    (assignment,) = [one for one in study.store.assignments(rater) if one.state == "open"]
    return study.store.task(assignment.task)


async def ask_and_judge(study: Served, rater: int) -> str | None:
    """*rater* has the talk that comes next, and judges it as ``ASKERS`` says; returns its system."""
    async with study.at_work(rater) as browser:
        if browser.heading != "Conversation":
            return None
        system = open_task(study, rater).system
        for question, _ in TALKS[system]:
            assert "1999.\nIt" not in browser.html, "the passage is not shown to who asks"
            await ask(study, browser, question)
        for correct in ASKERS[system]:
            assert "1999.\nIt" in browser.html
            await browser.send("/rate/answer", {"correct": str(correct)})
        return system


@asynccontextmanager
async def third_validates(folder: Path) -> AsyncIterator[tuple[Served, Browser]]:
    """Both talks are done and judged by who asked, and the third rater begins to validate."""
    async with served(convqa_study(folder)) as study:
        for rater in (1, 2):
            await ask_and_judge(study, rater)
        async with study.at_work(3) as browser:
            yield study, browser


async def validate(browser: Browser, said) -> None:
    for question, *rest in said:
        await browser.send("/rate/answer", {"question": question})
        if rest:
            await browser.send("/rate/answer", {"correct": str(rest[0])})
        if rest[1:]:
            await browser.send("/rate/answer", {"span": rest[1]})


async def validate_all(study: Served, rater: int, said) -> None:
    """*rater* validates whatever there is, as the lists of *said* by system say, the first one first."""
    async with study.at_work(rater) as browser:
        while browser.heading == "Question 1 of 4":
            await validate(browser, said[open_task(study, rater).system].pop(0))
        assert browser.heading == "Done"


async def results(folder: Path):
    """Of a study in which Ann and Ben ask, and each conversation is validated by the two others."""
    async with served(convqa_study(folder)) as study:
        assert {await ask_and_judge(study, 1), await ask_and_judge(study, 2)} == {"one", "two"}
        said = {system: list(by) for system, by in VALIDATIONS.items()}
        for rater in (1, 2, 3):
            await validate_all(study, rater, said)
        assert said == {"one": [], "two": []}
        authors = {one.id: one.rater for one in study.store.assignments()}
        for one in study.store.assignments():
            talk = study.store.task(one.task).content.get("talk")
            assert talk is None or authors[talk] != one.rater, "nobody validates an own conversation"
        return study.results


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return asyncio.run(results(tmp_path_factory.mktemp("convqa")))


def test_the_numbers_are_those_of_a_calculation_by_hand(found):
    by_system, agreement = found.tables
    rows = [[getattr(cell, "value", cell) for cell in row] for row in by_system.rows]
    # One: Q1 right, Q2 wrong, Q3 rightly declined, Q4 dropped. Two: Q1 wrongly declined, Q2 right, Q3 is
    # undecided between the one who asked and the one validator with a verdict, Q4 rightly declined.
    assert rows == [
        ["one", 1, 1, 4, 1, 0, pytest.approx(1 / 3), pytest.approx(2 / 3), 0.5],
        ["two", 1, 1, 4, 0, 1, 0.5, pytest.approx(2 / 3), 0.5],
    ]
    # Half of the eight pairs of verdicts are equal. Of 16 there are 3 correct, 4 incorrect, 5 unanswerable
    # and 4 invalid ones; or 7, 5 and 4. With the asker five questions have three verdicts, 9 of 15 correct.
    kappas = [(row[0], row[1], row[3].value) for row in agreement.rows]
    assert kappas == [
        ("everything", 8, pytest.approx(31 / 95)),
        ("answerability", 8, pytest.approx(19 / 83)),
        ("correctness, with the asker", 5, pytest.approx(-1 / 9)),
    ]


def test_each_person_and_the_majority_have_scores_of_the_turns(found):
    scores: dict = {}
    for one in found.scores:
        scores.setdefault((one.name, one.turn.system), {}).setdefault(one.turn.depth, []).append(one.value)

    assert scores["human_correct", "one"] == {1: [1, 1, 1], 2: [1, 0, 0], 3: [0, 1, 1]}, "4 is dropped"
    others = {depth: sorted(values[1:], key=str) for depth, values in scores["human_correct", "two"].items()}
    assert others == {1: [0, 1], 2: [1, None], 3: [0, None], 4: [0, 1]}
    assert scores["human_accuracy", "one"] == {1: [1], 2: [0], 3: [1]}
    assert scores["human_accuracy", "two"] == {1: [0], 2: [1], 3: [None], 4: [1]}
    assert scores["human_unanswerable", "two"] == {1: [0], 2: [0], 3: [1], 4: [1]}
    assert scores["human_accuracy_answerable", "two"] == {1: [0], 2: [1]}
    assert {(one.policy, one.source, one.outcome) for one in found.records} == {
        ("live", "book-0", "answered")
    }
    assert all(one.timing.latency_s > 0 for one in found.records)


async def test_the_conversations_become_data_that_other_systems_can_play(found, tmp_path):
    gold = {
        one.metadata["study"]["system"]: {turn.question: turn.gold_answers for turn in one.turns}
        for one in found.data_set
    }
    assert {q: sorted(a) for q, a in gold["one"].items()} == {
        "Who wrote the book?": ["Ann Lee wrote the book"],
        "When?": ["1999", "in 1999"],
        "Why did she write it?": [CANNOT_ANSWER],
    }
    assert gold["two"] == {
        "Who wrote the book?": ("Ann Lee",),
        "Where does she live?": ("Rome",),
        "Is she married?": (CANNOT_ANSWER,),
        "How old is she?": (CANNOT_ANSWER,),
    }
    write_native(found.data_set, tmp_path / "live.jsonl")
    scenario = parse_scenario(
        "name: again\ndata: {path: live.jsonl}\nsystems: [{name: other, adapter: extractive}]\n"
        "policies: [gold, pred]\nscorers: [f1]\n",
        source="again.yaml",
        folder=tmp_path,
    )
    again = await run_async(scenario, runs=tmp_path / "runs")
    assert again.outcomes() == {"answered": 2 * 7}
    first = next(one for one in again.conversations() if one.metadata["study"]["system"] == "two")
    assert first.passages == (Passage(id="p", text=PASSAGE),)
    assert (first.title, first.section, first.background) == ("Ann Lee", "Her book", "A writer.")
    assert first.turns[0].id == f"{first.id}#1"
    assert [turn.gold_passages for turn in first.turns] == [("p",), ("p",), (), ()]


async def test_nothing_is_the_majoritys_before_all_validators_have_come(tmp_path):
    async with served(convqa_study(tmp_path)) as study:
        preset = study.pages._flow.file.preset
        await ask_and_judge(study, 1)
        assert preset.further(study.store.state(), 1) == (), "who has nothing to do waits for the other talk"
        await ask_and_judge(study, 2)
        assert preset.further(study.store.state(), 1) is None
        await validate_all(study, 3, {system: list(by) for system, by in VALIDATIONS.items()})
        found = study.results
        assert {(one.name, one.rater) for one in found.scores} == {
            ("human_correct", "ann"),
            ("human_correct", "ben"),
            ("human_correct", "cid"),
            ("human_answerable", "cid"),
        }
        assert not found.data_set
        assert [row[:4] for row in found.tables[0].rows] == [("one", 1, 0, 0), ("two", 1, 0, 0)]


async def test_a_talk_of_which_nothing_is_kept_becomes_no_data(tmp_path):
    """A conversation without a question can't be read again."""
    async with served(convqa_study(tmp_path)) as study:
        results = study.pages._flow.file.preset.results
        assert not results(study.store.state()).scores, "nothing was said yet, and nothing fails"
        for rater in (1, 2):
            await ask_and_judge(study, rater)
        for rater in (1, 2, 3):
            await validate_all(study, rater, {system: [[(V,)] * 4] * 2 for system in TALKS})
        found = results(study.store.state())
        assert not found.data_set
        assert not found.scores
        assert [row[:5] for row in found.tables[0].rows] == [("one", 1, 1, 4, 4), ("two", 1, 1, 4, 4)]


async def test_an_answer_is_not_on_the_page_before_its_question_was_judged(tmp_path):
    async with third_validates(tmp_path) as (study, browser):
        answers = [answer for _, answer in TALKS[open_task(study, 3).system]]
        for place, answer in enumerate(answers):
            assert browser.heading == f"Question {place + 1} of 4"
            for later in set(answers[place:]) - set(answers[:place]):
                assert f">{later}<" not in browser.html
            for before in answers[:place]:
                assert f">{before}<" in browser.html, "earlier answers are the context"
            await browser.send("/rate/answer", {"question": A})
            assert browser.heading == f"Question {place + 1} of 4: the answer"
            assert f">{answer}<" in browser.html
            await browser.send("/rate/answer", {"correct": "0"})
            await browser.send("/rate/answer", {"span": "in the year 1999"})
            assert (browser.status, "word for word" in browser.html) == (422, True)
            await browser.send("/rate/answer", {"span": "in 1999.\r\nIt was"})


async def test_a_question_that_was_judged_blind_stays_judged_so(tmp_path):
    async with third_validates(tmp_path) as (study, browser):
        asked = browser.form("/rate/answer")
        ahead = {**asked, "click": "ahead", "step": "question-3", "question": A}
        await browser.post("/rate/answer", ahead)  # by hand: no page leads there yet
        assert int(asked["assignment"]) not in study.store.judgements()
        await browser.open("/rate")
        await browser.send("/rate/answer", {"question": A})
        await browser.post("/rate/answer", {**asked, "click": "late", "question": V})
        assert (browser.status, browser.heading) == (409, "Not saved")
        (given,) = study.store.judgements(int(asked["assignment"]))[int(asked["assignment"])].values()
        assert given.answer == {"question": A}
        await browser.open(f"/rate/{asked['assignment']}/question-1")
        assert "be changed any more" in browser.html
        assert "<dd>Answerable: one span of the passage answers it</dd>" in browser.html
        assert 'action="/rate/answer"' not in browser.html


async def test_each_topic_has_every_system_equally_often_and_nobody_asks_about_a_passage_they_know(tmp_path):
    async with served(convqa_study(tmp_path, raters="6", settings="conversations: 2", topics=2)) as study:
        # The last two come when the others already validate, and have seen the passages by then.
        for rater in (1, 2, 3, 4):
            assert await ask_and_judge(study, rater)
        for rater in (5, 6, *range(1, 7), *range(1, 7)):
            await ask_and_judge(study, rater)
        tasks = study.store.tasks()
        given = [(one.rater, tasks[one.task]) for one in study.store.assignments()]
        talks = [(rater, task) for rater, task in given if task.kind == "talk"]
        assert Counter((task.conversation, task.system) for _, task in talks) == {
            (f"book-{topic}", system): 2 for topic in (0, 1) for system in TALKS
        }
        about = Counter((rater, task.conversation) for rater, task in talks)
        assert set(about.values()) == {1}


@from_table
def test_a_study_that_can_t_be_done_is_refused_when_it_begins(tmp_path, settings, wrong):
    with pytest.raises(ReplayError, match=wrong):
        convqa_study(tmp_path, **settings)


# The qualification ----------------------------------------------------------------------------------

QUALIFICATION = {
    "passage": PASSAGE,
    "pairs": [
        {"question": "Who wrote it?", "answer": "Ann Lee", "judged": A, "correct": 1},
        {"question": "And in 1999.", "answer": "in 1999", "judged": V},
        {
            "question": "Where does she live?",
            "answer": CANNOT_ANSWER,
            "judged": A,
            "correct": 0,
            "span": "in Rome",
        },
        {"question": "Why?", "answer": "It was read by many.", "judged": U},
    ],
}


def with_practice(folder: Path, item, settings: str = "") -> Path:
    (folder / "practice.jsonl").write_text(json.dumps(item) + "\n")
    return convqa_study(folder, more=f"practice: {{items: practice.jsonl{settings}}}\n")


async def test_a_qualification_is_passed_and_failed_on_the_screens_of_validation(tmp_path):
    database = with_practice(tmp_path, QUALIFICATION, ", pass_mark: 0.8, tries: 1, feedback: false")
    async with served(database) as study:
        async with study.at_work(1) as browser:
            # A span may say more than the right one.
            await validate(browser, [(A, 1), (V,), (A, 0, "She lives in Rome."), (U,)])
            assert browser.heading == "Practice passed"
            assert "7 of 7 answers were right" in browser.html
            await browser.send("/rate/practice")
            assert browser.heading == "Conversation"
        async with study.at_work(2) as browser:
            # One of seven: two screens were never reached, and one more was seen for nothing.
            await validate(browser, [(A, 0, "Ann"), (U,), (U,), (A, 1)])
            assert browser.heading == "Thank you"
        assert study.store.rater(2).failed_at


async def test_feedback_says_which_screens_were_not_reached(tmp_path):
    async with served(with_practice(tmp_path, QUALIFICATION)) as study, study.at_work(1) as browser:
        await validate(browser, [(A, 1), (V,), (U,), (U,)])
        assert browser.heading == "4 of 7 correct"
        rows = re.findall(r"<td>(.*?)</td><td>(.*?)</td>", browser.html)
        assert [given.partition(":")[0] for given, _ in rows] == ["right"] * 3 + ["wrong"] * 3 + ["right"]
        assert rows[4] == ("wrong: not reached", "Incorrect")
        assert rows[5] == ("wrong: not reached", "in Rome")


async def test_what_was_answered_before_somebody_changed_their_mind_is_not_reached_any_more(tmp_path):
    async with served(with_practice(tmp_path, QUALIFICATION)) as study, study.at_work(1) as browser:
        await validate(browser, [(A, 1), (V,), (A, 0, "in Rome")])
        await browser.open(f"/rate/{study.store.assignments(1)[-1].id}/answer-3")
        await browser.send("/rate/answer", {"correct": "1"})
        await validate(browser, [(U,)])
        rows = re.findall(r"<td>(.*?)</td><td>(.*?)</td>", browser.html)
        assert rows[4:6] == [("wrong: Correct", "Incorrect"), ("wrong: not reached", "in Rome")]


@pytest.mark.parametrize(
    ("pair", "wrong"),
    [
        ({"judged": A}, r"practice.jsonl:1: pairs\[0\].correct: is missing"),
        ({"judged": U, "correct": 1}, r"practice.jsonl:1: pairs\[0\].correct: has no use"),
        ({"judged": "maybe"}, r"practice.jsonl:1: pairs\[0\].judged"),
        ({"judged": A, "correct": 1, "span": "P"}, r"practice.jsonl:1: pairs\[0\].span: has no use"),
        ({"judged": A, "correct": 0, "span": "X"}, r'practice.jsonl:1: span: "X" can\'t be the right answer'),
    ],
)
def test_a_bad_practice_pair_is_named(tmp_path, pair, wrong):
    with pytest.raises(ScenarioError, match=wrong):
        with_practice(tmp_path, {"passage": "P", "pairs": [{"question": "Q?", "answer": "A", **pair}]})
