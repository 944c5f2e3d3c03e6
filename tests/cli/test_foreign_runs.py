"""A run's folder that somebody else made: looking at it runs nothing, going on with it takes leave."""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
import sys
from contextlib import closing, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from aiohttp import ClientSession

from replay.cli import run_cli
from replay.core.errors import RunError, ScenarioError
from replay.results.judging import score
from replay.results.run import Run
from replay.runs.launch import resume, run as play
from replay.runs.rerun import rerun
from tests.cli.command import all_of, replay_cli
from tests.viewer.conftest import computed, viewing_here

EVIL = """
from pathlib import Path

(Path(__file__).parent / "marker").touch()


def Scorer(**settings):
    (Path(__file__).parent / "marker").touch()
    return None
"""

SCENARIO = """\
name: sent
data: {path: talks.jsonl}
systems: [{name: s, adapter: scripted, settings: {answers: [One., Two.]}}]
policies: [gold, pred]
scorers: [f1, latency]
drift: {nlp_workers: 0}
"""


@pytest.fixture
def sent(tmp_path):
    """A run's folder, and beside it what its database is going to name."""
    talks = [
        {"id": f"t{n}", "turns": [{"id": "1", "question": "Who?", "gold_answers": ["One."]}]} for n in (1, 2)
    ]
    (tmp_path / "talks.jsonl").write_text("\n".join(map(json.dumps, talks)))
    (tmp_path / "s.yaml").write_text(SCENARIO)
    (tmp_path / "evil.py").write_text(EVIL)
    return play(tmp_path / "s.yaml", runs=tmp_path / "runs").folder


def facts(folder: Path) -> dict[str, object]:
    with closing(sqlite3.connect(folder / "run.db")) as connection:
        return {key: json.loads(value) for key, value in connection.execute("SELECT * FROM run")}


def change(folder: Path, **changed: object) -> None:
    with closing(sqlite3.connect(folder / "run.db")) as connection:
        for key, value in changed.items():
            connection.execute("INSERT OR REPLACE INTO run VALUES (?, ?)", [key, json.dumps(value)])
        connection.commit()


def plant(folder: Path, **named: dict[str, object]) -> None:
    """Name these plug-ins, each with its settings, wherever a run names one."""
    choices = [{f"p{n}": name, "settings": settings} for n, (name, settings) in enumerate(named.items())]
    name, settings = next(iter(named.items()))
    content = {
        "name": "sent",
        "data": {"path": "talks.jsonl", "format": name, "settings": settings},
        "systems": [
            {"name": f"s{n}", "adapter": name, "settings": settings}
            for n, (name, settings) in enumerate(named.items())
        ],
        "policies": ["gold", *choices],
        "scorers": choices,
        "judges": choices,
        "drift": {"resolver": name, "settings": settings},
    }
    (entry, *_) = facts(folder)["scorers"]
    entries = [
        {**entry, "label": f"p{n}", "name": name, "settings": settings, "combined": "installed"}
        for n, (name, settings) in enumerate(named.items())
    ]
    scenario = {**facts(folder)["scenario"], "text": json.dumps(content), "folder": str(folder.parents[1])}
    change(folder, scorers=[entry, *entries], scenario=scenario)


EVIL_FILE = {"evil.py:Scorer": {}}


def test_looking_at_a_run_runs_nothing_that_it_names(sent, tmp_path):
    named = {
        f"{tmp_path / 'evil.py'}:Scorer": {},
        "subprocess:getoutput": {"cmd": f"touch {tmp_path}/marker"},
    }
    plant(sent, **EVIL_FILE, **named)
    ratings = tmp_path / "people.csv"
    ratings.write_text("conversation,depth,system,policy,rater,quality\nt1,1,s,gold,a,1\nt2,1,s,gold,a,2\n")
    looks = [
        ["report", sent],
        ["report", sent, "--json"],
        ["report", sent, "--markdown", "--html", tmp_path / "report.html"],
        ["export", sent],
        ["export", sent, "--table", "evalconvqa", "--out", tmp_path / "files"],
        ["compare", sent, "--policies", "gold,pred"],
        ["plot", sent, "--what", "depth", "--out", tmp_path / "p.svg"],
        ["agree", sent, ratings],
    ]
    for look in looks:
        done = replay_cli(*look, cwd=tmp_path)
        assert (done.returncode, (tmp_path / "marker").exists()) == (0, False), (look, done.stderr)
        assert "are not shown: " in done.stdout or look[0] != "report" or "--json" in look
        assert "Traceback" not in done.stderr


