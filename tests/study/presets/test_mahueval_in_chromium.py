"""A whole ``mahueval`` study as two people go through it: real browsers and a server that is killed."""

from __future__ import annotations

import asyncio
import json
import os

import pytest
from typer.testing import CliRunner

from replay.cli import app
from replay.study.presets.mahueval import INTENTS
from tests.driving import CSS, Keys, until
from tests.study.pages.clicking import end_talk, go_on, press
from tests.study.presets.evaluation import QUESTIONS, study_text
from tests.study.process import study_process
from tests.study.running.test_killed_clicks import kept
from tests.study.running.test_killed_talks import talk

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")

OWN_WAY = "Which animals did the valley use after the explosion?"
"""What Ann asks in the place of the second question that Ben asked about the railway."""
SAID = {
    # What Ann and Ben choose: the kind of question, whether the answer is correct, and the first right
    # passage; or, where only one was found, whether that is right.
    "Who built the lighthouse?": ("Extractive, Yes, Passage 1", "Extractive, Yes, Passage 1"),
    "How many lighthouses did Edith Vane build?": (
        "Extractive, No, Passage 2",
        "Abstractive, No, Passage 2",
    ),
    "What did the observatory discover?": ("Extractive, Yes, Yes", "Extractive, No, No"),
    "Who ground the mirror?": ("Abstractive, No, None of them", "Abstractive, Yes, Passage 2"),
    "What are the instruments of the orchestra made of?": (
        "Extractive, Yes, Passage 1",
        "Extractive, Yes, Passage 1",
    ),
    "Who founded the orchestra?": ("Extractive, Yes, Passage 1", "Extractive, Yes, Passage 2"),
    "What did the railway carry?": ("Extractive, Yes, Yes", "Extractive, Yes, Yes"),
    "Where did the engine explode?": (None, "Extractive, No, Passage 1"),
    OWN_WAY: ("Boolean, Yes, Yes", None),
}
ANN, BEN = 0, 1
CLICK_ON_A_QUESTION = "replay.study.store:StudyStore.ask"
"""Killed within the transaction, so that it isn't durable."""
CLICK_ON_A_JUDGEMENT = "replay.study.running.flow:Flow.answer"
"""Killed after it, so that it is durable and not confirmed."""
ANSWER_UNDER_WAY = "replay_adapters.local.extractive:ExtractiveSession.ask"
KEY_OF = """
const open = [...document.querySelectorAll(".options")].find((one) => !one.querySelector(":checked"));
const options = [...open.querySelectorAll(".option")].filter((one) => one.innerText.includes(arguments[0]));
return options.map((one) => one.querySelector("kbd").innerText)"""
"""Of the option with these words, of the first question that is open."""


def texts(driver, selector):
    """What each of these elements says; none does while the page and its scripts are still coming."""
    return driver.execute_script(
        "return document.readyState === 'complete' ?"
        " [...document.querySelectorAll(arguments[0])].map((one) => one.innerText) : []",
        selector,
    )


def heading(driver):
    return next(iter(texts(driver, "main h2")), "")


def one_conversation(driver, who):
    """Have it and judge it, by what the screens say; goes on from each thing sent only when told to."""
    assert heading(driver) == "Conversation"
    topic = driver.find_element(CSS, "main .paragraph").text.partition(":")[0].lower()
    first, second = QUESTIONS[topic]
    if (who, topic) == (ANN, "railway"):
        second = OWN_WAY
    for depth, question in enumerate((first, second), 1):
        box = until(driver, lambda d: d.find_element(CSS, "#question:enabled"))
        assert texts(driver, ".passages, .search") == [], "they come when all is asked"
        if box.get_attribute("readonly"):
            assert (depth, box.get_attribute("value")) == (1, question), "as the other opened"
        else:
            box.send_keys(question)
        box.send_keys(Keys.ENTER)
        yield
        if depth == 1:
            until(driver, lambda d: texts(d, ".transcript .answer"))
            assert texts(driver, ".transcript .question") == [first]
    end_talk(driver)
    for depth, question in enumerate((first, second), 1):
        until(driver, lambda d, depth=depth: heading(d) == f"Question {depth}")
        for choice in SAID[question][who].split(", "):
            (key,) = driver.execute_script(KEY_OF, INTENTS.get(choice.lower(), choice))
            press(driver, key)
        press(driver, Keys.ENTER)
        yield
    until(driver, lambda d: heading(d) in ("Conversation", "Nothing to do just now", "Done"))


