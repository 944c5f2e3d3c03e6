"""What goes to the nodes with a run: files, modules, variables; and what comes back to the log."""

from __future__ import annotations

import json
import logging
import os
import sys
from pathlib import Path

import pytest

from replay.core.errors import InputError
from replay.core.logs import JsonLogFormatter
from replay.scenario.assembly import assemble
from replay.workers.cluster import job_files
from replay.workers.cluster.job_files import Variables, files_of, unpacked_job_files, variables_of
from tests.scenario.keys import answers, played, python, scenario, talk
from tests.workers.cluster.conftest import PLAYER

NOTHING = Variables(values={}, files={})
SECRET = "drawn-by-lot-4711-0815"


def asking(**settings):
    return {"adapter": "openai", "settings": {"base_url": "http://127.0.0.1:9/v1", "model": "m", **settings}}


def test_files_lie_on_the_node_as_they_do_here(tmp_path):
    """So do those outside of the scenario's folder, and a program stays one."""
    here = tmp_path / "project" / "here"
    here.mkdir(parents=True)
    (tmp_path / "answers.json").write_text("{}")
    (here / "bot").write_text("#!/bin/sh")
    (here / "bot").chmod(0o755)
    (here / "unused.py").write_text("")
    command = {"adapter": "command", "settings": {"command": ["./bot", "../../answers.json"]}}
    with unpacked_job_files(files_of(scenario(here, system=command)), NOTHING) as folder:
        assert not folder.is_relative_to(tmp_path)
        assert (folder / ".." / ".." / "answers.json").read_text() == "{}"
        assert os.access(folder / "bot", os.X_OK)
        assert [path.name for path in folder.iterdir()] == ["bot"]
        assert folder.stat().st_uid == os.getuid()
    assert not folder.exists()


def test_nobody_else_can_read_them(tmp_path):
    with unpacked_job_files(files_of(scenario(tmp_path)), NOTHING) as folder:
        assert any(parent.stat().st_mode & 0o077 == 0 for parent in folder.parents)


def test_modules_are_found_there_until_the_run_is_over(tmp_path, monkeypatch):
    lib = tmp_path / "lib"
    lib.mkdir()
    (lib / "neighbour_of_bot.py").write_text("word = 'hello'")
    monkeypatch.setattr(sys, "path", [str(lib), *sys.path])
    files = files_of(scenario(tmp_path, system=python(tmp_path, "import neighbour_of_bot")))
    before = list(sys.path)
    with unpacked_job_files(files, NOTHING):
        added = [place for place in sys.path if place not in before]
        assert [sorted(os.listdir(place)) for place in added] == [["neighbour_of_bot.py"]]
    assert sys.path == before


def test_a_node_takes_no_more_than_fits_its_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(job_files, "MOST_BYTES", 2_000_000)
    (tmp_path / "weights.bin").write_bytes(bytes(3_000_000))
    file = scenario(tmp_path, cluster={"files": ["*"]})
    with pytest.raises(
        InputError, match=r"have 3 MB, of which .*weights\.bin has 3; at most 2 MB are sent: put"
    ):
        files_of(file)