async def test_the_viewer_runs_nothing_of_it_either(sent, tmp_path):
    plant(sent, **EVIL_FILE)
    async with viewing_here(sent, below=tmp_path) as address, ClientSession() as http:
        for page in ("", "depth", "gold", "conversations", "conversation?id=t1"):
            await computed(http, f"{address}run/{sent.name}/{page}")
    assert not (tmp_path / "marker").exists()


def test_a_scenario_with_faults_is_read_and_its_parts_are_not_made(sent):
    text = """\
name: sent
policies: [gold]
systems:
- name: s
  adapter: openai
  settings: {base_url: "https://evil.example/v1", model: m, api_key_env: NOT_LOOKED_UP}
"""
    change(sent, scenario={**facts(sent)["scenario"], "text": text})
    with pytest.raises(ScenarioError) as told:
        Run(sent).scenario()
    assert [fault.path for fault in told.value.faults] == ["data"]


GOING_ON = (["resume"], ["rerun", "--only", "depth=1"], ["score"], ["score", "--scorer", "evil.py:Scorer"])


@pytest.mark.parametrize("verb", GOING_ON, ids=" ".join)
def test_going_on_with_it_takes_leave_where_nobody_can_be_asked(sent, verb, tmp_path):
    plant(sent, **EVIL_FILE)

    refused = replay_cli(verb[0], sent, *verb[1:], cwd=tmp_path)
    left_alone = not (tmp_path / "marker").exists()
    replay_cli(verb[0], sent, *verb[1:], "--allow-code", cwd=tmp_path)

    assert left_alone
    assert refused.returncode == 2
    assert "  runs      evil.py:Scorer (" in refused.stderr
    assert f'(its paths start from "{tmp_path}")' in refused.stderr
    assert "--allow-code" in refused.stderr
    assert (tmp_path / "marker").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of another kind")
@pytest.mark.parametrize(
    ("verb", "answer", "goes_on"),
    [(["resume"], "y", True), (["rerun", "--only", "depth=1"], "", False), (["score"], "n", False)],
)
def test_on_a_terminal_it_is_asked(sent, verb, answer, goes_on, tmp_path, monkeypatch):
    import pty

    plant(sent, **EVIL_FILE)
    ours, theirs = pty.openpty()
    os.write(ours, f"{answer}\n".encode())
    with open(theirs, "w", buffering=1) as err, open(theirs, closefd=False) as asked:
        monkeypatch.setattr(sys, "stdin", asked)
        monkeypatch.setattr(sys, "argv", ["replay", verb[0], str(sent), *verb[1:]])
        with redirect_stderr(err), redirect_stdout(io.StringIO()), pytest.raises(SystemExit) as ended:
            run_cli()
    told = all_of(ours).decode()
    os.close(ours)
    assert "Do you trust where it came from? [y/N]" in told
    assert "  runs      evil.py:Scorer (" in told
    assert (tmp_path / "marker").exists() == goes_on
    assert goes_on or ended.value.code == 2


def test_a_run_of_ones_own_is_gone_on_with_unasked(tmp_path, sent):
    """Also when its scorers were changed by the user since, and from wherever its folder was put."""
    (tmp_path / "own.py").write_text(
        "class Own:\n"
        "    signature = 'own'\n"
        "    def observe(self, records): return [1.0] * len(records)\n"
        "    def combine(self, observed): return sum(observed) / len(list(observed))\n"
    )
    (tmp_path / "s.yaml").write_text(SCENARIO.replace("[f1, latency]", "['own.py:Own']"))
    folder = play(tmp_path / "s.yaml", runs=tmp_path / "runs").folder
    moved = shutil.copytree(folder, tmp_path / "moved")
    for one in (folder, moved):
        assert score(one).folder == one
        for verb in (
            ["score", "--scorer", "own.py:Own", "--scorer", "f1"],
            ["rerun", "--only", "depth=1"],
            ["resume"],
        ):
            done = replay_cli(verb[0], one, *verb[1:], cwd=tmp_path)
            assert done.returncode == 0, done.stderr


