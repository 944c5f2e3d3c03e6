"""Bad input at the command line: one message, the right exit code, nothing lost, no text changed."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
import yaml
from aiohttp import web

import replay
from replay.results.run import Run, newest_run
from tests.adapters.servers import answering, in_a_thread
from tests.cli.command import replay_cli
from tests.fuzz.inputs import HAND_MADE

GOOD = json.dumps({"id": "good", "turns": [{"question": "Who?", "gold_answer": "Bob."}]}) + "\n"
ODD = (
    "a\u202e\u05d0\u05d1\u202c \u0628 \u2028\u2029 \\ \" ' <b>&amp; \u0001 \U0001f600 caf\u00e9 \ufeff "
    "\ufffe e\u0301 \0 \ud800 z"
)
"""Right to left, line ends of Unicode's, markup, NUL, and half a surrogate pair."""


def write_scenario(folder: Path, **changes) -> None:
    facts = {
        "name": "try",
        "data": {"path": "talks.jsonl", "format": "native"},
        "systems": [{"name": "echo", "adapter": "scripted", "settings": {"answers": "gold"}}],
        "policies": ["pred"],
        "drift": {"nlp_workers": 0},
    }
    (folder / "scenario.yaml").write_text(yaml.safe_dump({**facts, **changes}))


# Every sixth: the readers themselves are tried with all of them in test_bad_files.py.
some_hand_made = pytest.mark.parametrize(
    "what",
    [
        pytest.param(what, marks=[] if number % 6 == 0 else pytest.mark.long)
        for number, what in enumerate(HAND_MADE)
    ],
)


@some_hand_made
def test_a_bad_scenario_is_one_message_and_exit_code_2(what, tmp_path):
    (tmp_path / "scenario.yaml").write_bytes(HAND_MADE[what])
    done = replay_cli("run", "scenario.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("scenario.yaml: ")
    assert "Traceback" not in done.stderr


@some_hand_made
def test_bad_data_is_one_message_and_exit_code_2_and_can_be_passed_over(what, tmp_path):
    write_scenario(tmp_path, data={"path": ["good.jsonl", "talks.jsonl"], "format": "native"})
    (tmp_path / "good.jsonl").write_text(GOOD)
    (tmp_path / "talks.jsonl").write_bytes(HAND_MADE[what])
    done = replay_cli("run", "scenario.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert "talks.jsonl" in done.stderr
    assert "Traceback" not in done.stderr
    done = replay_cli("run", "scenario.yaml", "--skip-bad", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    run = Run(newest_run(tmp_path / "runs"))
    assert [record.conversation for record in run.records()] == ["good"]
    assert run.state().skipped_conversations > 0


def test_a_line_that_is_too_long_spoils_only_itself(tmp_path):
    write_scenario(tmp_path)
    with (tmp_path / "talks.jsonl").open("wb") as file:
        file.write(GOOD.encode())
        file.write(b'{"id": "big", "turns": [{"question": "' + b"x" * 64 * 2**20 + b'"}]}\n')
        file.write(GOOD.replace("good", "after").encode())
    done = replay_cli("validate", "scenario.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert "talks.jsonl:2: is longer than 64 MiB" in done.stderr
    done = replay_cli("run", "scenario.yaml", "--skip-bad", cwd=tmp_path)
    run = Run(newest_run(tmp_path / "runs"))
    assert (done.returncode, [r.conversation for r in run.records()]) == (0, ["good", "after"])


def test_ids_that_are_there_twice_and_conversations_without_turns_are_told_one_by_one(tmp_path):
    write_scenario(tmp_path)
    empty = json.dumps({"id": "empty", "turns": []}) + "\n"
    (tmp_path / "talks.jsonl").write_text("\ufeff" + (GOOD + empty + GOOD).replace("\n", "\r\n"))
    done = replay_cli("validate", "scenario.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert "2 conversations can't be read" in done.stderr
    assert 'talks.jsonl:2: conversation "empty": has no turns' in done.stderr
    assert 'has the id "good", and so has conversation 1' in done.stderr


def test_a_conversation_of_very_many_turns_is_played_and_reported(tmp_path, monkeypatch, long):
    """A history grows with each turn, so ten times as many take a hundred times as long."""
    count = 10_000 if long else 400
    monkeypatch.chdir(tmp_path)
    turns = [{"question": f"Who sang {n}?", "gold_answer": f"Singer {n} did."} for n in range(count)]
    (tmp_path / "talks.jsonl").write_text(json.dumps({"id": "long", "turns": turns}) + "\n")
    write_scenario(tmp_path, policies=["gold"], scorers=["em"])
    run = replay.run("scenario.yaml")
    assert len(run.records()) == count
    assert run.depth_table(resamples=0)["depth"].nunique() >= count


def test_odd_texts_come_through_everything_as_they_are(tmp_path):
    """Data set, request, reply, database, export, report and page."""
    asked: list[str] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        asked.append(json.loads(await request.read())["q"])
        return web.Response(text=json.dumps({"a": ODD}), content_type="application/json")

    data = ODD.replace("\ud800", "")  # a file in UTF-8 holds no half of a pair, and neither does JSON
    turns = [{"question": data, "gold_answer": data}, {"question": "And?", "gold_answer": data}]
    talk = {"id": "odd", "title": data, "turns": turns}
    (tmp_path / "talks.jsonl").write_text(json.dumps(talk, ensure_ascii=False) + "\n", "utf-8")
    with in_a_thread(answering(handler)) as address:
        settings = {"url": address, "answer": "a", "body": {"q": "{{question}}", "h": "{{history}}"}}
        write_scenario(tmp_path, systems=[{"name": "s", "adapter": "http", "settings": settings}])
        done = [replay_cli("run", "scenario.yaml", cwd=tmp_path)]
    for arguments in (
        ("report", "--json"), ("report", "--markdown"), ("report", "--html", "report.html"),
        ("export", "-o", "turns.csv"), ("export", "-o", "turns.jsonl"), ("export",),
        ("export", "--table", "conversations", "-o", "talks-again.jsonl"),
    ):  # fmt: skip
        done.append(replay_cli(*arguments, cwd=tmp_path))
    for one in done:
        assert one.returncode == 0, one.stderr
        assert "Traceback" not in one.stdout + one.stderr
    assert asked == [data, "And?"]
    run = Run(newest_run(tmp_path / "runs"))
    assert [(r.asked, r.answer) for r in run.records()] == [(data, ODD), ("And?", ODD)]
    assert [c.title for c in run.conversations()] == [data]
    rows = [json.loads(line) for line in (tmp_path / "turns.jsonl").read_text("utf-8").split("\n")[:-1]]
    assert [row["asked"] for row in rows] == [data, "And?"]
    assert [row["answer"] for row in rows] == [ODD, ODD]
    again = [
        json.loads(line) for line in (tmp_path / "talks-again.jsonl").read_text("utf-8").split("\n")[:-1]
    ]
    assert again[0]["turns"][0]["question"] == data
    connection = sqlite3.connect(run.folder / "run.db")
    try:
        (count,) = connection.execute("SELECT count(*) FROM turn WHERE length(asked) > 0").fetchone()
    finally:
        connection.close()
    assert count == 2
