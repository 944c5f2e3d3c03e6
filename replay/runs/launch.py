"""
Starts runs and goes on with interrupted ones, from a scenario to a scored run: a new run's folder, what its
database says of it from the beginning, and whether the program shows how far it has come (in a notebook, or
where it asks for it).
"""

from __future__ import annotations

import asyncio
import platform
import re
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias, TypeVar
from uuid import uuid4

from replay import __version__
from replay.core.errors import ReplayError, RunError
from replay.core.lifetimes import in_thread, stoppable
from replay.core.logs import logging_run
from replay.core.safety.consent import check_consent, code_may_run, remember
from replay.core.settings.in_memory import with_names
from replay.core.settings.plugin_bugs import in_short
from replay.play.engine import Observer
from replay.play.event_loop import run_for_library
from replay.results.late_drift import detect_sampled
from replay.results.play_events import played_by, this_version, version_remarks
from replay.results.run import Run
from replay.results.run_data import DATA_IS_READ, compare_data, resume_command
from replay.results.telemetry import export_status
from replay.runs.playing import finalizing, play_and_score
from replay.scenario.assembly import Assembly, assemble
from replay.scenario.reading import (
    ScenarioFile,
    in_plain_form,
    parse_scenario,
    read_scenario,
    with_cluster,
    with_workers,
)
from replay.scenario.sections import Workers
from replay.scenario.shipped import find_scenario
from replay.store.store import RunStore


def new_store(assembly: Assembly, runs: Path) -> RunStore:
    """
    Create a run below *runs*, and return its database, open for writing.

    Raises:
        RunError: its folder can't be made.
    """
    file, scenario = assembly.file, assembly.file.scenario
    facts: dict[str, Any] = {
        "id": uuid4().hex,
        "scenario": {"text": file.text, "source": file.source, "folder": str(file.folder)},
        "name": scenario.name,
        "seed": scenario.seed,
        "begun": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "version": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "systems": [system.name for system in assembly.systems],
        "policies": {label: policy.signature for label, policy in assembly.policies.items()},
        "histories": _histories(assembly),
        "keeps_history": [one.name for one in assembly.systems if one.adapter.history == "server"],
        "tools": {system.name: system.tools.signature for system in assembly.systems if system.tools},
        "ask": scenario.data.ask,
        "load": assembly.load.model_dump(mode="json") if assembly.load else None,
    }
    stem = f"{re.sub(r' +', '-', scenario.name)}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    for attempt in range(1, 1000):
        folder = runs / (stem if attempt == 1 else f"{stem}-{attempt}")
        try:
            store = RunStore.create(folder, facts, scenario.play.durability, has_turn_key=not assembly.load)
        except RunError as error:
            # Not looked at before: another run that begins in the same second may come between.
            if not isinstance(error.__cause__, FileExistsError):
                raise
        else:
            remember(facts)
            return store
    raise RunError(f'"{runs}" holds too many runs called "{stem}"')


def _histories(assembly: Assembly) -> dict[str, dict[str, str]]:
    """By system and policy, which answers stood in the history that the system saw."""
    return {
        system.name: {
            label: "own" if system.adapter.history == "server" or policy.history == "own" else "gold"
            for label, policy in assembly.policies.items()
        }
        for system in assembly.systems
    }


def in_notebook() -> bool:
    """
    Return whether this runs in a notebook's kernel (Jupyter, VS Code, Colab); False for IPython on a
    terminal.
    """
    ipython = sys.modules.get("IPython")  # whoever is in a notebook has it; nobody else is to wait for it
    return getattr(ipython.get_ipython(), "kernel", None) is not None if ipython else False


@contextmanager
def progress_display(observer: Observer | None, progress: bool | None) -> Iterator[Observer | None]:
    """
    Yield the observer that is to be told how far a run has come, or None.

    Args:
        observer: Yielded as it is, if given.
        progress: True to show progress, False not to; None shows it in a notebook alone, and only without an
            *observer*.

    Raises:
        ValueError: there is an *observer*, and *progress* is true as well.
    """
    if observer is not None and progress:
        raise ValueError("observer and progress=True: give one of them; an observer can show what it likes")
    notebook = in_notebook()
    if observer is not None or not (notebook if progress is None else progress):
        yield observer
        return
    from replay.core.terminal import unwrap_stream
    from replay.report.printing import VisibleConsole
    from replay.runs.progress import NotebookCell, RunProgress

    with RunProgress(VisibleConsole(unwrap_stream(sys.stderr)), NotebookCell() if notebook else None) as told:
        yield told


