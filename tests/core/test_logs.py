"""The log: what a run does, line by line, and nothing where nobody asked for it."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import sqlite3
from pathlib import Path

import pytest

from replay.core import logs
from replay.core.asking.retries import RetryPolicy
from replay.core.errors import AdapterConnectionError, InputError
from replay.core.history import Exchange
from replay.core.logs import conversation_log, log_event, log_to, logging_run
from replay.core.safety import redaction as known_secrets
from replay.coreference.reading.resolver import Document
from replay.coreference.service.service import CoreferenceService, ResolverChoice
from replay.policies.recorded import GoldPolicy
from tests.cli.command import replay_cli
from tests.data_tables import from_table
from tests.reliability.programs import write_scenario as written
from tests.samples import Fake, play


@pytest.fixture(autouse=True)
def no_log_by_environment(monkeypatch):
    for name in ("CONVREPLAY_LOG_FILE", "CONVREPLAY_LOG_LEVEL", "CONVREPLAY_LOG_RUN"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def lines_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("ascii").splitlines()]


def write_scenario(folder: Path, **changes) -> None:
    system = {"name": "echo", "adapter": "scripted", "settings": {"answers": ["One.", "Two."]}}
    written(folder, talks=2, turns=2, systems=[system], policies=["pred"], **changes)


def test_a_runs_log_names_every_ask_by_run_conversation_turn_and_attempt(tmp_path):
    write_scenario(tmp_path)
    done = replay_cli("--log-level", "debug", "--log-file", "log", "run", "scenario.yaml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, done.stderr)
    told = lines_of(tmp_path / "log")
    events = [line["event"] for line in told]
    assert events[0] == "run began"
    assert events[-1] == "run ended"
    assert told[-1]["ended"] == "finished"
    [run] = {line["run"] for line in told}
    assert (tmp_path / "runs" / run / "run.db").is_file()
    sent = [(s["conversation"], s["turn"], s["attempt"]) for s in told if s["event"] == "ask sent"]
    assert sorted(sent) == [(f"talk{n}", turn, 1) for n in (0, 1) for turn in (1, 2)]
    answered = [line for line in told if line["event"] == "ask answered"]
    assert len(answered) == 4
    assert all(line["latency_s"] >= 0 and line["system"] == "echo" for line in answered)
    assert events.count("conversation began") == events.count("conversation ended") == 2
    assert '"event": "' not in done.stdout + done.stderr


def test_by_default_nothing_is_logged_and_a_file_holds_no_asks(tmp_path):
    write_scenario(tmp_path)
    assert '"event"' not in replay_cli("run", "scenario.yaml", cwd=tmp_path).stderr
    replay_cli("--log-file", "log", "run", "scenario.yaml", cwd=tmp_path)
    events = {line["event"] for line in lines_of(tmp_path / "log")}
    assert events == {"run began", "conversation began", "conversation ended", "run ended"}


@from_table
def test_a_log_that_cannot_be_written_is_one_message_before_anything_is_asked(options, told, tmp_path):
    write_scenario(tmp_path)
    done = replay_cli(*options, "run", "scenario.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()


def test_worker_processes_log_to_the_same_file_under_the_same_run(tmp_path):
    load = {"profile": "closed", "concurrency": 4, "workers": 2, "conversations": 8}
    write_scenario(tmp_path, load=load)
    done = replay_cli("--log-level", "debug", "--log-file", "log", "run", "scenario.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = lines_of(tmp_path / "log")
    assert len({line["run"] for line in told}) == 1
    events = [line["event"] for line in told]
    assert events.count("level began") == events.count("level over") == 1
    (folder,) = (tmp_path / "runs").iterdir()
    connection = sqlite3.connect(folder / "run.db")
    (turns,) = connection.execute("SELECT count(*) FROM turn").fetchone()
    connection.close()
    assert events.count("ask answered") == turns > 0


async def test_failures_and_retries_are_told_with_the_wait(caplog):
    caplog.set_level(logging.DEBUG, "replay")
    refused = AdapterConnectionError("no connection", retryable=True, reached=False)
    with logging_run("run-1"):
        patience = RetryPolicy(backoff_s=0.001)
        await play(Fake(refused, "One.", "Two.", "Three."), GoldPolicy(), patience=patience)
    told = [(r.getMessage(), r.fields) for r in caplog.records]
    failed = next(fields for event, fields in told if event == "ask failed")
    retry = next(fields for event, fields in told if event == "retry")
    where = {"run": "run-1", "conversation": "c1", "turn": 1, "attempt": 1}
    assert where.items() <= failed.items()
    assert (failed["outcome"], failed["error"]) == ("connection-failed", "no connection")
    assert where.items() <= retry.items()
    assert 0 <= retry["wait_s"] <= 0.001
    attempts = [(f["turn"], f["attempt"]) for event, f in told if event == "ask sent"]
    assert attempts == [(1, 1), (1, 2), (2, 1), (3, 1)]


async def test_how_a_run_ended_is_told_when_it_failed_or_was_interrupted(caplog):
    caplog.set_level(logging.INFO, "replay")
    with pytest.raises(InputError), logging_run("run-1"):
        raise InputError("no data")
    with pytest.raises(asyncio.CancelledError), logging_run("run-2"):
        raise asyncio.CancelledError
    ended = [r.fields for r in caplog.records if r.getMessage() == "run ended"]
    assert ended == [
        {"run": "run-1", "ended": "failed", "error": "no data"},
        {"run": "run-2", "ended": "interrupted"},
    ]


def test_a_bug_has_its_traceback_with_keys_hidden(tmp_path, monkeypatch):
    """What "its log says more" points at: the viewer and the server log so."""
    monkeypatch.setattr(known_secrets, "_known", known_secrets.SecretMatcher(()))
    known_secrets.keep_secret("q7Rt2vXw9LmZ4kBn")
    log_to(tmp_path / "run.log", "info")
    with pytest.raises(ZeroDivisionError), logging_run("run-1"):
        raise ZeroDivisionError("by q7Rt2vXw9LmZ4kBn")
    try:
        raise KeyError("q7Rt2vXw9LmZ4kBn\x1b[2J")
    except KeyError:
        logging.getLogger("replay.view").exception("/runs/1 failed")

    _, ended, failed = lines_of(tmp_path / "run.log")
    assert (failed["level"], failed["event"]) == ("error", "/runs/1 failed")
    for line, said in ((ended, "ZeroDivisionError: by ***"), (failed, r"KeyError: '***\x1b[2J'")):
        assert line["traceback"].startswith("Traceback (most recent call last):")
        assert line["traceback"].endswith(said)
        assert "test_logs.py" in line["traceback"]
    assert "q7Rt2vXw9LmZ4kBn" not in (tmp_path / "run.log").read_text()


@pytest.mark.usefixtures("code_runs")
async def test_a_worker_that_had_to_be_restarted_is_a_warning(tmp_path, caplog):
    (tmp_path / "mine.py").write_text(
        "import os, pathlib\n"
        "class Deadly:\n"
        "    signature = 'deadly-1'\n"
        "    def resolve(self, documents):\n"
        f"        died = pathlib.Path({str(tmp_path / 'died')!r})\n"
        "        if not died.exists():\n"
        "            died.touch()\n"
        "            os._exit(1)\n"
        "        return [[] for _ in documents]\n"
    )
    choice = ResolverChoice(name="mine.py:Deadly", settings={}, folder=tmp_path)
    asked = Document(question="Did he?", turns=(Exchange(question="Who?", answer="Bob Stone."),))
    async with CoreferenceService(choice, workers=1) as coreference:
        assert await coreference.read(asked) == ()
    [warning] = [r for r in caplog.records if r.name == "replay"]
    assert (warning.levelname, warning.getMessage()) == ("WARNING", "worker restarted")


def test_a_conversation_has_no_log_where_nobody_listens():
    logs.LOGGER.setLevel(logging.WARNING)
    assert conversation_log(system="s", policy="p", conversation="c") is None


def test_lines_stay_lines_and_hold_no_secret_whatever_is_told(tmp_path, monkeypatch):
    known_secrets.keep_secret("q7Rt2vXw9LmZ4kBn")
    log_to(tmp_path / "log", "debug")
    log_event(logging.INFO, "odd", text="a\nb\u2028 \ud800 \0 \u202e q7Rt2vXw9LmZ4kBn", path=tmp_path)
    logging.getLogger("replay.elsewhere").info("plain %s", "q7Rt2vXw9LmZ4kBn")
    odd, plain = lines_of(tmp_path / "log")
    assert odd["text"] == "a\nb\u2028 \ud800 \0 \u202e ***"
    assert odd["path"] == str(tmp_path)
    assert plain["event"] == "plain ***"


def test_a_log_on_a_full_disk_is_told_of_once_and_stops_nothing(capsys):
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    handler = logs._Handler(Full())
    logs.LOGGER.handlers[:] = [handler]
    logs.LOGGER.setLevel(logging.INFO)
    for _ in range(3):
        log_event(logging.INFO, "something")
    assert capsys.readouterr().err.count("the log can't be written") == 1


def test_the_variables_by_which_processes_hand_the_log_on_are_not_left_to_strangers(tmp_path):
    """A file that is named by hand in the environment of a run logs nothing: it is no setting."""
    write_scenario(tmp_path)
    environment = {**os.environ, "CONVREPLAY_LOG_FILE": "log", "CONVREPLAY_LOG_LEVEL": "debug"}
    assert replay_cli("run", "scenario.yaml", cwd=tmp_path, env=environment).returncode == 0
    assert not (tmp_path / "log").exists()
