"""
What is worth keeping of many conversations.

``replay collect``, as a user gets it: from a log to a suite that runs.
"""

from __future__ import annotations

import json
import random
import re
import stat
from pathlib import Path

import pytest

from replay.collecting import collect as collecting
from replay.collecting.sampling import (
    CandidateConversation,
    complaint,
    depth_band,
    leaning_depths,
    read_leaning,
    split_duplicates,
    take,
)
from replay.collecting.suite import Suite, read_replaced
from replay.core.conversation import Conversation, Turn
from replay.coreference.reading.embedded import EmbeddedResolver
from replay.runs.launch import load_scenario
from replay.scenario.sections import RecordedSection
from tests.cli.command import replay_cli
from tests.collecting.logs import log, write_logs
from tests.data_tables import from_table


def talk(*texts: str, id: str = "a", **metadata: object) -> Conversation:
    pairs = list(zip(texts[::2], texts[1::2], strict=True))
    turns = tuple(Turn(id=f"{id}{n}", question=q, gold_answers=(a,)) for n, (q, a) in enumerate(pairs))
    return Conversation(id=id, turns=turns, metadata=metadata)


def candidates(*depths: int) -> list[CandidateConversation]:
    return [
        CandidateConversation(number=n, conversation=talk(*("What?", "That.") * depth, id=f"t{n}"))
        for n, depth in enumerate(depths)
    ]


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        ({"feedback": "thumbs_down"}, "feedback in the log"),
        ({"scores": [{"name": "user-feedback", "value": 0}]}, "user-feedback in the log"),
        ({"scores": [{"name": "groundedness", "value": 0}]}, "score groundedness in the log"),
        ({"evaluation": {"passed": False}}, "passed in the log"),
        ({"rating": 1}, "rating in the log"),
        ({"reward": 0.0}, "reward in the log"),
        ({"escalated": True}, "escalated in the log"),
        ({"feedback": "thumbs_up", "rating": 5, "score": 0.9, "escalated": False, "user": "no"}, None),
    ],
)
def test_a_verdict_in_the_log_counts(metadata, why):
    assert complaint(talk("Hi?", "Hi.", **metadata)) == why


def test_a_user_who_objects_counts_but_not_with_the_first_words():
    assert complaint(talk("Hi?", "Hi.", "That’s not what I asked.", "Oh.")) == "the user objects at turn 2"
    assert complaint(talk("That’s not what I asked.", "Oh.")) is None


def test_depths_go_by_bands():
    assert [depth_band(depth) for depth in (1, 2, 3, 6, 12, 40)] == [
        "1 turn", "2 to 3 turns", "2 to 3 turns", "4 to 6 turns", "7 to 12 turns", "13 turns or more",
    ]  # fmt: skip


def test_questions_that_lean_on_an_answer_are_told_from_those_that_stand_alone():
    found = leaning_depths(
        talk(
            "Who wrote Stone Garden?", "Mira Okafor wrote Stone Garden.",
            "When was she born?", "She was born in 1961.",
            "What is the capital of France?", "Paris is the capital of France.",
        ),
        EmbeddedResolver(),
    )  # fmt: skip
    assert found == (2,)


def test_of_conversations_that_are_alike_one_stays():
    """Whatever their numbers are; the one with a complaint, else the first."""
    said = [
        "My order {} has not come and I need it by Friday, can you look where it is?",
        "It left our store on Monday and should be with you by Thursday evening at the latest.",
    ]
    alike = [
        CandidateConversation(
            number=n, conversation=talk(*(one.format(n) for one in said), id=f"t{n}"), complaint=why
        )
        for n, why in enumerate([None, "rating in the log", None])
    ]
    other = CandidateConversation(number=3, conversation=talk("Do you sell lamps?", "We do.", id="t3"))
    differing, repeated = split_duplicates([*alike, other])
    assert [one.number for one in differing] == [1, 3]
    assert [(one.number, kept.number) for one, kept in repeated] == [(0, 1), (2, 1)]


