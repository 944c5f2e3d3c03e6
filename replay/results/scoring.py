"""
Scores a run's records and keeps what was observed.

What a run keeps of its scorers, so that its numbers are shown without running what it names.

An installed scorer that is no mean is built anew, from its entry point. All others are what was kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Annotated, Any, Literal

import msgspec

from replay.core.decoding import convert_to
from replay.core.errors import CodeNotRunError, PluginError, RunError, RunStoppedError, ScenarioError
from replay.core.record import TurnRecord
from replay.core.safety.consent import FACTS, created_by_this_user, remember
from replay.core.settings.choice import Choice
from replay.core.settings.plugins import available, make
from replay.scenario.part_builder import PartBuilder
from replay.scenario.sections import ClusterSection
from replay.scorers.observing import combine, observe
from replay.scorers.scorer import MeanScorer, Scorer, Unscored, is_neural, lower_is_better, unit_of
from replay.scorers.stored_scorer import Combined, StoredScorer, digest, how_combined
from replay.statistics.score_column import ScoreColumn, in_parts, stored_column, survey_scorers
from replay.store import schema
from replay.store.rows import StoredScore
from replay.store.store import RunStore

SCORERS = "scorers"
"""The fact of a run that holds a ``ScorerEntry`` for each of its scorers."""

_Text = Annotated[str, msgspec.Meta(max_length=10_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerEntry:
    """A scorer as the run keeps it."""

    label: _Text
    name: _Text
    settings: dict[str, Any]
    signature: _Text
    unit: _Text
    lower_is_better: bool
    combined: Combined | Literal["installed"]
    """How its observations become numbers: as ``StoredScorer``, or by what is installed under its name."""
    values: dict[str, float | None] = field(default_factory=dict)
    """As ``StoredScorer.values``."""


class ScorerKeeper:
    """Makes the entry of one scorer while it observes a run part by part."""

    def __init__(self, choice: Choice, scorer: Scorer[Any]) -> None:
        self._choice = choice
        self._scorer = scorer
        self._cells: dict[tuple[str, str, int | None], list[Any]] = {}

    def add(self, records: Sequence[TurnRecord], observed: Sequence[Any]) -> None:
        """Take note of what was *observed* of *records*, if nobody else will know what to make of it."""
        if ":" not in self._choice.name:
            return
        for record, value in zip(records, observed, strict=True):
            if not isinstance(value, Unscored):
                stored = schema.from_json(schema.to_json(value), object)  # as it will be read
                for depth in (record.depth, None):
                    self._cells.setdefault((record.system, record.policy, depth), []).append(stored)

    def entry(self) -> ScorerEntry:
        """
        Return the scorer's entry for the run's database.

        Raises:
            PluginError: the scorer fails to combine what it observed.
        """
        scorer, cells = self._scorer, list(self._cells.values())
        combined: Combined | Literal["installed"]
        if ":" in self._choice.name:
            combined = how_combined(scorer, cells)
        else:
            combined = "mean" if isinstance(scorer, MeanScorer) and scorer.is_mean else "installed"
        made = {digest(cell): combine(scorer, cell) for cell in cells} if combined == "kept" else {}
        return ScorerEntry(
            label=self._choice.label,
            name=self._choice.name,
            settings=self._choice.settings,
            signature=scorer.signature,
            unit=unit_of(scorer),
            lower_is_better=lower_is_better(scorer),
            combined=combined,
            values={key: None if math.isnan(value) else value for key, value in made.items()},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredScorers:
    """The scorers of a run, for whoever looks at it."""

    by_label: dict[str, Scorer[Any]]
    remarks: tuple[str, ...]
    """What is to be said of scores that are shown in part, or not at all."""


def stored_scorers(store: RunStore) -> StoredScorers:
    """Return the scorers that the run in *store* has scores of, and remarks on scores that aren't shown."""
    entries = store.fact(SCORERS) or []
    by_label: dict[str, Scorer[Any]] = {}
    remarks = []
    for number, raw in enumerate(entries if isinstance(entries, list) else [entries], 1):
        try:
            entry = convert_to(raw, ScorerEntry)
            by_label[entry.label] = _scorer(entry, store.folder)
        except (msgspec.ValidationError, PluginError, ScenarioError) as error:
            label = raw.get("label") if isinstance(raw, dict) else None
            shown = f'"{label:.100}"' if isinstance(label, str) else f"scorer {number}"
            why = str(error) if isinstance(error, PluginError) else f"what the run keeps of it: {error}"
            remarks.append(f"The scores of {shown} are not shown: {why:.1000}")
            continue
        if entry.combined == "kept":
            remarks.append(
                f'The scores of "{entry.label}" are those it made when the run was scored, of each system, '
                "policy and depth, without intervals and comparisons: they are neither a mean nor a ratio of "
                "sums, and looking at a run runs no code that it names. Installed under an entry point, the "
                "scorer has them all; see docs/plugins.md."
            )
    return StoredScorers(by_label=by_label, remarks=tuple(remarks))


def _scorer(entry: ScorerEntry, folder: Path) -> Scorer[Any]:
    """
    Raises:
        PluginError: no such scorer is installed, or it can't be made.
        ScenarioError: it doesn't take the settings.
    """
    if entry.combined != "installed":
        return StoredScorer(
            signature=entry.signature,
            unit=entry.unit,
            lower_is_better=entry.lower_is_better,
            combined=entry.combined,
            values=entry.values,
        )
    if entry.name not in available("scorers"):
        raise PluginError(f'no scorer "{entry.name}" is installed here')
    return make("scorers", entry.name, entry.settings, Scorer, folder=folder, key_path="settings")  # type: ignore[type-abstract]


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
    Return the scorers that the run was scored with last; empty if it wasn't scored yet.

    Raises:
        RunError: what is stored of them can't be read.
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
    folder = Path(store.required_fact("scenario")["folder"])
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
            for records, found in kept.observe_parts(cluster, stop):
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
    """Return *value*, observed in *record*, in the form that is stored."""
    unscored = value.reason if isinstance(value, Unscored) else None
    shown = None if unscored is not None else value
    return StoredScore(record.conversation, record.system, record.policy, record.depth, shown, unscored)


def stored_columns(
    store: RunStore, records: Sequence[TurnRecord], scorers: Mapping[str, Scorer[Any]]
) -> dict[str, ScoreColumn]:
    """
    Return the stored scores of *records*, a column per scorer, by its label.

    Args:
        store: The run's database.
        records: Turn records of that run, in the order that the columns are to have.
        scorers: The scorers by label.
    """
    places = {(r.conversation, r.system, r.policy, r.depth): place for place, r in enumerate(records)}
    return {
        label: stored_column(
            scorer,
            len(records),
            ((places[one[:4]], one.value, one.unscored) for one in store.scores(label) if one[:4] in places),
        )
        for label, scorer in scorers.items()
    }