def own(folder: Path) -> Path:
    """A run that this user began, with code among its scorers."""
    (folder / "talks.jsonl").write_text('{"id": "t", "turns": [{"id": "1", "question": "Who?"}]}')
    (folder / "own.py").write_text("from replay.scorers.word_overlap import em as Own")
    (folder / "s.yaml").write_text(SCENARIO.replace("[f1, latency]", "[f1, 'own.py:Own']"))
    return play(folder / "s.yaml", runs=folder / "runs").folder


CHANGES = {
    "its scenario": lambda facts: {
        "scenario": {**facts["scenario"], "text": facts["scenario"]["text"].replace("[f1", "['own.py:Own'")}
    },
    "its scenario's folder": lambda facts: {"scenario": {**facts["scenario"], "folder": "/tmp"}},
    "its scorers": lambda facts: {"scorers": [{**facts["scorers"][0], "name": "evil.py:Scorer"}]},
    "its id": lambda facts: {"id": "0" * 32},
    "an id that leads elsewhere": lambda facts: {"id": f"../runs/{facts['id']}"},
}


@pytest.mark.parametrize("changed", CHANGES.values(), ids=CHANGES.keys())
def test_a_run_that_was_changed_is_nobodys_own(tmp_path, changed):
    folder = own(tmp_path)
    assert resume(folder).folder == folder
    change(folder, **changed(facts(folder)))

    for going_on in (resume, rerun):
        with pytest.raises(RunError, match="not begun by you on this machine"):
            going_on(folder)


def test_somebody_elses_run_is_gone_on_with_unasked_where_it_does_nothing(sent, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another user"))
    assert resume(sent).state().finished
    assert score(sent).state().finished


def test_hosts_variables_and_programs_are_named(sent, tmp_path, tmp_path_factory):
    text = """\
name: sent
data: {path: "PRIVATE"}
systems:
- name: a
  adapter: openai
  settings: {base_url: "https://evil.example/v1", model: m, api_key_env: AWS_SECRET}
- name: b
  adapter: http
  settings: {url: "http://10.0.0.7/", headers_env: {X: "Bearer ${GITHUB_TOKEN}", Y: OTHER}}
- {name: c, adapter: command, settings: {command: ["rm", "-rf\\e[2K", "me"]}}
- {name: d, adapter: anthropic, settings: {model: m}}
policies: [gold]
scorers: [f1]
judges: [{correctness: {adapter: "my dir/evil.py:Judge", settings: {}}}]
"""
    private = tmp_path_factory.mktemp("home") / "id_rsa"
    private.touch()
    text = text.replace("PRIVATE", str(private))
    change(sent, scenario={**facts(sent)["scenario"], "text": text})
    refused = replay_cli("resume", sent, cwd=tmp_path)

    assert refused.returncode == 2
    for line in (
        "runs      rm '-rf\\x1b[2K' me (system c)",
        "          my dir/evil.py:Judge (judge correctness)",
        "talks to  evil.example (system a)",
        "          10.0.0.7 (system b)",
        "          api.anthropic.com (system d)",
        "sends     AWS_SECRET to evil.example (systems[0].settings.api_key_env)",
        "          GITHUB_TOKEN to 10.0.0.7 (systems[1].settings.headers_env.X)",
        "          OTHER to 10.0.0.7 (systems[1].settings.headers_env.Y)",
        f"reads     {private} (data)",
    ):
        assert f"  {line}\n" in refused.stderr, refused.stderr


class TestRemembered:
    def test_a_run_is_remembered_by_its_id_for_its_user_alone(self, sent):
        known = Path(os.environ["XDG_STATE_HOME"]) / "convreplay" / "runs" / str(facts(sent)["id"])
        assert known.stat().st_mode & 0o777 == 0o600
        assert known.parent.stat().st_mode & 0o777 == 0o700

    def test_a_run_that_is_forgotten_is_asked_about(self, tmp_path):
        folder = own(tmp_path)
        (Path(os.environ["XDG_STATE_HOME"]) / "convreplay" / "runs" / str(facts(folder)["id"])).unlink()
        with pytest.raises(RunError, match="allow_code=True"):
            resume(folder)

    def test_without_a_place_for_that_runs_are_played_and_asked_about(self, tmp_path, monkeypatch):
        (tmp_path / "a file").write_text("")
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "a file"))
        folder = own(tmp_path)
        with pytest.raises(RunError, match="allow_code=True"):
            resume(folder)
        assert Run(folder).folder == resume(folder, allow_code=True).folder
