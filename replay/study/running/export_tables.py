"""A study's tables for other programs, a row for each thing that was said, judged or agreed to."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from replay.study.preset import Preset
from replay.study.results import Results
from replay.study.running.overview import attention_items
from replay.study.tasks import Assignment, StudyState, Task

Row = Mapping[str, Any]

JUDGEMENT_COLUMNS = (
    *(
        "rater",
        "assignment",
        "task",
        "kind",
        "practice",
        "attention",
        "state",
        "conversation",
        "system",
        "policy",
    ),
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
    All that was answered, field by field, practice and what was given back included.

    ``first_value`` and ``first_at`` say what stood there before it was corrected.
    """
    names = {rater.id: rater.name for rater in state.raters}
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
    """Policy and depth, as far as *step* is about turns that share them: a talk's, or recorded ones."""
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
    Columns and rows of a table that ``replay agree RUN TABLE`` reads: a row for each turn and rater.

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
    """Who took part, what they agreed to, how much work they did, and how long it took with the practice."""
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
