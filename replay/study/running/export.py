"""
Everything of a study in a folder that other programs read: a run, tables, conversations, numbers.

The folder appears once it is complete. Nothing in it opens a page of the study, and nobody who withdrew is
in it.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from replay import __version__
from replay.core.errors import InputError, RunError, writing
from replay.datasets.native import write_native
from replay.results.run import Run
from replay.store.reader import DATABASE as RUN_DATABASE
from replay.study.running.export_tables import (
    JUDGEMENT_COLUMNS,
    RATER_COLUMNS,
    judgement_rows,
    rater_rows,
    rating_rows,
    write_csv,
)
from replay.study.running.exported_run import (
    DATA,
    add_people,
    copy_run,
    merge_runs,
    replaying,
    run_of_talks,
)
from replay.study.running.numbers import study_numbers
from replay.study.running.pseudonyms import pseudonyms, under_names
from replay.study.running.start import open_study
from replay.study.running.study_file import StudyFile

SCHEMA = 1
"""Of ``results.json``: goes up when a key changes its meaning or goes away, not when one is added."""

ABOUT: dict[str, str] = {
    RUN_DATABASE: "what was played, with people's scores beside automatic ones: replay report FOLDER; "
    "view, compare, plot and export take it, too",
    "ratings.csv": "each rater's number for each turn: replay agree FOLDER ratings.csv --against SCORE",
    "judgements.csv": "all that was answered, a row for each field, practice included; comments are "
    "free text, which may name people",
    "raters.csv": "who took part, what they agreed to and when, and how much they did",
    "results.json": "the numbers: by depth, agreement, rankings, and the tables of the study's kind",
    DATA: "conversations with the systems, to be replayed: replay run scenario.yaml",
    "scenario.yaml": "replays them; relative paths in systems' settings start from here now",
    "study.yaml": "the study file",
    "README.txt": "this",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """What was written."""

    files: tuple[Path, ...]
    remarks: tuple[str, ...]
    """What is missing, and why, in words."""


def export_study(
    database: Path,
    folder: Path,
    *,
    against: Sequence[Path] = (),
    with_pseudonyms: bool = False,
    resamples: int = 1000,
) -> ExportReport:
    """
    Write the study in *database* to *folder*, as it is now; it may be served meanwhile.

    *against* are folders of runs that replayed the study's data against its systems: their scores are held
    against what people said in talks.

    Raises:
        InputError: there is no such study or run, they have nothing in common, the folder is there already,
            or can't be written.
    """
    others = {one.name: Run(one) for one in against}
    if folder.exists():
        raise InputError(f'"{folder}" is there already; name a folder that is not')
    with writing(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            remarks = _write(database, unfinished / folder.name, others, with_pseudonyms, resamples)
            (unfinished / folder.name).rename(folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return ExportReport(files=tuple(sorted(folder.iterdir())), remarks=tuple(remarks))


def _write(
    database: Path, folder: Path, others: Mapping[str, Run], with_pseudonyms: bool, resamples: int
) -> list[str]:
    """Returns what is missing."""
    file, store = open_study(database)
    with closing(store):
        state, secret = store.state(), store.fact("secret")
    state = under_names(state, pseudonyms(state, secret) if with_pseudonyms else {})
    results = file.preset.results(state)
    runs, remarks = _runs(file)
    if len(runs) == 1 and not remarks:
        copy_run(next(iter(runs.values())).folder, folder)
    elif runs:
        merge_runs(file, runs, results, folder)
    elif results.records and file.study.systems:
        run_of_talks(file, results, folder)
    else:
        folder.mkdir(0o700)
        remarks.append(f"there is no {RUN_DATABASE}: nothing that was judged is at hand")
    has_run = (folder / RUN_DATABASE).exists()
    scored = [Run(folder).scored()] if has_run else []
    people = study_numbers(
        file,
        state,
        results=results,
        runs=scored,
        against={name: run.scored() for name, run in others.items()},
        resamples=resamples,
    )
    if has_run:
        add_people(folder, people, results)
    write_csv(folder / "judgements.csv", JUDGEMENT_COLUMNS, judgement_rows(state))
    write_csv(folder / "ratings.csv", *rating_rows(results))
    write_csv(folder / "raters.csv", RATER_COLUMNS, rater_rows(file.preset, state))
    numbers = {"schema": SCHEMA, "convreplay": __version__, "remarks": remarks, **people.to_json()}
    _put(folder / "results.json", json.dumps(numbers, ensure_ascii=False, allow_nan=False, indent=1))
    _put(folder / "study.yaml", file.text)
    if results.data_set:
        write_native(results.data_set, folder / DATA)
        _put(folder / "scenario.yaml", replaying(file))
    _put(folder / "README.txt", _readme(file, folder, remarks))
    return remarks


def _runs(file: StudyFile) -> tuple[dict[str, Run], list[str]]:
    """The study's runs that are still there, by name; and of the others, that they are missing."""
    found: dict[str, Run] = {}
    missing = []
    for folder in file.study.runs:
        try:
            found[folder.name] = Run(file.folder / folder)
        except RunError as error:
            missing.append(f"what people judged of it stands without its scores: {error}")
    return found, missing


def _readme(file: StudyFile, folder: Path, remarks: Sequence[str]) -> str:
    there = [(name, what) for name, what in ABOUT.items() if (folder / name).exists() or name == "README.txt"]
    lines = [f"{name.ljust(20)}  {what}" for name, what in there]
    said = ["", "Missing:", *(f"- {one}" for one in remarks)] if remarks else []
    return "\n".join([f'What people said in the study "{file.study.name}".', "", *lines, *said, ""])


def _put(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")
