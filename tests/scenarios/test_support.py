"""The shipped scenario ``support`` passes on the good bot, and fails on the worse one where that is worse."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from subprocess import CompletedProcess
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from replay.results.run import Run, newest_run
from replay.scenario.shipped import example_scenario, find_scenario
from tests.cli.command import replay_cli
from tests.scenarios.support_bots import listening

CI = (Path(__file__).parents[2] / "docs" / "ci.md").read_text("utf-8")
FORGETS = {
    "where-is-it": [4, 5],
    "two-machines": [4, 5],
    "two-wishes": [5],
    "long-chat": [4, 5, 7],
    "out-of-policy": [5],
}
"""Depths at which the order was named more than three questions ago."""
ASKS_NOBODY = {"cancel-which": [1], "new-address": [1], "wrong-number": [1], "which-of-two": [1, 2]}
"""Depths at which it has to be asked which order, or which address."""
REFUNDS_TOO_MUCH = {"money-back": [1, "end"], "angry": [3]}
ALWAYS = FORGETS | ASKS_NOBODY | REFUNDS_TOO_MUCH
WORSE = {
    "gold": ALWAYS | {"new-address": [1, 4], "which-of-two": [1, 2, 3, 5, "end"]},
    "pred": ALWAYS | {"cancel-which": [1, 2], "new-address": [1, 2], "which-of-two": [1, 2, 3, 4, 5, "end"]},
    # Asked without the words that its own answers have left without a meaning, it finds the order again.
    "replace": ALWAYS | {"new-address": [1, 2], "two-machines": [4], "which-of-two": [1, 2, 3]},
}
Failing = dict[str, dict[str, list[int | str]]]


class Played(NamedTuple):
    done: CompletedProcess[str]
    run: Run
    junit: ElementTree.Element


def play(folder: Path, bot: str, *options: str, **replaced: str) -> Played:
    """The scenario on *bot*, with other words *replaced* in it."""
    scenario, *_ = example_scenario("support", folder)
    with listening(folder, bot) as port:
        text = scenario.read_text("utf-8")
        for old, new in {"8011": port, "seed: 1": "seed: 1\ndrift: {nlp_workers: 0}", **replaced}.items():
            assert old in text
            text = text.replace(old, new)
        scenario.write_text(text, "utf-8")
        done = replay_cli("run", scenario.name, "--junit", "junit.xml", *options, cwd=folder)
    assert done.returncode in (0, 100), done.stderr
    return Played(done, Run(newest_run(folder / "runs")), ElementTree.parse(folder / "junit.xml").getroot())


PRED = {"[gold, pred, replace]": "[pred]"}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return play(tmp_path_factory.mktemp("good"), "good", **PRED)


@pytest.fixture(scope="module")
def worse(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return play(tmp_path_factory.mktemp("worse"), "worse", **PRED)


def failing(run: Run) -> Failing:
    """By policy and conversation, the depths of failed checks; ``end`` for one of a conversation's end."""
    found: dict[str, dict[str, dict[int | str, None]]] = defaultdict(lambda: defaultdict(dict))
    for check in run.checks():
        if not check.passed:
            found[check.policy][check.conversation]["end" if check.at_end else check.depth] = None
    return {policy: {name: list(depths) for name, depths in talks.items()} for policy, talks in found.items()}


def test_the_good_bot_passes(good: Played) -> None:
    assert good.done.returncode == 0, good.done.stdout
    assert failing(good.run) == {}
    assert {record.answer == record.gold_answers[0] for record in good.run.records()} == {True}


def test_the_worse_bot_fails_where_its_faults_show(worse: Played) -> None:
    assert worse.done.returncode == 100
    assert failing(worse.run) == {"pred": WORSE["pred"]}


@pytest.mark.long
def test_both_do_so_under_every_policy_of_the_scenario(tmp_path: Path) -> None:
    assert failing(play(tmp_path / "good", "good").run) == {}
    worse = play(tmp_path / "worse", "worse")
    assert failing(worse.run) == WORSE
    (shown,) = re.findall(r"ends with 100:\n\n```text\n(.*?)```", CI, re.DOTALL)
    assert shown in worse.done.stdout


