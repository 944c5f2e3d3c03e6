"""
What a run keeps of its scorers, so that its numbers are shown without running what it names.

An installed scorer that is no mean is built anew, from its entry point. All others are what was kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from replay.core.decoding import convert_to
from replay.core.errors import PluginError, ScenarioError
from replay.core.record import TurnRecord
from replay.core.settings.choice import Choice
from replay.core.settings.plugins import available, make
from replay.scorers.observing import combine
from replay.scorers.scorer import MeanScorer, Scorer, Unscored, lower_is_better, unit_of
from replay.scorers.stored_scorer import Combined, StoredScorer, digest, how_combined
from replay.store import schema
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
        What the run is to keep.

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
    """Of the run in *store*; none before it is scored."""
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
