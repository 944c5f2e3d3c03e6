"""
The run in a study's export: what was played, with what people said of it, as every reader of runs takes it.

Of a study of one run it is that run, whole, with people's scores beside its own. Of several runs it has the
turns of all of them, with all their scores. Of talks it is a new one, scored against the gold answers that
validation has given, as far as there are any.
"""

from __future__ import annotations

import asyncio
import platform
import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import yaml

from replay import __version__
from replay.core.conversation import Conversation, Turn
from replay.core.record import TurnRecord
from replay.core.settings.choice import Choice
from replay.results.run import Run
from replay.results.scoring import SCORERS, ScorerEntry, score_into, stored_score
from replay.results.verdict_columns import BY_PEOPLE, keep_people
from replay.scorers.scorer import Unscored
from replay.statistics.people import HumanScores
from replay.statistics.score_column import ScoreColumn
from replay.store.database import connect
from replay.store.reader import DATABASE
from replay.store.schema import record_row
from replay.store.store import RunStore
from replay.study.preset import JudgedTurnKey, Results
from replay.study.running.judged_turns import (
    NOT_JUDGED,
    Scored,
    automatic_columns,
    judged_turns,
    rename_systems,
)
from replay.study.running.study_file import StudyFile

SCORERS_OF_TALKS = ("em", "f1", "bleu1", "rouge_l")
DATA = "conversations.jsonl"


def copy_run(run: Path, folder: Path) -> None:
    """Make *folder* with a copy of the database of *run*, which may be written meanwhile."""
    folder.mkdir(0o700)
    (folder / DATABASE).touch(0o600)
    with closing(connect(run / DATABASE)) as source, closing(sqlite3.connect(folder / DATABASE)) as copy:
        source.backup(copy)


def merge_runs(file: StudyFile, runs: Mapping[str, Run], results: Results, folder: Path) -> None:
    """Make a run in *folder* of what people were shown of *runs*, with the scores of these."""
    played = {name: rename_systems(name, run.scored(), results.origins) for name, run in runs.items()}
    texts: list[dict[str, Any]] = []
    facts: dict[str, Any] = {"policies": {}, "histories": {}}
    systems: list[dict[str, Any]] = []
    entries: list[Any] = []
    records: list[TurnRecord] = []
    conversations: dict[str, Conversation] = {}
    for name, run in runs.items():
        names = {one.system: system for (system, _), one in results.origins.items() if one.run == name}
        with closing(RunStore(run.folder)) as store:
            scenario, policies, histories = map(store.required_fact, ("scenario", "policies", "histories"))
            entries += store.fact(SCORERS) or []
        texts.append(yaml.safe_load(scenario["text"]))
        facts = {"scenario": scenario, **facts}  # the first one's, for its folder
        shown = [one for one in texts[-1]["systems"] if one["name"] in names]
        systems += [{**one, "name": names[one["name"]]} for one in shown]
        facts["policies"] = {**policies, **facts["policies"]}
        facts["histories"] |= {new: histories[old] for old, new in names.items() if old in histories}
        records += [one for one in played[name][0] if (one.system, one.policy) in results.origins]
        conversations = {**{one.id: one for one in run.conversations()}, **conversations}
    policies = {repr(one): one for text in texts for one in text["policies"]}
    scenario = {
        "name": run_name(file),
        "data": texts[0]["data"],
        "systems": systems,
        "policies": list(policies.values()),
    }
    home = {key: facts["scenario"][key] for key in ("source", "folder")}
    facts |= {
        "scenario": {"text": _yaml(scenario), **home},
        "systems": [one["name"] for one in systems],
    }
    with closing(_new_run(folder, file, facts, list(conversations.values()), records)) as store:
        _keep_scores(store, played, records, {one["signature"]: one for one in entries})


def run_of_talks(file: StudyFile, results: Results, folder: Path) -> None:
    """
    Make a run in *folder* of the talks of *results*, scored where people gave gold answers of their own.

    Each talk is a conversation of its own in it, with what was really asked, and no play of its topic.
    """
    policies = list(dict.fromkeys(record.policy for record in results.records))
    systems = [one.name for one in file.study.systems]
    facts = {
        "scenario": {
            "text": replaying(file),
            "source": file.source,
            "folder": str(file.folder),
        },
        "systems": systems,
        "ask": BY_PEOPLE,
        "policies": dict.fromkeys(policies, "people"),
        "histories": {system: dict.fromkeys(policies, "own") for system in systems},
    }
    gold = {turn.id: turn.gold_answers for talk in results.data_set for turn in talk.turns}
    played = [
        msgspec.structs.replace(one, gold_answers=one.gold_answers or gold.get(one.turn, ()))
        for one in results.records
    ]
    talks = _talks([*results.conversations, *results.data_set], played)
    records = [msgspec.structs.replace(one, source=None) for one in played]
    with closing(_new_run(folder, file, facts, talks, records)) as store:
        # Where all that is gold is what the systems themselves answered, every score would be perfect.
        if any(one.gold_answers and one.answer not in one.gold_answers for one in records):
            score_into(store, [Choice(name=name) for name in SCORERS_OF_TALKS])


