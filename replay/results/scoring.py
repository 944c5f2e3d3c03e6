"""Scores a run's records and keeps what was observed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import msgspec

from replay.core.decoding import convert_to
from replay.core.errors import CodeNotRunError, PluginError, RunError, RunStoppedError, ScenarioError
from replay.core.record import TurnRecord
from replay.core.safety.provenance import FACTS, created_by_this_user, remember
from replay.core.settings.choice import Choice
from replay.results.stored_scorers import SCORERS, ScorerEntry, ScorerKeeper
from replay.scenario.cluster_section import ClusterSection
from replay.scenario.part_builder import PartBuilder
from replay.scorers.observing import observe
from replay.scorers.scorer import Scorer, Unscored, is_neural
from replay.statistics.score_column import ScoreColumn, in_parts, stored_column, survey_scorers
from replay.store.store import RunStore
from replay.store.stored import StoredScore


def build_scorers(choices: Sequence[Choice], folder: Path) -> dict[str, Scorer[Any]]:
    """
    Build scorers by label.

    Raises:
        ScenarioError: one can't be found, or its settings don't fit; all faults at once.
        CodeNotRunError: one is code, which may not run here.
    """
    builder = PartBuilder(folder)
    scorers: dict[str, Scorer[Any] | None] = builder.choices("scorers", choices, Scorer)  # type: ignore[type-abstract]
    if builder.faults:
        raise ScenarioError("scorers", builder.faults)
    for _, target in builder.unread:
        raise CodeNotRunError(target)
    return {label: scorer for label, scorer in scorers.items() if scorer}


def chosen_scorers(store: RunStore) -> list[Choice]:
    """
    The scorers that the run was scored with last; none if it wasn't scored yet.

    Raises:
        RunError: what the run says of them can't be read.
    """
    try:
        stored = convert_to(store.fact(SCORERS) or [], list[ScorerEntry])
    except msgspec.ValidationError as error:
        raise RunError(
            f'what "{store.path}" says of its scorers can\'t be read: {error}; name them anew with '
            f"`replay score {store.folder} --scorer ...`"
        ) from error
    return [Choice(name=one.name, settings=one.settings, called=one.label) for one in stored]


def score_into(
    store: RunStore,
    choices: Sequence[Choice],
    stop: Event | None = None,
    *,
    built: Mapping[str, Scorer[Any]] | None = None,
    cluster: ClusterSection | None = None,
) -> None:
    """
    Score every record in *store* with the scorers of *choices*; earlier scores give way once all are there.

    Whole conversations at a time, so that a million turns take no more memory than a few thousand. What
    keeps a scorer from observing any of them, or ends the program meanwhile, leaves earlier scores as they
    were, and so does *stop* once it is set. Scorers that have a model observe on the nodes of *cluster*,
    where there is one. *built* are the scorers of *choices*, where they are there already.

    Raises:
        InputError: the cluster can't be reached.
        PluginError, ScenarioError: a scorer can't be built, or does something wrong.
        RunStoppedError: the cluster has no room, or was lost.
    """
    folder = Path(store.needed("scenario")["folder"])
    scorers = survey_scorers(built or build_scorers(choices, folder), store.records)
    keepers = {choice.label: ScorerKeeper(choice, scorers[choice.label]) for choice in choices}
    own = created_by_this_user(store.fact)
    there = {label: one for label, one in scorers.items() if cluster and is_neural(one)}
    here = {label: one for label, one in scorers.items() if label not in there}
    kept = None

    def keep(records: Sequence[TurnRecord], observed: Mapping[str, Sequence[Any]]) -> None:
        for label, values in observed.items():
            keepers[label].add(records, values)
            scores = [stored_score(r, value) for r, value in zip(records, values, strict=True)]
            store.add_scores(label, scores, anew=True)
        store.settle()  # or scores would pile up where they are observed faster than written

    store.begin_staging()
    if here:
        for records in in_parts(store.records()):
            if stop and stop.is_set():
                return
            with _answers_kept(store):
                observed = {label: observe(label, scorer, records) for label, scorer in here.items()}
            keep(records, observed)
    if cluster and there:
        from replay.results.remote_scoring import RemoteScoring

        kept = RemoteScoring(store, [one for one in choices if one.label in there], there, folder)
        with _answers_kept(store):
            for records, found in kept.observed(cluster, stop):
                keep(records, found)
        if stop and stop.is_set():
            return
    with _answers_kept(store):
        facts: dict[str, Any] = {
            SCORERS: [msgspec.to_builtins(keeper.entry()) for keeper in keepers.values()]
        }
    if own:
        remember({name: store.fact(name) for name in FACTS} | facts)
    signatures = {label: scorer.signature for label, scorer in scorers.items()}
    store.publish_staged(scorers, facts=facts, event=("scored", signatures))
    if kept:
        store.settle()
        kept.forget()


@contextmanager
def _answers_kept(store: RunStore) -> Iterator[None]:
    """
    Raises:
        PluginError, RunStoppedError: as the block did, with how to go on.
    """
    try:
        yield
    except (PluginError, RunStoppedError) as error:
        again = f"what was answered is kept; once that is mended: replay score {store.folder}"
        raise type(error)(f"{error}\n{again}") from error


def stored_score(record: TurnRecord, value: Any) -> StoredScore:
    """*value*, observed in *record*, as a run keeps it."""
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
