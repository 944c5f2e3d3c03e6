"""The ``command`` adapter: what becomes of the processes that it starts."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from replay import AdapterConnectionError
from replay.testing import entered
from replay_adapters.local.command import CommandAdapter
from replay_adapters.local.command_process import spawn
from tests.adapters.local.test_command import REQUEST, TALK, _adapter, _asking
from tests.waiting import PATIENCE_S, others_first, until, until_async


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"  # an orphan that nobody has collected yet has ended all the same


STUBBORN = """
import subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
for _ in asked():
    open("pids", "w").write(f"{os.getpid()} {child.pid}")
    os.rename("pids", "pids.done")
    if "hang" in sys.argv:
        time.sleep(3600)
    say(answer="Yes.")
time.sleep(3600)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")
@pytest.mark.parametrize("per", ["conversation", "run"])
@pytest.mark.parametrize("how", ["closed", "cancelled"])
async def test_a_program_is_ended_with_all_it_started(how: str, per: str, tmp_path: Path) -> None:
    arguments = ("hang",) if how == "cancelled" else ()
    async with _asking(
        tmp_path, STUBBORN, command=("python", "bot.py", *arguments), per=per, grace_s=0.05
    ) as session:
        ask = asyncio.create_task(session.ask(REQUEST))
        await until_async((tmp_path / "pids.done").exists)
        if how == "cancelled":
            ask.cancel()
            with pytest.raises(asyncio.CancelledError):
                await ask
        else:
            await ask
        pids = [int(pid) for pid in (tmp_path / "pids.done").read_text().split()]
        if how == "closed":
            assert all(map(_alive, pids))

    await until_async(lambda: not any(map(_alive, pids)))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")
async def test_a_cancelled_run_does_not_wait_for_a_program_that_does_not_end(tmp_path: Path) -> None:
    adapter = _adapter(tmp_path, STUBBORN, grace_s=3600.0)

    async def play() -> None:
        async with entered(adapter), adapter.session(TALK) as session:
            await session.ask(REQUEST)
            running.set()

    running = asyncio.Event()
    run = asyncio.create_task(play())
    async with asyncio.timeout(PATIENCE_S):
        await running.wait()
        await others_first()  # so that it waits for the program to end by itself
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    pid = int((tmp_path / "pids.done").read_text().split()[0])
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")
@pytest.mark.parametrize("per", ["run", pytest.param("conversation", marks=pytest.mark.long)])
@pytest.mark.parametrize("how", ["SIGKILL", pytest.param("SIGTERM", marks=pytest.mark.long)])
def test_a_program_ends_with_the_run_that_started_it(how: str, per: str, tmp_path: Path) -> None:
    """With what it started, though it reads nothing, ignores SIGTERM, and nobody is left to end it."""
    _adapter(tmp_path, STUBBORN)
    talk = {"id": "c", "turns": [{"question": "Q?"}]}
    (tmp_path / "talks.jsonl").write_text(json.dumps(talk) + "\n")
    settings = {"command": ["python", "bot.py", "hang"], "per": per, "grace_s": 0.05}
    content = {
        "name": "killed",
        "data": {"path": "talks.jsonl"},
        "systems": [{"name": "s", "adapter": "command", "settings": settings}],
        "policies": ["gold"],
    }
    (tmp_path / "s.yaml").write_text(json.dumps(content))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-m", "replay", "run", "s.yaml"], cwd=tmp_path, **quiet) as run:
        until((tmp_path / "pids.done").exists)
        pids = [int(pid) for pid in (tmp_path / "pids.done").read_text().split()]
        assert all(map(_alive, pids))
        run.send_signal(getattr(signal, how))
        run.wait(PATIENCE_S)
    try:
        until(lambda: not any(map(_alive, pids)))
    finally:
        for pid in filter(_alive, pids):
            os.kill(pid, signal.SIGKILL)


async def test_a_program_has_no_children_but_its_own(tmp_path: Path) -> None:
    """One that waits for all of them would never be done."""
    program = """
for _ in asked():
    try:
        os.wait()
    except ChildProcessError:
        say(answer="none")
"""
    async with _asking(tmp_path, program) as session:
        assert (await session.ask(REQUEST)).text == "none"


async def test_variables_have_any_name(tmp_path: Path) -> None:
    program = "for _ in asked(): say(answer=os.environ['app.mode'] + os.environ['plain'])"
    async with _asking(tmp_path, program, environment={"app.mode": "a b;$c", "plain": "=d"}) as session:
        assert (await session.ask(REQUEST)).text == "a b;$c=d"


async def test_a_program_that_went_away_cannot_be_started(tmp_path: Path) -> None:
    program = tmp_path / "bot"
    program.write_text("#!/bin/sh\ncat\n")
    program.chmod(0o755)
    adapter = CommandAdapter(folder=tmp_path, command=("./bot",))
    program.unlink()
    async with entered(adapter), adapter.session(TALK) as session:
        with pytest.raises(AdapterConnectionError, match=r"can't be started .*no such program any more"):
            await session.ask(REQUEST)


async def test_a_well_behaved_program_may_finish_its_work(tmp_path: Path) -> None:
    program = "for _ in asked(): say(answer='Yes.')\nopen('finished', 'w').close()"
    async with _asking(tmp_path, program, grace_s=10.0) as session:
        await session.ask(REQUEST)

    assert (tmp_path / "finished").exists()


def test_it_names_the_program_that_it_runs(tmp_path: Path) -> None:
    adapter = _adapter(tmp_path, "", command=("python", "bot.py", "a b"))

    assert adapter.local_code == "python bot.py 'a b'"


def _arguments() -> bytes:
    """Those of all processes here, which every user can read."""
    found = b""
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            try:
                found += (process / "cmdline").read_bytes()
            except OSError:
                continue
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="arguments are read from /proc")
async def test_no_variable_stands_in_anybodys_arguments(tmp_path: Path) -> None:
    """A shell drops variables whose names it could not write, so these take another way."""
    environment = {**os.environ, "odd.name": "drawn-9Zq4Kb7"}
    program = [sys.executable, "-c", "import os; print(os.environ['odd.name'], flush=True); input()"]
    process, held = await spawn(program, tmp_path, environment, 65_536)
    with held:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"drawn-9Zq4Kb7\n"
        await until_async(lambda: b"drawn-9Zq4Kb7" not in _arguments())
        assert b"read -r _ <&3" in _arguments()
    assert await process.wait() == -9
