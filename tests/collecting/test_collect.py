"""``replay collect``, as a user gets it: from a log to a suite that runs."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest

from replay.collecting import collect as collecting
from replay.collecting.suite import Suite, read_replaced
from replay.runs.launch import load_scenario
from replay.scenario.optional_sections import RecordedSection
from tests.cli.command import replay_cli
from tests.collecting.logs import log, write_logs


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
    assert [one for one in said if one] == [
        {"bad_conversation": "feedback in the log"},
        {"bad_answers": [1]},
    ]
    scenario = load_scenario(str(folder / "suite")).scenario
    assert scenario.recorded == RecordedSection()


def test_no_file_of_the_suite_holds_what_is_personal(folder):
    collect(folder)
    texts = [path.read_text("utf-8") for path in (folder / "suite").iterdir()]
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


def test_the_list_of_what_was_replaced_is_beside_it_and_for_its_owner(folder):
    collect(folder)
    listed = folder / "suite-replaced.jsonl"
    assert stat.S_IMODE(listed.stat().st_mode) == 0o600
    was, values = read_replaced(listed)["c0002"]
    assert was == "ann.lee@mail.example"
    assert {value.original for value in values} == {"Ann Lee", "Ann"}


def test_the_suite_runs_at_once(folder):
    collect(folder)
    done = replay_cli("run", "suite", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "conversations:4" in done.stdout


def test_the_report_says_what_was_taken_and_what_not(folder):
    collect(folder)
    report = (folder / "suite" / "report.md").read_text("utf-8")
    assert "4 of 6 conversations were taken, with 7 turns; seed 0." in report
    assert re.search(r"\| `c0003` \| 3 \| 2 \| \d+ \| feedback in the log \|", report)
    assert "- 1: near-duplicates of another one" in report
    assert "- 1: not in English, of which names can be told" in report
    assert "4 of 6 conversations were taken" in (folder / "suite" / "report.txt").read_text("utf-8")


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("shop.jsonl",), "name log files and --out SUITE, or --review SUITE"),
        (("shop.jsonl", "--review", "x"), "--review takes a suite that is there"),
        (("--review", "x"), '"x" has no conversations.jsonl'),
        (("shop.jsonl", "--out", "."), '"." is there already'),
        (
            ("shop.jsonl", "--out", "s", "--replaced", "s/list.jsonl"),
            "is in the suite, which others will read",
        ),
        (("shop.jsonl", "--out", "s", "--replaced", "shop.jsonl"), "is there already"),
        (
            ("shop.jsonl", "--out", "s", "--min-turns", "9"),
            "there is nothing to take: 6 conversations were read",
        ),
    ],
)
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