P = ParamSpec("P")
T = TypeVar("T")

AnyScenario: TypeAlias = str | Path | ScenarioFile | Mapping[str, Any]
"""
A path, a shipped scenario's name, a scenario already read, or its content as a mapping.

A mapping may hold objects where a file has names: a function as an adapter or as the ``target`` of
``python``, plug-ins (classes, or objects made of them), conversations under ``data``.
"""


def load_scenario(scenario: AnyScenario) -> ScenarioFile:
    """
    Read *scenario*; the paths in a mapping start from the working directory.

    Raises:
        InputError: there is no such file, or it has faults.
    """
    if isinstance(scenario, ScenarioFile):
        return scenario
    if isinstance(scenario, Mapping):
        import yaml

        content = with_names(in_plain_form(scenario))
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
        return parse_scenario(text, source="scenario", folder=Path.cwd())
    return read_scenario(scenario if isinstance(scenario, Path) else find_scenario(scenario))


async def run_async(
    scenario: AnyScenario,
    *,
    runs: str | Path = "runs",
    observer: Observer | None = None,
    may_load: Iterable[str] = (),
    progress: bool | None = None,
    on: str | None = None,
) -> Run:
    """
    Play *scenario* into a new folder below *runs*, score it, and return the run.

    Cancelling keeps what was answered; ``resume_async`` goes on from there.
    *may_load* are the hosts beyond this machine and private networks that may be put under load.
    *progress* shows how far it has come, on standard error or in a notebook's cell; left out, in a notebook
    alone and where no *observer* is told. *on* is who plays, in the place of the scenario's ``cluster``:
    ``ray`` the nodes of its own cluster, or else of this machine's, an address as in ``ray://HOST:10001``
    those of that one, ``here`` this machine.

    Raises:
        InputError: the scenario or its data has faults, or the cluster can't be used.
        PluginError: a plug-in can't be used.
        ResolverError: coreference failed for good; the run can be resumed.
        RunStoppedError: a system refuses our key, or failed too often in a row; the run can be resumed.
    """
    try:
        with code_may_run(), progress_display(observer, progress) as told:
            return await _run(with_cluster(load_scenario(scenario), on), Path(runs), told, may_load)
    except ReplayError as error:
        raise in_short(error)  # noqa: B904 - its cause is in it


async def _run(file: ScenarioFile, runs: Path, observer: Observer | None, may_load: Iterable[str]) -> Run:
    assembly = assemble(file)
    if assembly.load:  # a plain run loads no load generator
        from replay.load.levels import check_hosts, play_under_load

        await in_thread(check_hosts, assembly, may_load)
    store = new_store(assembly, runs)
    try:
        with logging_run(store.folder.name, scenario=assembly.file.source, load=bool(assembly.load)):
            if assembly.load:
                look = f"look at it with: replay report {store.folder}"
                telemetry = export_status(store.folder, assembly.file, observer)
                async with telemetry, finalizing(assembly, store, observer, next_step=look):
                    await play_under_load(assembly, store, observer)
                    await detect_sampled(assembly, store, observer)
            else:
                await play_and_score(assembly, store, observer)
    finally:
        await in_thread(store.close)
    return Run(store.folder, scenario=file)


async def resume_async(
    folder: str | Path,
    *,
    scenario: AnyScenario | None = None,
    observer: Observer | None = None,
    with_new_data: bool = False,
    allow_code: bool = False,
    progress: bool | None = None,
    workers: Workers | None = None,
    on: str | None = None,
) -> Run:
    """
    Go on with the run in *folder*: no finished turn is asked again.

    Its conversations are played as the run read them, whatever became of the data since: that is said to
    the *observer* and in the report. Conversations that are new in the data are taken up *with_new_data*
    alone, up to ``data.limit``; then a finished run goes on as well.

    A half-played conversation goes on after its last durable turn, or starts again from its first
    where the system kept the history, since that session is gone. The run knows its *scenario*; only one
    with objects from another process's memory has to be given again. A run that this user did not begin on
    this machine is like a scenario of somebody else's: *allow_code* says that what it names may run and be
    asked. *workers* is for this once, in the place of the scenario's ``play.workers``; so is *on*, as for
    ``run_async``, and *progress* as there.

    Raises:
        RunError: there is no such run, another process is writing it, it was begun with another scenario, or
            it is not this user's and *allow_code* is missing.
        InputError, PluginError, ResolverError, RunStoppedError: as for ``run_async``; of data that can't be
            read only *with_new_data*.
    """
    try:
        with code_may_run(), progress_display(observer, progress) as told:
            from replay.results.consent import actions_of_untrusted_run

            check_consent(actions_of_untrusted_run(Path(folder)), allow_code=allow_code)
            return await _resume(Path(folder), scenario, told, with_new_data, workers, on)
    except ReplayError as error:
        raise in_short(error)  # noqa: B904 - its cause is in it


