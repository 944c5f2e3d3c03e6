"""The command line as a user types it: a process of its own, real files, real signals."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

import replay
from replay.cli import app
from replay.core.settings.plugins import available
from replay.scenario.reading import parse_scenario, read_scenario
from replay.scenario.shipped import find_scenario, shipped_names
from tests.cli.command import kept_turns, replay_cli
from tests.data_tables import from_table
from tests.waiting import PATIENCE_S, until

GOLDEN = Path(__file__).parents[1] / "golden" / "help"
VERBS = [command.name for command in app.registered_commands]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a starter scenario and one run of it."""
    made = tmp_path_factory.mktemp("work")
    assert replay_cli("init", cwd=made).returncode == 0
    done = replay_cli("run", "scenario.yaml", cwd=made)
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture
def run(folder):
    """The starter's run."""
    return next((folder / "runs").glob("my-first-run-*"))


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_is_what_we_meant_it_to_be(verb, tmp_path):
    """`UPDATE_GOLDEN=1 pytest tests/cli` rewrites the pages; then read the difference."""
    arguments = [verb, "--help"] if verb else ["--help"]
    done = replay_cli(*arguments, cwd=tmp_path, env={**os.environ, "COLUMNS": "100", "TERMINAL_WIDTH": "100"})
    golden = GOLDEN / f"{verb or 'replay'}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(done.stdout)
    assert done.returncode == 0
    assert done.stdout == golden.read_text()


def test_without_a_verb_the_verbs_are_listed(tmp_path):
    done = replay_cli(cwd=tmp_path)
    assert "resume" in done.stdout + done.stderr


def test_the_version_is_told(tmp_path):
    assert replay_cli("--version", cwd=tmp_path).stdout == f"convreplay {replay.__version__}\n"


def test_init_writes_a_scenario_that_runs_as_it_is(folder):
    (run,) = (folder / "runs").iterdir()
    connection = sqlite3.connect(run / "run.db")
    assert connection.execute("SELECT count(*) FROM turn WHERE outcome = 'answered'").fetchone() == (120,)
    connection.close()


def test_every_key_that_the_starter_names_in_its_comments_is_one(folder):
    text = (folder / "scenario.yaml").read_text("utf-8")
    sections = re.sub(r"^# (?=(?:\w+:|  .*)$)", "", text, flags=re.MULTILINE)
    assert len(set(re.findall(r"^(drift|scorers|play):", sections, re.MULTILINE))) == 3
    scenario = parse_scenario(sections, source="scenario.yaml", folder=folder).scenario
    assert scenario.drift.threshold == 0.5


def test_init_writes_a_scenario_for_data_that_is_there(tmp_path):
    talk = {"messages": [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "Okafor."}]}
    (tmp_path / "my logs.jsonl").write_text(json.dumps(talk))
    (tmp_path / "tests").mkdir()

    done = replay_cli("init", "tests/drift.yaml", "--data", "my logs.jsonl", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "tests").iterdir()] == ["drift.yaml"]
    assert "1 conversation, 1 turn" in replay_cli("validate", "tests/drift.yaml", cwd=tmp_path).stdout


def test_init_writes_over_nothing_unasked(folder):
    done = replay_cli("init", cwd=folder)
    assert done.returncode == 2
    assert "--force" in done.stderr


def test_a_run_ends_with_the_depth_table_and_where_it_lies(folder):
    done = replay_cli("run", "quickstart", "--limit", "2", cwd=folder)
    assert done.returncode == 0
    assert "extractive, rewrite" in done.stdout
    made = re.search(r"^run: (.*)$", done.stdout, re.MULTILINE)
    assert made
    assert (folder / made[1] / "run.db").is_file()
    assert "\x1b" not in done.stdout + done.stderr, "no colours in a pipe"
    assert "turns" in done.stderr, "progress goes to standard error"


def test_report_and_its_json_tell_the_same(folder, run):
    text = replay_cli("report", run, cwd=folder)
    machine = json.loads(replay_cli("report", run, "--json", cwd=folder).stdout)
    assert machine["schema"] == 1
    groups = {(g["system"], g["policy"]) for g in machine["depth_table"]["groups"]}
    assert groups == {("extractive", "gold"), ("extractive", "pred"), ("extractive", "rewrite")}
    assert (
        machine["signatures"]["rewrite"] in text.stdout.replace("\n", "") or "coref:embedded" in text.stdout
    )


def test_no_run_named_means_the_newest(folder):
    done = replay_cli("report", cwd=folder)
    assert done.returncode == 0
    nowhere = replay_cli("report", "--runs", "nowhere", cwd=folder)
    assert nowhere.returncode == 2
    assert 'there is no run in "nowhere"' in nowhere.stderr


@pytest.mark.parametrize(
    ("name", "magic"), [("t.csv", b"system,"), ("t.jsonl", b"{"), ("t.parquet", b"PAR1")]
)
def test_turns_are_exported_in_every_format(folder, run, name, magic):
    done = replay_cli("export", run, "--out", name, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / name).read_bytes().startswith(magic)


def test_exported_conversations_can_be_replayed(folder, run):
    assert (
        replay_cli("export", run, "--table", "conversations", "--out", "c.jsonl", cwd=folder).returncode == 0
    )
    text = (folder / "scenario.yaml").read_text().replace("path: conversations.jsonl", "path: c.jsonl")
    (folder / "again.yaml").write_text(text)
    done = replay_cli("validate", "again.yaml", cwd=folder)
    assert "4 conversations, 40 turns" in done.stdout