def test_reasons_take_turns():
    many = candidates(*[2] * 20, 14)
    unhappy = [
        CandidateConversation(number=30 + n, conversation=many[0].conversation, complaint="bad")
        for n in range(9)
    ]
    leaning = [
        CandidateConversation(number=40 + n, conversation=many[0].conversation, leaning=(2,) * n)
        for n in range(1, 9)
    ]
    taken = take([*many, *unhappy, *leaning], 6, random.Random(0))
    assert sorted(one.why for one in taken if "lean" not in one.why) == [
        "bad", "bad", "its depth: 13 turns or more", "its depth: 2 to 3 turns",
    ]  # fmt: skip
    assert {one.candidate.number for one in taken} >= {20, 47, 48}


def test_the_same_seed_takes_the_same_and_no_more_than_there_are():
    many = candidates(*range(1, 15))
    numbers = [[one.candidate.number for one in take(many, 5, random.Random(seed))] for seed in (1, 1, 2)]
    assert numbers[0] == numbers[1] != numbers[2]
    assert len(take(many, 99, random.Random(0))) == 14


def test_only_so_many_are_read_those_with_a_complaint_first():
    many = [
        *candidates(1, 2, 3, 4),
        CandidateConversation(number=9, conversation=talk(*("a", "b") * 3), complaint="bad"),
    ]
    read = read_leaning(many, 2, random.Random(0), lambda one: (2,))
    assert sum(one.leaning is not None for one in read) == 2
    assert read[-1].leaning == (2,)
    assert read[0].leaning is None, "a single question leans on nothing"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_logs(tmp_path / "shop.jsonl")
    return tmp_path