async def _resume(
    folder: Path,
    scenario: AnyScenario | None,
    observer: Observer | None,
    with_new_data: bool,
    workers: Workers | None,
    on: str | None,
) -> Run:
    run = Run(folder)
    file = run.scenario()
    if scenario is not None and load_scenario(scenario).text != file.text:
        raise RunError(f'"{folder}" was begun with another scenario; give that one, or begin a new run')
    file = with_cluster(with_workers(file, workers), on)
    store = RunStore(folder, write=True, durability=file.scenario.play.durability)
    try:
        if file.scenario.load:
            await _finish_load(file, store, observer)
            return run
        is_read = bool(store.fact(DATA_IS_READ))
        assembly = assemble(file, data_is_read=is_read)
        _notice(observer, [store.missing.sentence] if store.missing else [])
        store.add_event("resumed", {"version": __version__})
        with logging_run(store.folder.name, scenario=file.source, resumed=True):
            if is_read:
                comparing = partial(compare_data, assembly, store, with_new_data=with_new_data)
                changes = await stoppable(comparing)
                _notice(observer, changes.sentences(resume_command(store)))
            played, now = played_by(store), this_version(assembly)
            if now != played[-1] and not store.fact("finished"):
                _notice(observer, version_remarks([*played, now]))
            await play_and_score(assembly, store, observer)
    finally:
        await in_thread(store.close)
    return run


async def _finish_load(file: ScenarioFile, store: RunStore, observer: Observer | None) -> None:
    """
    Do what is left of a load run once its load is over: drift, scores, judging, checks.

    Raises:
        RunError: it was interrupted before, or nothing is left.
    """
    from replay.load.levels import LOADED

    if not store.fact(LOADED) or store.fact("finished"):
        raise RunError(
            f'"{store.folder}" is a load run: what it measured is in it (`replay report`), but a load can\'t '
            "be taken up again where it stopped; begin a new run"
        )
    assembly = assemble(file, data_is_read=True)
    store.add_event("resumed", {"version": __version__})
    with logging_run(store.folder.name, scenario=file.source, resumed=True):
        again = f"go on with: replay resume {store.folder}"
        async with finalizing(assembly, store, observer, next_step=again):
            await detect_sampled(assembly, store, observer)


def _notice(observer: object, sentences: Sequence[str]) -> None:
    """Tell an *observer* that listens what somebody should know before anything is asked."""
    if noticed := getattr(observer, "noticed", None):
        for sentence in sentences:
            noticed(sentence)


def without_loop(
    play: Callable[P, Coroutine[Any, Any, T]],
) -> Callable[[Callable[[], None]], Callable[P, T]]:
    """Give a function the arguments and the work of *play*, for a program without an event loop."""

    def make(named: Callable[[], None]) -> Callable[P, T]:
        name = named.__name__

        @wraps(play)
        def twin(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                asyncio.get_running_loop()
            except RuntimeError:
                pass
            else:
                raise RuntimeError(
                    "an event loop is running here, as in every notebook: write "
                    f"`await replay.{play.__name__}(...)` in place of `replay.{name}(...)`"
                )
            try:
                return run_for_library(play(*args, **kwargs))
            except ReplayError as error:
                raise in_short(error)  # noqa: B904 - its cause is in it

        twin.__name__ = twin.__qualname__ = name
        twin.__doc__ = named.__doc__
        return twin

    return make


@without_loop(run_async)
def run() -> None:
    """Do what ``run_async`` does, in a program without an event loop."""


@without_loop(resume_async)
def resume() -> None:
    """Do what ``resume_async`` does, in a program without an event loop."""