def test_score_takes_other_scorers(folder, run):
    done = replay_cli(
        "score", run, "--scorer", "f1", "--scorer", "{rouge_l: {beta: 2}}", "--json", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    assert list(json.loads(done.stdout)["depth_table"]["columns"]) == ["f1", "rouge_l(beta=2)"]


def test_validate_says_what_a_scenario_will_do(folder):
    done = replay_cli("validate", "scenario.yaml", cwd=folder)
    assert done.returncode == 0
    assert "40 turns" in done.stdout
    assert "history kept by the client" in done.stdout


def test_validate_says_what_will_not_be_judged(folder):
    turns = [{"question": q, "gold_answer": "1986."} for q in ("Wer war das?", "Wo lebte sie?", "1986?")]
    (folder / "german.jsonl").write_text(json.dumps({"id": "a", "turns": turns}) + "\n", "utf-8")
    text = (folder / "scenario.yaml").read_text().replace("path: conversations.jsonl", "path: german.jsonl")
    (folder / "german.yaml").write_text(text)
    done = replay_cli("validate", "german.yaml", cwd=folder)

    assert "3 won't be judged: the question is not English (German)" in done.stdout


@from_table
def test_bad_usage_and_input_end_with_2_and_a_message_and_no_traceback(folder, arguments, words):
    (folder / "list.json").write_text('[{"messages": []}]')
    (folder / "rows.json").write_text('{"version": 1, "rows": [{"title": "Mira"}]}')
    (folder / "broken.yaml").write_text("name: x\ndata: {path: conversations.jsonl}\npolicies: [golf]\n")
    done = replay_cli(*arguments, cwd=folder)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_an_interrupted_run_ends_with_130_and_says_how_to_go_on(folder, number):
    runs = f"interrupted-{number}"
    (folder / "slow.yaml").write_text(
        "name: slow\ndata: {path: conversations.jsonl, limit: 1}\npolicies: [pred]\nplay: {concurrency: 1}\n"
        "systems: [{name: slow, adapter: scripted, settings: {answers: gold, delay_s: 0.1}}]\n"
        "scorers: [em]\nassert: [{metric: em, max: 0.5}]\n"
    )
    with subprocess.Popen(
        [sys.executable, "-m", "replay", "run", "slow.yaml", "--runs", runs],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        until(lambda: kept_turns(folder / runs) >= 3)
        process.send_signal(number)
        shown, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "go on with: replay resume" in said
    assert "Traceback" not in said
    assert "Assertions" not in shown, "what is half played is not judged"
    kept = kept_turns(folder / runs)
    assert 3 <= kept < 10
    resumed = replay_cli("resume", "--runs", runs, "--junit", "resumed.xml", cwd=folder)
    assert resumed.returncode == 100
    assert "Assertions: 1 of 1 failed" in resumed.stdout
    assert 'failures="1"' in (folder / "resumed.xml").read_text()
    assert kept_turns(folder / runs) == 10


def test_serve_says_where_it_answers_and_answers(folder):
    with subprocess.Popen(
        [sys.executable, "-m", "replay", "serve", "extractive", "--port", "0"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            said = [process.stdout.readline() for _ in range(3)]
            url, token = re.search(r"http://127\.0\.0\.1:\d+", said[0]), re.search(r"_TOKEN=(\S+)", said[1])
            assert url
            assert token
            assert said[2].startswith(f'curl {url[0]}/chat -H "Authorization: Bearer $CONVREPLAY_TOKEN"')
            body = {
                "model": "x",
                "messages": [
                    {"role": "system", "content": "Mira sang it. The harbour is made of glass."},
                    {"role": "user", "content": "What is the harbour made of?"},
                ],
            }
            request = urllib.request.Request(
                f"{url[0]}/v1/chat/completions",
                json.dumps(body).encode(),
                {"content-type": "application/json", "authorization": f"Bearer {token[1]}"},
            )
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as reply:
                answer = json.load(reply)["choices"][0]["message"]["content"]
            assert answer == "The harbour is made of glass."
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == 130


def test_plugins_are_listed_with_where_they_come_from(folder):
    rows = json.loads(replay_cli("plugins", "--json", cwd=folder).stdout)
    assert {"kind": "policies", "name": "rewrite"}.items() <= next(
        row for row in rows if row["name"] == "rewrite"
    ).items()
    assert "convreplay" in replay_cli("plugins", cwd=folder).stdout


def test_a_reader_that_goes_away_is_no_error(folder):
    done = subprocess.run(
        f"{sys.executable} -m replay export | head -1", shell=True, cwd=folder, capture_output=True, text=True
    )
    assert done.stdout.startswith("system,")
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


@pytest.mark.parametrize("name", shipped_names())
def test_every_shipped_scenario_is_sound(folder, name):
    if name == "metrics" and importlib.util.find_spec("sentence_transformers") is None:
        pytest.skip('it scores with models too: pip install "convreplay[neural]"')
    done = replay_cli("validate", name, cwd=folder)
    assert done.returncode == 0, done.stderr


def test_the_scenario_of_all_metrics_has_all_scorers():
    file = read_scenario(find_scenario("metrics"))
    assert {choice.name for choice in file.scenario.scorers} == set(available("scorers"))


def test_two_scenarios_have_all_judges():
    """But those that need a rubric, a goal or recorded answers, or a user who answers the system."""
    files = [read_scenario(find_scenario(name)) for name in ("judges", "judges-by-name")]
    named = {judge.name for file in files for judge in file.scenario.judges}
    assert named | {"rubric", "goal_reached", "pairwise", "user_frustration"} == set(available("judges"))