def test_variables_that_the_scenario_names_are_set_there(tmp_path, monkeypatch):
    """Those of whoever judges stay, and so does the rest of the environment."""
    monkeypatch.setenv("BOT_KEY", SECRET)
    monkeypatch.setenv("JUDGE_KEY", "another")
    monkeypatch.setenv("OTHER", "other")
    (tmp_path / "token").write_text(f"{SECRET}\n")
    monkeypatch.setenv("TOKEN_FILE", str(tmp_path / "token"))
    judge = {"geval": {"mode": "logprobs", **asking(api_key_env="JUDGE_KEY")}}
    bot = asking(api_key_env="BOT_KEY", headers_env={"X-Token": "Bearer ${TOKEN_FILE}"})
    variables = variables_of(assemble(scenario(tmp_path, system=bot, judges=[judge])))
    assert SECRET not in repr(variables)
    for name in ("BOT_KEY", "JUDGE_KEY", "OTHER"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("TOKEN_FILE", "/nowhere")
    with unpacked_job_files(files_of(scenario(tmp_path)), variables):
        assert os.environ["BOT_KEY"] == SECRET
        token = Path(os.environ["TOKEN_FILE"])
        assert token.read_text() == f"{SECRET}\n"
        assert token.stat().st_mode & 0o077 == 0
        assert not {"JUDGE_KEY", "OTHER"} & os.environ.keys()
    assert not token.exists()
    assert "BOT_KEY" not in os.environ
    assert os.environ["TOKEN_FILE"] == "/nowhere"


BOT = """
import os
import neighbour_of_bot
from pathlib import Path

def answer(question):
    if os.environ["BOT_KEY"] not in os.environ.values():
        raise KeyError
    assert question != "c 1?", "no answer to " + os.environ["BOT_KEY"]
    return neighbour_of_bot.word + (Path(__file__).parent / "words" / "one.txt").read_text()
"""


async def test_a_node_has_what_it_takes_and_shows_no_secret(tmp_path, cluster, monkeypatch, caplog):
    """Neither what Ray tells of tasks and actors nor what it writes down has the variables' values."""
    caplog.set_level(logging.INFO, "replay")
    here, lib = tmp_path / "here", tmp_path / "lib"
    for folder in (here / "words", lib):
        folder.mkdir(parents=True)
    (here / "words" / "one.txt").write_text("one")
    (lib / "neighbour_of_bot.py").write_text("word = 'hello '")
    monkeypatch.setattr(sys, "path", [str(lib), *sys.path])
    monkeypatch.setenv("BOT_KEY", SECRET)
    bot = python(here, BOT)
    asked = {"name": "asked", **asking(api_key_env="BOT_KEY")}
    run = await played(
        here,
        talks=[talk("a"), talk("b"), talk("c")],
        systems=[{"name": "s", **bot}, asked],
        cluster={"address": cluster.address, "resources": PLAYER, "files": ["words"]},
        play={"attempts": 1, "fail_fast": False},
    )
    told = [json.loads(JsonLogFormatter().format(record)) for record in caplog.records]
    failed = [one for one in told if one["event"] == "ask failed" and one["system"] == "s"]
    assert [one["conversation"] for one in failed] == ["c"]
    assert len(failed[0]["node"]) == 8
    assert failed[0]["run"] == run.folder.name
    assert [r.answer for r in run.records() if r.system == "s" and r.outcome == "answered"] == [
        "hello one"
    ] * 2
    contents = written(Path(cluster.head_node.get_session_dir_path()))
    assert len(contents) > 10
    assert [path for path, content in contents.items() if SECRET.encode() in content] == []


def written(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_what_a_node_logs_is_in_the_program_s_log(tmp_path, fake, caplog):
    caplog.set_level(logging.INFO, "replay")
    run = await played(tmp_path, cluster={})
    began = [record for record in caplog.records if record.getMessage() == "conversation began"]
    nodes = {record.fields.get("node") for record in began}
    assert nodes >= {"0" * 8}
    assert {record.fields["run"] for record in began} == {run.folder.name}
    assert set(answers(run)) == {"a said 1.", "b said 1.", "c said 1."}


async def test_nothing_is_sent_that_nobody_logs(tmp_path, fake, caplog):
    caplog.set_level(logging.WARNING, "replay")
    await played(tmp_path, cluster={})
    assert not caplog.records
    assert logging.getLogger("replay").level == logging.WARNING


async def test_a_node_that_is_told_to_end_leaves_nothing_behind(tmp_path, fake, monkeypatch):
    made = []
    make = job_files.mkdtemp
    monkeypatch.setattr(job_files, "mkdtemp", lambda **more: made.append(Path(make(**more))) or made[-1])
    run = await played(tmp_path, system=python(tmp_path, "def answer(question): 1 / 0"), cluster={})
    assert len(made) == 2
    assert not any(folder.exists() for folder in made)
    assert {record.outcome for record in run.records()} == {"refused"}
