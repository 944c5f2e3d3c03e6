"""Questions of the study's own, in every kind of study."""

from __future__ import annotations

import csv
import json

import pytest

from replay.core.errors import ScenarioError
from replay.study.running.export import export_study
from replay.study.running.start import STUDY_FILE, starters, write_starter
from replay.study.running.study_file import parse_study, read_study
from tests.study.serving import begun, served

QUESTIONS = """\
questions:
  clear: {question: "How clear is it?", scale: {1: not at all, 2: fairly, 3: very}}
  language: {question: "Which language?", choices: [Dutch, another]}
  why: {question: "What made you hesitate?", required: false}
"""


def study(run, folder, preset="rating: {answers: 2}", more=""):
    return begun(
        f"name: check\npreset: {{{preset}}}\nruns: ['{run}']\nraters: [ann, ben]\n{QUESTIONS}{more}", folder
    )


async def test_they_stand_on_the_only_screen_of_a_task(quick_run, tmp_path):
    database = study(quick_run, tmp_path)
    own = {"own.clear": "3", "own.language": "Dutch"}
    async with served(database) as one:
        for rater in (1, 2):
            async with one.at_work(rater) as browser:
                await browser.send("/rate/answer", {"rating": "1"})
                assert browser.status == 422, "those that are required can't be left out"
                for _ in range(2):
                    await browser.send("/rate/answer", {"rating": "1", **own, "own.why": "It's long."})
                assert browser.heading == "Done"
        async with one.browser(one.owner_link) as owner:
            assert "How clear is it?" in owner.html
            await owner.open("/owner/numbers")
            assert "not at all: 0; fairly: 0; very: 4" in owner.html
            assert "Dutch: 4; another: 0" in owner.html
    export_study(database, tmp_path / "out", resamples=0)
    with (tmp_path / "out" / "judgements.csv").open() as stream:
        said = [(row["field"], row["value"]) for row in csv.DictReader(stream)]
    assert said.count(("own.why", "It's long.")) == 4


async def test_they_come_last_where_a_task_has_several_screens(quick_run, tmp_path):
    async with served(study(quick_run, tmp_path, "drift: {questions: 1}")) as one, one.at_work(1) as browser:
        headings = []
        while 'action="/rate/answer"' in browser.html:
            headings.append(browser.heading)
            if "own.clear" in browser.html:
                await browser.send("/rate/answer", {"own.clear": "2", "own.language": "another"})
            else:
                await browser.send("/rate/answer", {"meaning": "same", "right": "1", "fluent": "1"})
        assert headings[-1] == "A few last questions"
        assert headings.count("A few last questions") == 1
        assert browser.heading == "Done"


async def test_practice_asks_what_it_knows_and_nothing_else(quick_run, tmp_path):
    item = {"question": "Who?", "answer": "Ann.", "gold_answer": "Ann", "rating": 1}
    (tmp_path / "practice.jsonl").write_text(json.dumps(item))
    database = study(quick_run, tmp_path, more="practice: {items: practice.jsonl}\n")
    async with served(database) as one, one.at_work(1) as browser:
        assert "own.clear" not in browser.html


@pytest.mark.parametrize("preset", starters())
def test_every_kind_of_study_takes_them(preset, quick_run, tmp_path):
    judges_run = preset in ("rating", "compare", "drift")
    write_starter(preset, tmp_path, quick_run if judges_run else None)
    file = read_study(tmp_path / STUDY_FILE)
    again = parse_study(file.text + QUESTIONS, source="study.yaml", folder=tmp_path)
    assert list(again.study.questions) == ["clear", "language", "why"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("{question: 'How?', scale: {1: a, 2: b}, choices: [a, b]}", "has a scale and choices"),
        ("{question: 'How?', choices: [a]}", "needs two or more answers"),
        ("{scale: {1: a, 2: b}}", "question"),
    ],
)
def test_what_is_wrong_with_one_is_said(tmp_path, wrong, said):
    text = f"name: check\npreset: rating\nruns: [gone]\nquestions: {{clear: {wrong}}}\n"
    with pytest.raises(ScenarioError) as caught:
        parse_study(text, source="study.yaml", folder=tmp_path)
    assert said in str(caught.value)
