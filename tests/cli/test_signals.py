"""Signals end the program, whatever it is doing and however deep in a call that never returns."""

from __future__ import annotations

import json
import re
import resource
import signal
import sys
import textwrap
from pathlib import Path

import pytest
import yaml

from replay.results.run import Run, newest_run
from replay.runs.launch import resume_async
from tests.cli.command import kept_turns
from tests.load.processes import Command, replaying
from tests.waiting import until_async

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and sends signals")

IMPATIENT = (
    "-c",
    "import replay.cli.signals as signals\nsignals.REACTION_S = 0.2\nfrom replay.cli import main\nmain()",
)
"""``replay`` that waits for no reaction, so that a test needn't."""
ANSWERED = 3
BUSY_S = 0.5
"""So much processor time after the last answer, and it is busy with what never ends."""

FOREVER = (
    "{%% for a in range(99999) %%}{%% for b in range(99999) %%}{%% for c in range(99999) %%}%s"
    "{%% endfor %%}{%% endfor %%}{%% endfor %%}"
)
TEMPLATES = {
    "nested for": FOREVER % "",
    "a huge power": "{{ depth|round(300000000, 'ceil') }}",
    "a tower of tojson": FOREVER % "{% set x = [a]|tojson|tojson|tojson %}",
}
ONCE, TWICE = False, True


def scenario(folder: Path, **system: object) -> Path:
    """One talk that can be answered, then one whose question is STUCK."""
    talks = [["Who sang?", "When?", "Where?"], ["STUCK"]]
    lines = [
        {"id": f"talk{n}", "turns": [{"question": q, "gold_answer": "Ann."} for q in questions]}
        for n, questions in enumerate(talks)
    ]
    (folder / "talks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "stubborn.py").write_text(
        textwrap.dedent(
            """
            import json, signal, sys, time
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            for line in sys.stdin:
                print(json.dumps({"answer": "Ann."}), flush=True)
            time.sleep(3600)
            """
        )
    )
    content = {
        "name": "stuck",
        "data": {"path": "talks.jsonl"},
        "systems": [{"name": "s", **system}],
        "policies": [{"pred": {"detect": False}}],
        "play": {"concurrency": 1},
        "scorers": ["em"],
    }
    path = folder / "stuck.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def templated(folder: Path, template: str) -> Path:
    """A program that doesn't end by itself, and what it is sent."""
    send = {
        "question": "{{question}}",
        "more": "{% if question == 'STUCK' %}" + template + "{% endif %}",
    }
    settings = {"command": [sys.executable, "stubborn.py"], "send": send, "per": "conversation"}
    return scenario(folder, adapter="command", settings=settings)


def calling(folder: Path, code: str) -> Path:
    """A Python function that evaluates *code*."""
    (folder / "system.py").write_text(
        "import itertools, re\n"
        f"async def answer(question):\n    return 'Ann.' if question != 'STUCK' else str({code})\n"
    )
    return scenario(folder, adapter="python", settings={"target": "system.py:answer"})


def processor_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


async def until_stuck(command: Command, folder: Path) -> None:
    pid = command.process.pid
    await until_async(
        lambda: kept_turns(folder / "runs") >= ANSWERED or command.process.returncode is not None
    )
    assert command.process.returncode is None, await command.ended()
    begun = processor_s(pid)
    await until_async(lambda: processor_s(pid) > begun + BUSY_S)


def has_come(pid: int, number: signal.Signals) -> bool:
    """Whether the process was given signal *number*: the system itself has put its handler away."""
    (caught,) = re.findall(r"^SigCgt:\t(\w+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return not int(caught, 16) >> (number - 1) & 1


async def end(folder: Path, twice: bool) -> tuple[int, str]:
    """Exit status and standard error of a run that is stuck and gets SIGTERM, once or *twice*."""
    program = ("-m", "replay") if twice else IMPATIENT
    async with replaying("run", "stuck.yaml", folder=folder, program=program) as command:
        resource.prlimit(command.process.pid, resource.RLIMIT_AS, (2**32, 2**32))
        await until_stuck(command, folder)
        command.process.terminate()
        if twice:
            await until_async(lambda: has_come(command.process.pid, signal.SIGTERM))
            command.process.terminate()
        code, _, err = await command.ended()
        await command.all_gone()
    return code, err


async def goes_on(folder: Path) -> None:
    """The run has all that was answered, and another attempt, now with nothing that sticks, the rest."""
    assert Run(newest_run(folder / "runs")).outcomes()["answered"] == ANSWERED
    (folder / "system.py").write_text("async def answer(question): return 'Ann.'\n")
    if "system.py" in (folder / "stuck.yaml").read_text():
        resumed = await resume_async(newest_run(folder / "runs"))
        assert resumed.outcomes()["answered"] == ANSWERED + 1


@pytest.mark.long
@pytest.mark.parametrize(
    ("template", "twice"),
    [
        pytest.param(text, twice, id=f"{name}-{twice + 1}")
        for name, text in TEMPLATES.items()
        for twice in (ONCE, TWICE)
    ],
)
async def test_a_template_that_never_ends_is_left_by_a_signal(tmp_path, template, twice):
    templated(tmp_path, template)
    code, err = await end(tmp_path, twice)
    if twice:
        assert code == -signal.SIGTERM, err
    else:  # what was computed in the end ends in good order
        assert code in (1, 130), err
        assert ("(most recent call first)" in err) == (code == 1)
    assert "Traceback" not in err
    await goes_on(tmp_path)


async def test_a_call_that_python_can_not_leave_is_left_by_a_second_signal(tmp_path):
    calling(tmp_path, "max(itertools.count())")
    code, err = await end(tmp_path, TWICE)
    assert code == -signal.SIGTERM, err
    await goes_on(tmp_path)


async def test_a_function_that_searches_for_ever_is_left_and_its_place_is_shown(tmp_path):
    calling(tmp_path, "re.search('(a+)+$', 'a' * 60 + 'b')")
    code, err = await end(tmp_path, ONCE)
    assert code == 1
    assert 'system.py", line 3 in answer' in err
    await goes_on(tmp_path)