def add_people(folder: Path, people: HumanScores, results: Results) -> None:
    """Keep *people*, and people's scores of *results*, in the run in *folder*."""
    judged = judged_turns(results)
    places = {JudgedTurnKey.of(record): place for place, record in enumerate(judged.records)}
    with closing(RunStore(folder, write=True)) as store:
        records = list(store.records())
        at = [places.get(JudgedTurnKey.of(record)) for record in records]
        columns = {
            name: replace(
                column,
                observed=[
                    Unscored(reason=NOT_JUDGED) if place is None else column.observed[place] for place in at
                ],
            )
            for name, column in judged.columns.items()
        }
        keep_people(store, people, records, columns)


def run_name(file: StudyFile) -> str:
    """Return the study's name as far as a run can have it."""
    return " ".join(re.findall(r"[\w.-]+", file.study.name)) or "study"


def replaying(file: StudyFile) -> str:
    """Return a scenario that replays the study's conversations against its systems."""
    return _yaml(
        {
            "name": run_name(file),
            "data": {"path": DATA},
            "systems": [one.model_dump(mode="json", exclude_defaults=True) for one in file.study.systems],
            "policies": ["gold", "pred", "rewrite"],
            "seed": file.study.seed,
        }
    )


def _talks(data: Sequence[Conversation], records: Sequence[TurnRecord]) -> list[Conversation]:
    """
    Return each talk of *records* as a conversation, under the id that these have; *data* is what it was
    about.
    """
    about = {one.id: one for one in data}
    talks: dict[str, list[TurnRecord]] = {}
    for record in records:
        talks.setdefault(record.conversation, []).append(record)
    return [
        msgspec.structs.replace(
            about.get(id) or about[turns[0].recorded_conversation],
            id=id,
            turns=tuple(
                Turn(
                    id=one.turn,
                    question=one.recorded,
                    gold_answers=one.gold_answers,
                    gold_passages=one.gold_passages,
                )
                for one in sorted(turns, key=lambda one: one.depth)
            ),
        )
        for id, turns in talks.items()
    ]


def _new_run(
    folder: Path,
    file: StudyFile,
    facts: Mapping[str, Any],
    conversations: Sequence[Conversation],
    records: Sequence[TurnRecord],
) -> RunStore:
    """Return a finished run of *records*, open for writing."""
    more = {
        "name": run_name(file),
        "seed": file.study.seed,
        "begun": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "version": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "ask": "all",
        "load": None,
        "finished": True,
    }
    store = RunStore.create(folder, {**more, **facts})
    store.add_conversations(conversations)
    if records:
        asyncio.run(_write(store, records))
    return store


def _yaml(scenario: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(scenario), sort_keys=False, allow_unicode=True)


async def _write(store: RunStore, records: Sequence[TurnRecord]) -> None:
    await store.write_rows([record_row(record) for record in records])


def _keep_scores(
    store: RunStore,
    played: Mapping[str, Scored],
    records: Sequence[TurnRecord],
    entries: Mapping[str, Mapping[str, Any]],
) -> None:
    """All that the scorers of several runs observed; *entries* are theirs, by signature."""
    columns = automatic_columns(records, played.values())
    kept = []
    store.begin_staging()
    for label, column in columns.items():
        store.add_scores(label, map(stored_score, records, column.observed), anew=True)
        signature = column.scorer.signature
        entry = {**(entries.get(signature) or _judges_entry(label, column)), "label": label}
        # What the scorer itself made of the cells of one run is none of its numbers here.
        kept.append({**entry, "values": {}})
    signatures = {label: column.scorer.signature for label, column in columns.items()}
    store.publish_staged(columns, facts={SCORERS: kept}, event=("scored", signatures))


def _judges_entry(label: str, column: ScoreColumn) -> dict[str, Any]:
    """Return a judge's column as that of a scorer: it was had by asking, and its judge stays with its run."""
    entry = ScorerEntry(
        label=label,
        name=label,
        settings={},
        signature=column.scorer.signature,
        unit=column.unit,
        lower_is_better=column.lower_is_better,
        combined="mean",
    )
    plain: dict[str, Any] = msgspec.to_builtins(entry)
    return plain