@pytest.mark.long  # test_mahueval.py goes the same way without a browser, test_killed_talks.py with kills
async def test_two_people_go_through_both_rounds_while_the_server_is_killed(new_browser, tmp_path):
    text = study_text(tmp_path, file={"raters": 2})
    with new_browser() as ann, new_browser() as ben:
        async with study_process(text, tmp_path) as study:
            await study.start(DIE_AFTER=CLICK_ON_A_QUESTION)
            for driver, name in ((ann, "rater-1"), (ben, "rater-2")):
                driver.get(study.links[name])
                go_on(driver)

            anns = one_conversation(ann, ANN)
            next(anns)
            await study.killed()
            await study.start(DIE_AFTER=CLICK_ON_A_JUDGEMENT)
            ann.refresh()
            next(anns)
            next(anns)
            await study.killed()
            await study.start(NEVER_ENDS=ANSWER_UNDER_WAY)
            ann.refresh()
            list(anns)

            bens = one_conversation(ben, BEN)
            next(bens)
            until(ben, lambda d: texts(d, "[data-state]") == ["The system is answering …"])
            await study.kill()
            until(ben, lambda d: "The connection is lost" in "".join(texts(d, "[data-state]")))
            await study.start()
            ben.refresh()
            list(bens)

            list(one_conversation(ann, ANN))
            assert heading(ann) == "Nothing to do just now"
            for _ in range(3):
                list(one_conversation(ben, BEN))
            assert heading(ben) == "Done"
            ann.refresh()
            for _ in range(2):
                list(one_conversation(ann, ANN))
            assert heading(ann) == "Done"

            out = tmp_path / "results"
            export = ["study", "export", str(tmp_path), "--out", str(out), "--resamples", "10"]
            exported = await asyncio.to_thread(CliRunner().invoke, app, export)
            assert exported.exit_code == 0, exported.output
            assert await study.end() == 130

    clicks, states = kept(tmp_path)
    assert states == [("done", 2)] * 8
    assert len(set(clicks)) == len(clicks) == 16
    turns, _ = talk(tmp_path)
    assert sorted(question for _, question, _ in turns) == sorted(
        question for question, said in SAID.items() for one in said if one
    )
    assert all(answer for _, _, answer in turns)

    numbers = json.loads((out / "results.json").read_text())
    ((depths, total),) = [(group["rows"][:-1], group["rows"][-1]) for group in numbers["groups"]]
    shares = {
        name: [row["scores"][name]["value"] for row in (*depths, total)]
        for name in ("human_correct", "human_hr@1", "human_passage")
    }
    assert [row["depth"] for row in (*depths, total)] == [1, 2, None]
    # By depth, Ann and Ben: correct are 4 and 3 first answers of 4 each, and 2 and 2 second ones. Right is
    # the first passage of 4 and 3, and of 2 and 1; any passage of 4 and 3, and of 3 and 4.
    assert shares == {
        "human_correct": [7 / 8, 4 / 8, 11 / 16],
        "human_hr@1": [7 / 8, 3 / 8, 10 / 16],
        "human_passage": [7 / 8, 7 / 8, 14 / 16],
    }
    (agreement,) = [one for one in numbers["tables"] if one["title"] == "Agreement on the same turns"]
    found = {row[0]: (row[1], row[2]["value"], row[3]["value"]) for row in agreement["rows"]}
    # Both judged 7 turns: the 4 first ones, and 3 second ones, since Ann went her own way once. In order:
    # Correct 11 00 10 01 11 11 11: 5 of 7 equal; each says yes 5 times: by chance (5*5 + 2*2)/49 = 29/49.
    # A passage is right 11 11 10 01 11 11 11: 5 equal; each 6 times: by chance (6*6 + 1*1)/49 = 37/49.
    # Kind EE EA EE AA EE EE EE: 6 equal; extractive 6 and 5, abstractive 1 and 2: by chance 32/49.
    assert found == {
        "answer correct": (7, pytest.approx(5 / 7), pytest.approx((35 - 29) / (49 - 29))),
        "passage right": (7, pytest.approx(5 / 7), pytest.approx((35 - 37) / (49 - 37))),
        "question intent": (7, pytest.approx(6 / 7), pytest.approx((42 - 32) / (49 - 32))),
    }
