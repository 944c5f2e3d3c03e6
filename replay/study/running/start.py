"""
A study before it is gone through: written to start from, found, begun once, and opened as it was then.

Studies to start from are commented study files with small data, with which they work at once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from replay import __version__
from replay.core.conversation import Conversation
from replay.core.errors import Fault, InputError, RunError, ScenarioError, writing
from replay.core.settings.faults import nearest
from replay.datasets.loading import read_conversations
from replay.results.run import Run
from replay.scenario.part_builder import PartBuilder
from replay.scenario.reading import add_lines, read_scenario
from replay.scenario.shipped import shipped_folder
from replay.study.preset import Material
from replay.study.running.practice import known_tasks
from replay.study.running.study_file import StudyFile, parse_study, without_names
from replay.study.schema import make_study
from replay.study.store import DATABASE, StudyStore

STUDY_FILE = "study.yaml"
_SQLITE = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundStudy:
    """Where a study is."""

    file: Path | None
    """None where a database was named, or a folder without a study file."""
    database: Path
    """Which is there once the study has begun."""


def find_study(path: Path, database: Path | None = None) -> FoundStudy:
    """
    Return the study that *path* names: a study file, a folder with one or with a ``study.db``, or a database.

    *database*, where it isn't ``study.db`` beside the study file.

    Raises:
        InputError: there is nothing of the kind.
    """
    if path.is_dir():
        file, beside = path / STUDY_FILE, path / DATABASE
        if not file.is_file() and not (database or beside).is_file():
            raise InputError(
                f'the folder "{path}" holds neither {STUDY_FILE} nor {DATABASE}; name the study file or the '
                "database, or begin one with `replay study init`"
            )
        return FoundStudy(file=file if file.is_file() else None, database=database or beside)
    if not path.is_file():
        raise InputError(
            f'there is no "{path}"; STUDY is a study file, its folder or its database (`replay study init` '
            "writes a study file)"
        )
    with path.open("rb") as opened:
        is_database = opened.read(len(_SQLITE)) == _SQLITE
    if is_database and database is not None:
        raise InputError(f'"{path}" is a database itself; leave --db out, or name the study file')
    if is_database:
        return FoundStudy(file=None, database=path)
    return FoundStudy(file=path, database=database or path.resolve().parent / DATABASE)


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
    Return the conversations of *data* and *runs* whose ids are *wanted*.

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
    Return the study whose database is at *path*, as it was when it began.

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
    Check that *file* is the one that the study in *store* began with.

    Raises:
        InputError: it is not.
    """
    if store.fact("file")["text"] != without_names(file.text):
        raise InputError(
            f'"{file.source}" has changed since its study began; people would be judging two things. Put it '
            f"back as it was, or begin another study with --db FILE ({store.path} stays as it is)"
        )


FOLDER = Path(__file__).resolve().parents[1] / "starter"
_MADE_RUN = "runs/small"
_DATA = ("museum", "music")


def starters() -> list[str]:
    """Return the presets that a study can be started with, sorted."""
    parts = ("common", "scenario", "talks", "wording_scenario")
    return sorted(path.stem for path in FOLDER.glob("*.yaml") if path.stem not in parts)


def write_starter(preset: str, folder: Path, run: Path | None = None) -> list[Path]:
    """
    Write a study of *preset* into *folder*; returns what was written.

    A preset that judges runs gets *run*, a run's folder; without one, a small run is played with the
    embedded system.

    Raises:
        InputError: there is no such preset, a file is there already, *run* is no run's folder or of no use,
            or nothing can be written.
    """
    known = starters()
    if preset not in known:
        raise InputError(f'"{preset}" is not a preset{nearest(preset, known)} (there are {", ".join(known)})')
    text = (FOLDER / f"{preset}.yaml").read_text("utf-8")
    judges_run = _MADE_RUN in text
    if run is not None:
        if not judges_run:
            raise InputError(f"--run: has no use; in {preset} people talk with systems, and judge no run")
        if not (run / "run.db").is_file():
            raise InputError(
                f'--run: "{run}" is not the folder of a run; `replay run` prints its runs\' folders'
            )
        relative = Path(os.path.relpath(run.resolve(), folder.resolve())).as_posix()
        text = text.replace(_MADE_RUN, json.dumps(relative))
    own_scenario = FOLDER / f"{preset}_scenario.yaml"
    parts = ["common"] if judges_run or own_scenario.exists() else ["talks", "common"]
    files = {STUDY_FILE: text + "".join((FOLDER / f"{part}.yaml").read_text("utf-8") for part in parts)}
    if own_scenario.exists():
        files["scenario.yaml"] = own_scenario.read_text("utf-8")
    practice = FOLDER / f"{preset}.jsonl"
    if practice.exists():
        files["practice.jsonl"] = practice.read_text("utf-8")
    if run is None:
        conversations = shipped_folder() / "conversations"
        files["conversations.jsonl"] = "".join(
            (conversations / f"{name}.jsonl").read_text("utf-8") for name in _DATA
        )
    plays = judges_run and run is None
    if plays:
        files["scenario.yaml"] = (FOLDER / "scenario.yaml").read_text("utf-8")
    there = next(
        (name for name in [*files, *(["runs/small"] if plays else [])] if (folder / name).exists()), None
    )
    if there is not None:
        raise InputError(f'"{folder / there}" is there already; choose another folder')
    written = [folder / name for name in files]
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content.encode())
        if plays:
            from replay.runs.launch import run as play  # what a run that waits for people has no use for

            done = play(read_scenario(folder / "scenario.yaml"), runs=folder / "runs")
            written.append(done.folder.rename(folder / _MADE_RUN))
    return written


def with_unique_ids(conversations: Iterable[Conversation]) -> list[Conversation]:
    """
    Return *conversations* with passages that have one id each, and each id one passage.

    Those with the same title and text are one, with the first one's id. Data sets that call the first passage
    of every conversation "p1" have the others named for their conversations, too: "album/p1".
    """
    ids: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    found = []
    for conversation in conversations:
        renamed: dict[str, str] = {}
        for passage in conversation.passages:
            said = (passage.title, passage.text)
            if said not in ids:
                id = passage.id if passage.id not in taken else f"{conversation.id}/{passage.id}"
                while id in taken:
                    id += "+"
                taken.add(id)
                ids[said] = id
            renamed[passage.id] = ids[said]
        passages = {renamed[one.id]: replace(one, id=renamed[one.id]) for one in conversation.passages}
        turns = [
            msgspec.structs.replace(
                turn, gold_passages=tuple(renamed.get(id, id) for id in turn.gold_passages)
            )
            for turn in conversation.turns
        ]
        found.append(
            msgspec.structs.replace(conversation, passages=tuple(passages.values()), turns=tuple(turns))
        )
    return found