def collect(folder: Path, *more: str) -> list[dict]:
    done = replay_cli("collect", "shop.jsonl", "--out", "suite", *more, cwd=folder)
    assert done.returncode == 0, done.stderr
    lines = (folder / "suite" / "conversations.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_a_log_becomes_a_suite(folder):
    """One of two that are alike, none that isn't English; the ids are new."""
    talks = collect(folder)
    assert [one["id"] for one in talks] == ["c0001", "c0002", "c0003", "c0004"]
    assert [len(one["turns"]) for one in talks] == [2, 1, 3, 1]
    assert talks[2]["metadata"]["feedback"] == "thumbs_down"
    assert talks[2]["metadata"]["key_turns"] == [2, 3]


def test_the_suite_says_which_recorded_answers_are_no_reference_and_holds_against_the_others(folder):
    """Of the conversation that the log calls bad none is, and of another one that the user objected to."""
    objecting = log(
        "shop-7",
        ("Do you have candles?", "We sell candles of beeswax in three sizes, and holders made of brass."),
        ("That's not what I asked. Unscented ones?", "All of our candles are unscented, large ones too."),
    )
    with (folder / "shop.jsonl").open("a", encoding="utf-8") as stream:
        stream.write(f"{json.dumps(objecting)}\n")
    metadata = [one.get("metadata", {}) for one in collect(folder)]
    keys = ("bad_answers", "bad_conversation")
    said = [{key: one[key] for key in keys if key in one} for one in metadata]
    assert [one for one in said if one] == [{"bad_conversation": "feedback in the log"}, {"bad_answers": [1]}]
    scenario = load_scenario(str(folder / "suite")).scenario
    assert scenario.recorded == RecordedSection()


@pytest.fixture(scope="module")
def collected(tmp_path_factory) -> Path:
    """A folder with a log and its suite, which nobody writes to."""
    folder = tmp_path_factory.mktemp("collected")
    write_logs(folder / "shop.jsonl")
    collect(folder)
    return folder


def test_no_file_of_the_suite_holds_what_is_personal(collected):
    texts = [path.read_text("utf-8") for path in (collected / "suite").iterdir()]
    assert len(texts) == 4
    for secret in (
        "48291",
        "Castle Hill",
        "LA1 1YN",
        "Ann Lee",
        "Yes, Ann",
        "ann.lee@mail.example",
        "shop-1",
    ):
        assert [text for text in texts if secret in text] == [], secret


def test_the_list_of_what_was_replaced_is_beside_it_and_for_its_owner(collected):
    listed = collected / "suite-replaced.jsonl"
    assert stat.S_IMODE(listed.stat().st_mode) == 0o600
    was, values = read_replaced(listed)["c0002"]
    assert was == "ann.lee@mail.example"
    assert {value.original for value in values} == {"Ann Lee", "Ann"}


def test_the_suite_runs_at_once(collected):
    done = replay_cli("run", "suite", cwd=collected)
    assert done.returncode == 0, done.stderr
    assert "conversations:4" in done.stdout


def test_the_report_says_what_was_taken_and_what_not(collected):
    report = (collected / "suite" / "report.md").read_text("utf-8")
    assert "4 of 6 conversations were taken, with 7 turns; seed 0." in report
    assert re.search(r"\| `c0003` \| 3 \| 2 \| \d+ \| feedback in the log \|", report)
    assert "- 1: near-duplicates of another one" in report
    assert "- 1: not in English, of which names can be told" in report
    assert "4 of 6 conversations were taken" in (collected / "suite" / "report.txt").read_text("utf-8")


def test_the_same_seed_writes_the_same_bytes(folder):
    collect(folder, "--limit", "2")
    first = (folder / "suite" / "conversations.jsonl").read_bytes()
    other = replay_cli("collect", "shop.jsonl", "--out", "again", "--limit", "2", cwd=folder)
    assert other.returncode == 0
    assert (folder / "again" / "conversations.jsonl").read_bytes() == first


def test_other_languages_shorter_ones_and_ones_own_rules(folder):
    (folder / "rules.yaml").write_text("replace: [{kind: name, pattern: Marlow}]\nkeep: [Fenton]", "utf-8")
    talks = collect(folder, "--any-language", "--min-turns", "2", "--patterns", "rules.yaml")
    assert [len(one["turns"]) for one in talks] == [2, 3]
    text = json.dumps(talks[1])
    assert "Fenton" in text
    assert "Marlow" not in text


@from_table
def test_what_cannot_be_is_refused_and_nothing_written(folder, arguments, message):
    done = replay_cli("collect", *arguments, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["shop.jsonl"]


def test_what_is_not_installed_is_named(folder, monkeypatch):
    monkeypatch.setattr(collecting, "_EXTRA", ("no_such_package",))
    done = replay_cli("collect", "shop.jsonl", "--out", "suite", cwd=folder)
    assert done.returncode == 2
    assert (
        'replay collect needs no_such_package, which is not installed; try pip install "convreplay[collect]"'
        in (done.stderr)
    )


def test_a_conversation_from_which_something_could_not_be_taken_is_left_out(folder, monkeypatch):
    monkeypatch.setattr(collecting, "leaks", lambda conversation, values: len(conversation.turns) == 2)
    assert [len(one["turns"]) for one in collect(folder)] == [1, 3, 1]
    assert "could not be replaced everywhere" in (folder / "suite" / "report.md").read_text("utf-8")


def test_bad_lines_are_skipped_and_reported(folder):
    with (folder / "shop.jsonl").open("a") as stream:
        stream.write('{"messages": 7}\n')
    done = replay_cli("collect", "shop.jsonl", "--format", "chat", "--out", "suite", cwd=folder)
    assert done.returncode == 2
    done = replay_cli("collect", "shop.jsonl", "--format", "chat", "--out", "suite", "--skip-bad", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "skipped: " in done.stderr
    assert "1: could not be read" in done.stdout


def test_a_decision_is_kept_and_can_be_changed(folder):
    collect(folder)
    suite = Suite(folder / "suite")
    first, second, *_ = suite.entries()
    suite.keep(first.conversation, "dropped", ())
    suite.keep(second.conversation, "accepted", (1,))
    again = Suite(folder / "suite")
    assert [one.status for one in again.entries()] == ["dropped", "accepted", "open", "open"]
    assert again.entries()[1].key_turns == (1,)
    played = (folder / "suite" / "conversations.jsonl").read_text("utf-8")
    assert '"c0001"' not in played
    again.keep(again.entries()[0].conversation, "open", ())
    assert Suite(folder / "suite").entries()[0].status == "open"
