"""The page on plug-ins: its seven plug-ins keep their contracts and are played together, as shown."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from replay.core.errors import ScenarioError
from replay.core.safety.consent import code_may_run
from replay.core.settings.plugins import KINDS
from replay.results.run import Run
from replay.scenario.assembly import assemble
from replay.scenario.reading import read_scenario
from tests.cli.command import replay_cli
from tests.docs.plugins_page import FILES, PAGE, TALKS, TESTS, write_files
from tests.docs.shown_output import blocks

CHAPTERS = re.findall(r"\n## (An? \w+)\n(.*?)(?=\n## )", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("plugins") / "page"
    write_files(made)
    (made / "talks.transcript").write_text(TALKS)
    return made


def test_each_kind_has_a_chapter_with_a_whole_plug_in_and_its_test():
    kinds = {kind.removesuffix("s").replace("policie", "policy") for kind in KINDS} - {"rewriter"}
    assert {title.split()[1] for title, _ in CHAPTERS} == kinds
    for title, text in CHAPTERS:
        plugin, test = blocks(text, "python")
        assert 10 <= len([line for line in plugin.splitlines() if line.strip()]) <= 45, title
        assert f"{title.split()[1].capitalize()}Contract" in test, title


def test_the_tests_pass(folder):
    """As their author runs them: without a configuration, so in pytest-asyncio's strict mode."""
    strict = ["-W", "error", "-W", "ignore::pytest.PytestDeprecationWarning"]  # of the loop scope left unset
    program = [sys.executable, "-m", "pytest", "-v", "-n0", *strict, "-p", "no:cacheprovider", *TESTS]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(done.stdout.count(f"{name}::") >= 7 for name in TESTS)


async def bot(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers as line_bot.py expects it."""
    asked = json.loads(await reader.readline())
    answer = f"You asked {asked['question']} after {len(asked['said'])}"
    writer.write(json.dumps({"answer": answer}).encode() + b"\n")
    await writer.drain()
    writer.close()


async def test_the_scenario_plays_all_seven(folder):
    async with await asyncio.start_server(bot, "127.0.0.1", 0) as server:
        port = str(server.sockets[0].getsockname()[1])
        (folder / "plugins.yaml").write_text(FILES["plugins.yaml"].replace("7007", port))
        done = await asyncio.to_thread(replay_cli, "run", "plugins.yaml", cwd=folder)
        listed = await asyncio.to_thread(replay_cli, "validate", "plugins.yaml", cwd=folder)

    assert done.returncode in (0, 100), done.stderr  # the bot talks more than is asserted
    (path,) = (folder / "runs").iterdir()
    run = Run(path)
    answers = {(record.policy, record.depth): record.answer for record in run.records()}
    assert answers["pred", 2] == "You asked Where was she born? after 1"
    greeting = "greeting.py:Greeting(words=Good morning!)"
    assert answers[greeting, 1] == "You asked Good morning! Who sang Stone Garden? after 0"
    assert list(run.scorers()) == ["f1", "word_ratio", "tone"]
    words = len(answers["pred", 1].split())
    assert list(run.turns().query("policy == 'pred' and depth == 1")["word_ratio"]) == [words / 4]
    assert set(run.turns()["tone"]) == {1.0, 0.0}
    assert "coref:last-name-1|" in run.signatures()["pred"]
    for name in FILES:
        if name.endswith(".py") and name not in TESTS:
            assert f"{name}:" in listed.stdout, name


MISTAKES = re.findall(
    r"^\| (.*) \| `(.*?)`.* \|$", PAGE.partition("## What is told of mistakes")[2], re.MULTILINE
)
OBSERVE = "why_unscored(record) or self.ratio(record) for record in records"
EDITS = {
    "a misspelt setting": ("plugins.yaml", "cap: 3", "cpa: 3"),
    "a member is missing": ("words.py", "def combine", "def conbine"),
    "another kind of plug-in": (
        "plugins.yaml",
        "words.py:LengthRatio\n    settings: {cap: 3}",
        "greeting.py:Greeting",
    ),
    "`@property` is missing": ("words.py", "    @property\n", ""),
    "`@asynccontextmanager` is missing": ("line_bot.py", "    @asynccontextmanager\n", ""),
    "it can't be made": (
        "words.py",
        "    @property",
        "    def __post_init__(self):\n        {}['here']\n\n    @property",
    ),
    "`observe` leaves turns out": (
        "words.py",
        OBSERVE,
        "self.ratio(r) for r in records if not why_unscored(r)",
    ),
    "`observe` or `combine` fails": ("words.py", "why_unscored(record) or", ""),
    "NaN, None, or no JSON": ("words.py", "self.ratio(record) for", "float('nan') for"),
}
"""What makes each mistake of the table."""


@pytest.mark.parametrize(("mistake", "message"), MISTAKES)
def test_what_it_says_is_told_of_mistakes_is_told(tmp_path, mistake, message):
    write_files(tmp_path)
    (tmp_path / "talks.transcript").write_text(TALKS)
    name, right, wrong = EDITS[mistake]
    assert right in FILES[name]
    (tmp_path / name).write_text(FILES[name].replace(right, wrong))
    with pytest.raises(ScenarioError) as caught, code_may_run():
        assemble(read_scenario(tmp_path / "plugins.yaml"))
    told = re.sub(r"\d+", "N", str(caught.value))
    for part in re.sub(r"\d+", "N", message).split("..."):
        assert part.strip() in told
    assert "line N" in told
