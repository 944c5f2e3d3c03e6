"""Begins a study: its tasks are made once, and all that they show is kept in its database."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from replay import __version__
from replay.core.conversation import Conversation
from replay.core.errors import Fault, InputError, RunError, ScenarioError
from replay.datasets.loading import read_conversations
from replay.results.run import Run
from replay.scenario.part_builder import PartBuilder
from replay.scenario.reading import add_lines
from replay.study.create import make_study
from replay.study.passages import with_unique_ids
from replay.study.preset import Material
from replay.study.running.practice import known_tasks
from replay.study.running.study_file import StudyFile, parse_study, without_names
from replay.study.store import StudyStore


def begin_study(file: StudyFile, path: Path) -> None:
    """
    Make the database of a new study at *path*.

    Raises:
        ScenarioError: what the file names can't be read; all faults at once.
        InputError: there is nothing to do, or the database can't be made.
    """
    study = file.study
    builder = PartBuilder(file.folder)
    conversations = []
    if study.data is not None:
        reader, paths = builder.reader(study.data), builder.paths(study.data)
        if not builder.faults:
            conversations = with_unique_ids(
                read_conversations(paths, reader=reader, on_bad=None, limit=study.data.limit)
            )
    runs = {}
    for index, folder in enumerate(study.runs):
        name = (file.folder / folder).resolve().name
        try:
            run = Run(file.folder / folder)
        except RunError as error:
            builder.faults.append(Fault(path=f"runs[{index}]", message=str(error)))
            continue
        if name in runs:
            message = f'another run is called "{name}" too; rename the folder of one'
            builder.faults.append(Fault(path=f"runs[{index}]", message=message))
        runs[name] = run
    known, faults = known_tasks(file)
    builder.faults += faults
    if builder.faults:
        raise ScenarioError(file.source, add_lines(builder.faults, file.lines))
    raters = list(range(1, len(study.rater_names) + 1))
    tasks = file.preset.tasks(
        Material(
            conversations=conversations,
            systems=[system.name for system in study.systems],
            runs=runs,
            raters=raters,
            rater_names=study.rater_names,
            more_come=study.platform is not None,
            seed=study.seed,
        )
    )
    about = _conversations(conversations, runs, {task.conversation for task in tasks})
    facts = {
        "name": study.name,
        "version": __version__,
        "file": {"text": without_names(file.text), "source": file.source, "folder": str(file.folder)},
        "conversations": msgspec.to_builtins(about),
    }
    make_study(path, facts, study.rater_names, [*known, *tasks], conversations)


def _conversations(
    data: Sequence[Conversation], runs: Mapping[str, Run], wanted: Collection[str]
) -> list[Conversation]:
    """
    Those of *data* and *runs* whose ids are *wanted*.

    Raises:
        InputError: one id stands for two conversations.
    """
    found: dict[str, Conversation] = {}
    of_runs = (one for run in runs.values() for one in run.conversations())
    for one in (*data, *of_runs):
        if one.id in wanted and found.setdefault(one.id, one) != one:
            raise InputError(
                f'runs: conversation "{one.id}" is not the same in all of them; judge runs of other data in '
                "another study"
            )
    return list(found.values())


def open_study(path: Path, *, write: bool = False) -> tuple[StudyFile, StudyStore]:
    """
    The study whose database is at *path*, as it was when it began.

    Raises:
        InputError: there is none, or another process writes it.
    """
    store = StudyStore(path, write=write)
    kept = store.fact("file")
    try:
        return parse_study(kept["text"], source=kept["source"], folder=Path(kept["folder"])), store
    except BaseException:
        store.close()
        raise


def check_unchanged(file: StudyFile, store: StudyStore) -> None:
    """
    Raises:
        InputError: *file* is not what the study in *store* began with.
    """
    if store.fact("file")["text"] != without_names(file.text):
        raise InputError(
            f'"{file.source}" has changed since its study began; people would be judging two things. Put it '
            f"back as it was, or begin another study with --db FILE ({store.path} stays as it is)"
        )
