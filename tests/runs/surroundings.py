"""What belongs to the whole process is after a run as it was before, whatever became of the run."""

from __future__ import annotations

import asyncio
import decimal
import gc
import locale
import logging
import os
import random
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import replay
from replay.results.run import newest_run
from replay.runs.rerun import rerun
from tests.samples import SINGER


def surroundings() -> dict[str, Any]:
    """By name, all that a library could change under a program; to be compared."""
    logs = [logging.root, *logging.root.manager.loggerDict.values()]
    policy = asyncio.get_event_loop_policy()
    wakeup = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(wakeup)
    umask = os.umask(0)
    os.umask(umask)
    return {
        "signals": {one.name: signal.getsignal(one) for one in signal.Signals},
        "blocked signals": signal.pthread_sigmask(signal.SIG_BLOCK, []),
        "wakeup": wakeup,
        "policy": policy,
        "loop": policy.get_event_loop(),
        "random": random.getstate(),
        "numpy": repr(np.random.get_state()),
        "numpy errors": np.geterr(),
        "environment": dict(os.environ),
        "working directory": os.getcwd(),
        "locale": locale.setlocale(locale.LC_ALL),
        "decimals": repr(decimal.getcontext()),
        "hooks": (sys.excepthook, sys.unraisablehook, sys.displayhook, threading.excepthook, sys.gettrace()),
        "collector": (gc.isenabled(), gc.get_threshold(), tuple(gc.callbacks)),
        "frozen": gc.get_freeze_count() > 0,
        "limits": (sys.getrecursionlimit(), sys.getswitchinterval()),
        "umask": umask,
        "niceness": os.nice(0),
        "warnings": (list(warnings.filters), warnings.showwarning),
        "logging": {
            log.name: (log.level, list(log.handlers), list(log.filters), log.propagate, log.disabled)
            for log in logs
            if isinstance(log, logging.Logger)
        },
        "modules from": list(sys.path),
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "threads": {thread.name for thread in threading.enumerate()},
    }


def changed(before: dict[str, Any]) -> dict[str, Any]:
    """What is otherwise than *before*; loggers that are new and know nothing of their own don't count."""
    now = surroundings()
    fresh = now["logging"].keys() - before["logging"].keys()
    known = {name: kept for name, kept in now["logging"].items() if name not in fresh or kept[0] or kept[1]}
    return {name: was for name, was in (now | {"logging": known}).items() if was != before[name]}


@pytest.fixture
def own_loop(nothing_frozen) -> Iterator[asyncio.AbstractEventLoop]:
    """A program's, set as its thread's current one; of a process whose objects nobody has frozen."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield loop
    asyncio.set_event_loop(None)
    loop.close()


seen: list[dict[str, Any]] = []


async def looking(question: str) -> str:
    """Looks around while it is asked."""
    handlers = {one.name: signal.getsignal(one) for one in signal.Signals}
    seen.append({"signals": handlers, "policy": asyncio.get_event_loop_policy()})
    return "It is a song."


async def interrupted(question: str) -> str:
    """Somebody presses Ctrl-C at the second question."""
    if question == SINGER.turns[1].question:
        signal.raise_signal(signal.SIGINT)
        await asyncio.Event().wait()
    return "It is a song."


def scenario(system: Any = looking, **more: Any) -> dict[str, Any]:
    systems = [{"name": "bot", "adapter": system}]
    drift = {"nlp_workers": 0}
    return {
        "name": "quiet",
        "data": [SINGER],
        "systems": systems,
        "policies": ["pred"],
        "drift": drift,
        **more,
    }


def test_a_run_leaves_the_process_as_it_was(tmp_path, own_loop):
    """So do resuming, asking again, scoring, a load, and what is read of a run."""
    # Imports may add loggers and filters of their own.
    replay.run(scenario(), runs=tmp_path).report(resamples=10)
    before = surroundings()
    assert before["loop"] is own_loop
    assert not before["frozen"], "the first run has left it so"
    run = replay.run(scenario(), runs=tmp_path)
    assert changed(before) == {}
    replay.resume(run.folder)
    assert changed(before) == {}
    rerun(run.folder, ["depth=2"])
    assert changed(before) == {}
    replay.score(run.folder)
    run.report(resamples=10)
    run.depth_table(resamples=10)
    assert changed(before) == {}
    replay.run(scenario(load={"conversations": 2, "warmup_s": 0}), runs=tmp_path)
    assert changed(before) == {}
    replay.drift([SINGER], [SINGER])
    assert changed(before) == {}


def test_so_does_one_that_is_interrupted(tmp_path, own_loop):
    replay.run(scenario(), runs=tmp_path / "first")
    before = surroundings()
    with pytest.raises(KeyboardInterrupt):
        replay.run(scenario(interrupted), runs=tmp_path)
    assert changed(before) == {}
    assert [record.depth for record in replay.Run(newest_run(tmp_path)).records()] == [1]


def test_while_it_goes_on_signals_are_the_programs(tmp_path):
    """But for Ctrl-C where nobody handles it: then Python's own ``asyncio.Runner`` lets it cancel the run."""
    before = {one.name: signal.getsignal(one) for one in signal.Signals}
    seen.clear()
    replay.run(scenario(), runs=tmp_path)
    policy = asyncio.get_event_loop_policy()
    assert all(one["policy"] is policy for one in seen)
    assert {name for one in seen for name in before if one["signals"][name] != before[name]} <= {"SIGINT"}

    signal.signal(signal.SIGINT, own := lambda *_: None)
    try:
        seen.clear()
        replay.run(scenario(), runs=tmp_path)
        assert {one["signals"]["SIGINT"] for one in seen} == {own}
    finally:
        signal.signal(signal.SIGINT, before["SIGINT"])
