"""
Everything of a study in a folder that other programs read: a run, tables, conversations, numbers.

The folder appears once it is complete. Nothing in it opens a page of the study, and nobody who withdrew is
in it. Raters may have other names in it, always the same ones, which nobody can compute.
"""

from __future__ import annotations

import csv
import hashlib
import hmac
import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from replay import __version__
from replay.core.errors import InputError, RunError, writing
from replay.datasets.native import write_native
from replay.results.run import Run
from replay.store.reader import DATABASE as RUN_DATABASE
from replay.study.preset import Preset, Results
from replay.study.running.exported_run import (
    DATA,
    add_people,
    copy_run,
    merge_runs,
    replaying,
    run_of_talks,
)
from replay.study.running.numbers import study_numbers
from replay.study.running.overview import attention_items
from replay.study.running.start import open_study
from replay.study.running.study_file import StudyFile
from replay.study.tasks import Assignment, StudyState, Task

Row = Mapping[str, Any]

JUDGEMENT_COLUMNS = (
    *("rater", "assignment", "task", "kind", "practice", "attention", "state"),
    *("conversation", "system", "policy"),
    *("depth", "step", "field", "value", "comment", "seconds", "at", "first_value", "first_at"),
)
RATER_COLUMNS = (
    *("rater", "joined_at", "declined_at", "consent_version", "consented_at", "instructed_at"),
    *("qualified_at", "failed_at", "stopped_at", "finished_at", "left_at"),
    *("done", "set_aside", "given_back", "discarded", "attention", "attention_wrong", "minutes"),
)


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Write *rows* to *path*; what a row lacks, or has None for, is an empty cell."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, columns)
        writer.writeheader()
        writer.writerows(rows)


def judgement_rows(state: StudyState) -> Iterator[Row]:
    """
    Yield all that was answered, field by field, practice and what was given back included.

    ``first_value`` and ``first_at`` say what stood there before it was corrected.
    """
    names = state.names
    for assignment in state.assignments:
        if assignment.rater not in names:
            continue
        task = state.tasks[assignment.task]
        for step, judgement in state.answers.get(assignment.id, {}).items():
            row = {
                "rater": names[assignment.rater],
                "assignment": assignment.id,
                "task": task.id,
                "kind": task.kind,
                "practice": int(task.practice is not None and not task.attention),
                "attention": int(task.attention),
                "state": assignment.state,
                "conversation": task.conversation,
                "system": task.system,
                **_turn(state, assignment, task, step),
                "step": step,
                "comment": judgement.comment,
                "seconds": judgement.seconds,
                "at": judgement.at,
                "first_at": judgement.first and judgement.first.at,
            }
            before = judgement.first.answer if judgement.first is not None else {}
            for field in dict.fromkeys((*judgement.answer, *before)) or [None]:
                value, first = judgement.answer.get(field or ""), before.get(field or "")
                yield {**row, "field": field, "value": value, "first_value": first}


def _turn(state: StudyState, assignment: Assignment, task: Task, step: str) -> Row:
    """
    Return policy and depth, as far as *step* is about turns that share them: a talk's, or recorded ones.
    """
    records = list(_records(task.content))
    found: dict[str, set[Any]] = {n: {record.get(n) for record in records} for n in ("policy", "depth")}
    numbered = re.search(r"-(\d{1,4})$", step)
    if not records and numbered:
        depths = {turn.depth for turn in state.talks.get(assignment.id, ())}
        found["depth"] = {int(numbered[1])} & depths
    return {name: values.pop() for name, values in found.items() if len(values) == 1}


def _records(content: Any) -> Iterator[Mapping[str, Any]]:
    """Turn records in a task's *content*, wherever its preset has put them."""
    if isinstance(content, Mapping):
        for key, value in content.items():
            if key == "record" and isinstance(value, Mapping):
                yield value
            else:
                yield from _records(value)
    elif isinstance(content, list):
        for value in content:
            yield from _records(value)


def rating_rows(results: Results) -> tuple[tuple[str, ...], list[Row]]:
    """
    Return columns and rows of a table that ``replay agree RUN TABLE`` reads: a row for each turn and rater.

    ``passage`` is what several turns share: the conversation of the data.
    """
    passages = {(r.system, r.policy, r.conversation): r.recorded_conversation for r in results.records}
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for score in results.scores:
        turn = score.turn
        row = found.setdefault(
            (turn, score.rater),
            {**turn._asdict(), "passage": passages[turn[:3]], "rater": score.rater},
        )
        row[score.name] = score.value
    names = dict.fromkeys(score.name for score in results.scores)
    return ("system", "policy", "conversation", "depth", "passage", "rater", *names), list(found.values())


def rater_rows(preset: Preset, state: StudyState) -> Iterator[Row]:
    """
    Yield a row for each rater: name, consent, counts of work by state, attention items, minutes spent.

    The minutes include practice.
    """
    for rater in state.raters:
        own = [one for one in state.assignments if one.rater == rater.id]
        states = [one.state for one in own if state.tasks[one.task].practice is None]
        seconds = [one.seconds for a in own for one in state.answers.get(a.id, {}).values()]
        yield {
            "rater": rater.name,
            **{name: getattr(rater, name) for name in RATER_COLUMNS[1:11]},
            "done": states.count("done"),
            "set_aside": states.count("set-aside"),
            "given_back": states.count("given-back"),
            "discarded": states.count("discarded"),
            "attention": len(met := attention_items(preset, state, rater.id)),
            "attention_wrong": sum(met),
            "minutes": round(sum(one for one in seconds if one is not None) / 60, 2),
        }


def pseudonyms(state: StudyState, secret: str) -> dict[str, str]:
    """Return a pseudonym for each rater's name; computed with *secret*, so the same ones in each export."""
    key = bytes.fromhex(secret)
    return {
        one.name: f"rater-{hmac.digest(key, f'pseudonym {one.id}'.encode(), hashlib.sha256).hex()[:8]}"
        for one in state.raters
    }


def under_names(state: StudyState, names: Mapping[str, str]) -> StudyState:
    """Return *state* with its raters under *names*, and without what is left of those who withdrew."""
    raters = [
        replace(one, name=names.get(one.name, one.name)) for one in state.raters if not one.withdrawn_at
    ]
    return replace(state, raters=raters)


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
    """Return the study's runs that are still there, by name; and of the others, that they are missing."""
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