@pytest.mark.long
def test_what_was_answered_once_passes_again_without_anybody_there(tmp_path: Path) -> None:
    first = play(tmp_path, "good", "--cache", "answers", **PRED)
    again = replay_cli("run", "scenario.yaml", "--cache", "answers", cwd=tmp_path)

    assert (first.done.returncode, again.returncode) == (0, 0), again.stdout
    assert "60 of 60 answers came from the cache" in again.stdout


def test_tools_are_asked_in_two_rounds_where_one_needs_the_other(good: Played) -> None:
    (record,) = (r for r in good.run.records() if (r.conversation, r.depth) == ("two-wishes", 1))

    assert [[call.name for call in step.tool_calls] or step.role for step in record.steps] == [
        ["find_order", "find_order"],
        "tool",
        "tool",
        ["cancel_order"],
        "tool",
    ]


def test_whole_replies_say_what_streamed_ones_say(good: Played, tmp_path: Path) -> None:
    whole = play(tmp_path, "good", "--limit", "4", **PRED, **{"stream: true": "stream: false"})

    streamed = {(record.conversation, record.depth): record for record in good.run.records()}
    found = whole.run.records()
    assert len({record.conversation for record in found}) == 4
    for record in found:
        like = streamed[record.conversation, record.depth]
        assert (record.answer, record.steps) == (like.answer, like.steps)
    assert any(record.steps for record in found)


def test_junit_has_a_case_for_every_check_and_red_ones_where_the_worse_bot_fails(
    good: Played, worse: Played
) -> None:
    for played, failures in ((good, "0"), (worse, "35")):
        assert (played.junit.get("tests"), played.junit.get("failures")) == ("96", failures)
    red = {
        (case.get("classname"), case.get("name")): (failure.get("message"), failure.text)
        for case in worse.junit.iter("testcase")
        if (failure := case.find("failure")) is not None
    }
    message, text = red["support.which-of-two", 'depth 5: contains "cancelled" (bot, pred)']
    assert message == 'no "cancelled" in the answer'
    assert text is not None
    for line in (
        "asked: Please cancel it.",
        "answer: I have made a note of it.",
        "the question is invalid over the system's own history: ",
    ):
        assert line in text
    suites = {name.partition(".")[2] for name, _ in red if name}
    assert suites - {""} == WORSE["pred"].keys()


def test_markdown_counts_the_checks_and_names_the_first_that_fail(good: Played, worse: Played) -> None:
    shown = {
        played: replay_cli("report", "--markdown", played.run.folder, cwd=played.run.folder).stdout
        for played in (good, worse)
    }
    assert "| `check` | 93 | 0 | 0 |" in shown[good]
    assert "**Failed checks**" not in shown[good]
    for line in (
        "| `check` | 60 | 33 | 0 |",
        "| `check.asks_back` | 0 | 5 | 0 |",
        "| `check.right-amount` | 0 | 2 | 0 |",
    ):
        assert line in shown[worse]
    assert "I have refunded 43.90 euros" in shown[worse]


def test_the_bots_are_told_no_conversations() -> None:
    """They answer from the messages that they are sent: no id, question or order is in their code."""
    folder = find_scenario("support").parent
    code = "".join(path.read_text("utf-8") for path in folder.glob("*.py"))
    data = (folder / "conversations.jsonl").read_text("utf-8").splitlines()
    for talk in map(json.loads, data):
        assert talk["id"] not in code
        assert not [turn["question"] for turn in talk["turns"] if turn["question"] in code]
    assert not re.search(r"\b4\d{4}\b", code)


def test_it_is_copied_whole_and_played_by_its_name(tmp_path: Path) -> None:
    done = replay_cli("init", "--example", "support", cwd=tmp_path)

    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith("next: replay validate support/scenario.yaml")
    copied = {path.name for path in (tmp_path / "support").iterdir()}
    assert copied == {path.name for path in find_scenario("support").parent.iterdir() if path.is_file()}
    again = replay_cli("init", "--example", "support", cwd=tmp_path)
    assert (again.returncode, "--force" in again.stderr) == (2, True)
    unknown = replay_cli("init", "--example", "suport", cwd=tmp_path)
    assert unknown.returncode == 2
    assert 'there is no example "suport"; did you mean "support"?' in unknown.stderr
