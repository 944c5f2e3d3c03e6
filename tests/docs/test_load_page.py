"""The page on stress testing: its commands work when pasted, in the order in which they stand there."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copytree

import pytest
import yaml

from replay.play.load.level import TIMES
from replay.play.load.section import LoadSection
from replay.scenario.reading import parse_scenario
from replay.scenario.shipped import find_scenario, shipped_folder
from tests.cli.command import replay_cli
from tests.docs.shown_output import blocks, page

PAGE = page("load")
SECTIONS = {part.partition("\n")[0]: part for part in PAGE.split("\n## ")[1:]}
PORT = "8080"
CHANGED = {
    "sweep": {
        "levels: [2, 4, 8, 16, 32]": "levels: [2, 8]",
        "duration_s: 6": "duration_s: 1",
        "warmup_s: 1": "warmup_s: 0.1",
        "latency_p95_s: 0.15": "latency_p95_s: 30",
        "f1_drop: 0.1": "f1_drop: 1",
    },
    "stress": {"ramp_s: 5": "ramp_s: 0", "warmup_s: 10": "warmup_s: 0.5"},
    "openai": {},
}
"""What of the shipped scenarios is changed: nobody waits for a minute, and any machine is fast enough."""
STALL_S = 0.6


def commands(section: str) -> list[str]:
    """Lines set off as code."""
    return re.findall(r"^    (\S.*)$", re.sub(r"```.*?```", "", section, flags=re.DOTALL), re.MULTILINE)


@pytest.fixture
def port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


@pytest.fixture
def folder(tmp_path: Path, port: str) -> Path:
    """What the page shows as files, and the shipped scenarios, all for a server at *port*."""
    for language in ("python", "yaml"):
        for block in blocks(PAGE, language):
            if name := re.match(r"# (\S+\.(?:py|yaml))\n", block):
                text = block.replace(PORT, port).replace("time.sleep(2)", f"time.sleep({STALL_S})")
                (tmp_path / name[1]).write_text(text)
    (trace,) = blocks(PAGE, "csv")
    (tmp_path / "arrivals.csv").write_text(trace)
    (log,) = blocks(PAGE, "jsonl")
    (tmp_path / "log.jsonl").write_text(log, "utf-8")
    copytree(shipped_folder() / "conversations", tmp_path / "conversations")
    for name, changes in CHANGED.items():
        text = find_scenario(name).read_text(encoding="utf-8").replace(PORT, port)
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new)
        (tmp_path / name).write_text(text)  # a file of that name goes before the shipped scenario
    return tmp_path


def words(command: str) -> list[str]:
    program, *arguments = shlex.split(command)
    assert program == "replay"
    return arguments


@contextmanager
def served(command: str, folder: Path) -> Iterator[None]:
    """The server that *command* starts, for as long as the block lasts."""
    command_line = [sys.executable, "-m", "replay", *words(command)]
    process = subprocess.Popen(command_line, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert "answers at" in process.stdout.readline()
        yield
    finally:
        process.kill()
        process.communicate()


def play(section: str, folder: Path, port: str) -> dict[str, str]:
    """What each command of *section* shows, with the servers that it starts."""
    shown = {}
    server: str | None = None
    for command in commands(SECTIONS[section]):
        if command.startswith("replay serve"):
            server = command.replace(PORT, port)
            continue
        if server is None:
            shown[command] = done(command, folder)
            continue
        with served(server, folder):
            shown[command] = done(command, folder)
    return shown


def done(command: str, folder: Path) -> str:
    shorter = re.sub(r"--duration \d+", "--duration 1", command)
    ended = replay_cli(*words(shorter), cwd=folder, env={**os.environ, "COLUMNS": "100"})
    assert ended.returncode == 0, f"{command}\n{ended.stdout}{ended.stderr}"
    return ended.stdout


def heads(text: str) -> set[str]:
    """What stands above the rules of its tables; a terminal may need two blocks for what takes one here."""
    rules = (part.partition("\n---")[0].splitlines() for part in text.split("\n\n") if "\n---" in part)
    return {word for *_, head in rules for word in head.split()}


def percentiles(shown: str, kind: str) -> dict[str, float]:
    """Of *kind* of duration, by name, in ms."""
    table = shown.partition("Durations of answers\n")[2].splitlines()
    names = table[0].split()[2:]
    row = next(line for line in table if f" {kind} " in line)
    values = row.partition(f" {kind} ")[2].split()
    return {name: float(value.replace(",", "")) for name, value in zip(names, values, strict=True)}


def test_a_first_stress_test_shows_what_the_page_shows(folder, port):
    shown = play("A first stress test", folder, port)
    (text,) = blocks(SECTIONS["A first stress test"], "text")
    first, other = shown.values()
    assert {"TTFT", "goals"} < heads(text) <= heads(first)
    notes = ("- ", "  ")  # a busy machine has more of them
    assert len([line for line in first.splitlines() if not line.startswith(notes)]) <= 18
    assert "Load, closed: 1 level" in other


@pytest.mark.long
def test_the_sweeps_show_quality_by_depth_at_each_level(folder, port):
    shown = play("Looking for the limit: sweeps and objectives", folder, port)
    texts = blocks(SECTIONS["Looking for the limit: sweeps and objectives"], "text")
    sweep, report, search = shown.values()
    assert heads(texts[0]) <= heads(sweep)
    assert heads(texts[1]) <= heads(report)
    assert "By depth at concurrency 8" in report
    assert "concurrency 8 met the goals and nothing higher was offered" in sweep
    assert "concurrency 32 met the goals and nothing higher was offered" in search


def test_the_stall_shows_in_response_times_and_hardly_in_a_closed_loops_latencies(folder, port):
    section = SECTIONS["A stalled system"]
    init, serve, closed, arriving = commands(section)
    done(init, folder)
    with served(serve.replace(PORT, port), folder):
        alone, users = done(closed, folder), done(arriving, folder)
    latencies = percentiles(alone, "latency")
    assert latencies["max"] >= STALL_S * 1000
    assert latencies["max"] > 2 * latencies["p95"]
    assert percentiles(users, "response")["p90"] > STALL_S * 500
    assert percentiles(users, "response")["mean"] > 1.5 * percentiles(users, "latency")["mean"]
    before, after = blocks(section, "text")
    assert percentiles(after, "response")["p90"] > 100 * percentiles(before, "latency")["p95"]


@pytest.mark.long
def test_workers_and_traces_are_as_shown(folder, port):
    done("replay init", folder)
    with served(f"replay serve python --no-token --set target=stalling.py:answer --port {port}", folder):
        for section in ("Several processes", "Traces"):
            for command in commands(SECTIONS[section]):
                assert "turns in" in done(command, folder)


@pytest.mark.long
def test_a_log_with_times_has_its_own_arrivals(folder, port):
    done("replay init", folder)
    validate, stress = commands(SECTIONS["Arrivals as recorded"])
    assert "the data's own arrivals, within 2 s" in done(validate, folder)
    with served(f"replay serve python --no-token --set target=stalling.py:answer --port {port}", folder):
        assert "Load, recorded: 1 level, 4 turns" in done(stress, folder)


def test_every_load_section_shown_is_sound(tmp_path):
    sections = [yaml.safe_load(text) for text in blocks(PAGE, "yaml")]
    for found in sections:
        assert LoadSection.model_validate(found["load"])
    for text in blocks(PAGE, "yaml"):
        if text.startswith("# stalled.yaml"):
            assert parse_scenario(text, source="stalled.yaml", folder=tmp_path).scenario.load
    think = re.findall(r"^\| (`.*?`(?:, `.*?`)*) \| ", SECTIONS["Think time"], re.MULTILINE)
    values = [value for cell in think for value in re.findall("`(.*?)`", cell) if value != "think:"]
    assert len(values) == 5
    for value in values:
        assert LoadSection.model_validate({"turns": 1, "think": yaml.safe_load(value)})


def test_every_setting_and_measure_is_told():
    untold = [name for name in LoadSection.model_fields if f"`{name}" not in PAGE and f" {name}:" not in PAGE]
    assert untold == []
    assert [name for name in TIMES if name not in PAGE.lower()] == []


def test_the_sentence_on_hosts_is_the_programs(tmp_path):
    from replay.core.errors import InputError
    from replay.core.safety.consent import check_confirmed

    (text,) = blocks(SECTIONS["Where load may go"], "text")
    with pytest.raises(InputError) as refused:
        check_confirmed(["chat.example.com"], [])
    assert str(refused.value) == text.strip()


def test_every_page_it_links_to_is_there():
    docs = Path(__file__).parents[2] / "docs"
    for target in re.findall(r"\]\(((?!https?:)[^)#]+)", PAGE):
        assert (docs / target).is_file(), target
    for anchor in re.findall(r"\]\(#([^)]+)\)", PAGE):
        titles = [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in SECTIONS]
        assert anchor in titles
