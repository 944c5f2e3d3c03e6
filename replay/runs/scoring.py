"""Scores a run's records and keeps what was observed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from replay.core.errors import PluginError, ScenarioError
from replay.core.record import TurnRecord
from replay.core.settings.choice import Choice
from replay.scenario.part_builder import PartBuilder
from replay.scorers.observing import observe
from replay.scorers.scorer import Scorer, Unscored
from replay.statistics.score_column import ScoreColumn, in_parts, stored_column, surveyed
from replay.store.store import RunStore
from replay.store.stored import StoredScore


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoredScorer:
    """A scorer as the run keeps it."""

    label: str
    name: str
    settings: dict[str, Any]


def build_scorers(stored: Sequence[_StoredScorer], folder: Path) -> dict[str, Scorer[Any]]:
    """
    Build scorers by label.

    Raises:
        ScenarioError: one can't be found, or its settings don't fit; all faults at once.
    """
    builder = PartBuilder(folder)
    choices = [Choice(name=one.name, settings=one.settings, called=one.label) for one in stored]
    scorers: dict[str, Scorer[Any] | None] = builder.choices("scorers", choices, Scorer)  # type: ignore[type-abstract]
    if builder.faults:
        raise ScenarioError("scorers", builder.faults)
    return {label: scorer for label, scorer in scorers.items() if scorer}


def chosen_scorers(store: RunStore) -> list[Choice]:
    """The scorers that the run was scored with last; none if it wasn't scored yet."""
    stored = msgspec.convert(store.fact("scorers") or [], list[_StoredScorer])
    return [Choice(name=one.name, settings=one.settings, called=one.label) for one in stored]


def score_into(store: RunStore, choices: Sequence[Choice]) -> None:
    """
    Score every record in *store* with the scorers of *choices*; earlier scores give way.

    Whole conversations at a time, so that a million turns take no more memory than a few thousand. What
    keeps a scorer from observing the first of them leaves earlier scores as they were.

    Raises:
        PluginError, ScenarioError: a scorer can't be built, or does something wrong.
    """
    kept = [_StoredScorer(label=c.label, name=c.name, settings=c.settings) for c in choices]
    scorers = build_scorers(kept, Path(store.fact("scenario")["folder"]))
    scorers = surveyed(scorers, store.records)
    replaced = False
    for records in in_parts(store.records()):
        try:
            observed = {label: observe(label, scorer, records) for label, scorer in scorers.items()}
        except PluginError as error:
            again = f"what was answered is kept; once that is mended: replay score {store.folder}"
            raise PluginError(f"{error}\n{again}") from error
        for label, values in observed.items():
            keep = store.add_scores if replaced else store.replace_scores
            keep(label, [_stored(r, value) for r, value in zip(records, values, strict=True)])
        replaced = True
        store.settle()  # or scores would pile up where they are observed faster than written
    if not replaced:
        for label in scorers:
            store.replace_scores(label, [])
    store.set_fact("scorers", kept)
    store.add_event("scored", {label: scorer.signature for label, scorer in scorers.items()})


def _stored(record: TurnRecord, value: Any) -> StoredScore:
    unscored = value.reason if isinstance(value, Unscored) else None
    shown = None if unscored is not None else value
    return StoredScore(record.conversation, record.system, record.policy, record.depth, shown, unscored)


def stored_columns(
    store: RunStore, records: Sequence[TurnRecord], scorers: Mapping[str, Scorer[Any]]
) -> dict[str, ScoreColumn]:
    """What *scorers* observed in *records* of the run in *store*, by label."""
    places = {(r.conversation, r.system, r.policy, r.depth): place for place, r in enumerate(records)}
    return {
        label: stored_column(
            scorer,
            len(records),
            ((places[one[:4]], one.value, one.unscored) for one in store.scores(label) if one[:4] in places),
        )
        for label, scorer in scorers.items()
    }
