"""What goes wrong in a plug-in while a run goes on is named with its line, and what was answered is kept."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import replay
from tests.cli.command import forget_code, replay_cli
from tests.scenario.test_plugin_mistakes import scenario
from tests.waiting import PATIENCE_S


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    talk = {"id": "c", "turns": [{"question": "Who?", "gold_answer": "Me."}]}
    (tmp_path / "talk.jsonl").write_text(json.dumps(talk) + "\n")
    return tmp_path


SHORT = """\
class Short:
    signature = "short"

    def resolve(self, documents):
        return []

    read = resolve
"""


@pytest.mark.parametrize("workers", [0, 1])
def test_a_resolver_that_leaves_documents_out_ends_the_run(folder, workers):
    """The run would wait for ever for what never comes."""
    (folder / "short.py").write_text(SHORT)
    drift = {"resolver": "short.py:Short", "nlp_workers": workers}
    (folder / "s.yaml").write_text(scenario(policies=["pred"], drift=drift))
    done = replay_cli("run", "s.yaml", cwd=folder)

    assert done.returncode == 1
    assert "the resolver gave 0 results for 1 documents; it gives one for each, in their order" in done.stderr


BROKEN = """\
from replay import GoldPolicy
from replay.scorers.judges.judge import Output


class Policy(GoldPolicy):
    async def plan(self, conversation, depth, played):
        return conversation.turns[depth + 9]


class Judge:
    level = "turn"
    outputs = (Output(voting="majority"),)
    needed_parameters = ()
    signature = "broken"

    def why_not(self, case):
        return None

    def plan(self, case):
        return []

    async def opinion(self, case, ask):
        return case.records[9]
"""


@pytest.mark.parametrize(
    ("section", "who", "line", "next_step"),
    [
        ({"policies": ["broken.py:Policy"]}, 'policy "broken.py:Policy"', 7, "replay resume"),
        ({"judges": [{"broken.py:Judge": {"adapter": "scripted"}}]}, 'judge "Judge"', 23, "replay score"),
    ],
)
def test_what_fails_while_a_run_goes_on_is_named_with_its_line(folder, section, who, line, next_step):
    (folder / "broken.py").write_text(BROKEN)
    (folder / "s.yaml").write_text(scenario(**section))
    done = replay_cli("run", "s.yaml", cwd=folder)

    assert done.returncode == 2
    said, advice = done.stderr.splitlines()[-2:]
    assert "Traceback" in done.stderr
    assert str(Path(replay.__file__).parent) not in done.stderr
    assert said == (
        f'{who} fails at turn 1 of conversation "c": IndexError: tuple index out of range '
        f"(broken.py, line {line})"
    )
    assert advice.startswith("  what was answered ")
    assert next_step in advice


RARE = """\
from replay import why_unanswered


class Rare:
    signature = "rare"

    def check_installed(self):
        pass

    def observe(self, records):
        return [why_unanswered(r) or 10 / len(r.answer.split()) for r in records]

    def combine(self, observed):
        return sum(observed)
"""


def test_what_a_run_alone_can_show_is_told_after_it_and_nothing_is_lost(folder):
    """One with check_installed is tried with turns that have no answer, since it may load a model."""
    (folder / "rare.py").write_text(RARE)
    turns = [{"question": "Who?", "gold_answer": "Me."}, {"question": "And?", "gold_answer": "..."}]
    (folder / "talk.jsonl").write_text(json.dumps({"id": "c", "turns": turns}) + "\n")
    system = {"name": "s", "adapter": "scripted", "settings": {"answers": ["Me.", ""]}}
    (folder / "s.yaml").write_text(scenario(scorers=["rare.py:Rare"], systems=[system]))
    done = replay_cli("run", "s.yaml", cwd=folder)

    assert done.returncode == 2
    (run,) = (folder / "runs").iterdir()
    said, next_step = done.stderr.splitlines()[-2:]
    assert said == (
        'scorer "rare.py:Rare" fails at turn 2 of conversation "c" (system "s", policy "gold"): '
        "ZeroDivisionError: division by zero (rare.py, line 11)"
    )
    assert next_step == (
        f"  what was answered is kept; once that is mended: replay score {run.relative_to(folder)}"
    )
    (folder / "rare.py").write_text(RARE.replace("10 / len", "10 + 0 * len"))
    forget_code()
    assert replay_cli("score", *next_step.split()[-1:], cwd=folder).returncode == 0


DEEP = """\
from replay import GoldPolicy


def deeper(conversation, depth):
    return conversation.turns[depth + 9]


class Policy(GoldPolicy):
    async def plan(self, conversation, depth, played):
        return deeper(conversation, depth)
"""
ALONE = "import replay\n\nreplay.run('s.yaml')\n"
AWAITED = """\
import asyncio
import replay


async def main():
    await replay.run_async('s.yaml')


asyncio.run(main())
"""


@pytest.mark.parametrize(("program", "ours"), [(ALONE, 2), (AWAITED, 1)])
def test_a_program_is_shown_the_frames_of_the_plug_in_and_hardly_any_of_ours(folder, program, ours):
    (folder / "deep.py").write_text(DEEP)
    (folder / "program.py").write_text(program)
    (folder / "s.yaml").write_text(scenario(policies=["deep.py:Policy"]))
    command = [sys.executable, "program.py"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )

    assert re.findall(r'deep\.py", line (\d+), in (\w+)', done.stderr) == [("10", "plan"), ("5", "deeper")]
    assert done.stderr.count(str(Path(replay.__file__).parent)) <= ours, done.stderr
    assert "During handling" not in done.stderr
    assert 'policy "deep.py:Policy" fails at turn 1' in done.stderr


def test_a_fault_in_a_file_that_is_imported_is_told_with_its_line(folder):
    (folder / "broken.py").write_text("import os\n\nnothing.at.all\n")
    (folder / "s.yaml").write_text(scenario(policies=["broken.py:Policy"]))
    done = replay_cli("run", "s.yaml", cwd=folder)

    assert "NameError: name 'nothing' is not defined (broken.py, line 3)" in done.stderr
