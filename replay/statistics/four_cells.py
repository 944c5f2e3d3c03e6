"""
Fills the cells of ``replay.statistics.attribution`` from what a run's policies observed.

GR is ``gold``, OR ``pred``, OM ``rewrite`` or ``replace``. GM is put together turn by turn, which a gold
history allows, since there no turn depends on what was asked before: ``gold`` where OM asked the recorded
question, and otherwise the policy that asked OM's very words after the gold history, ``gold`` with
``question: standalone`` or ``augment``. A turn whose words nobody asked there is left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from replay.statistics.attribution import Attribution, GapByVerdict, Part
from replay.statistics.bootstrap import WeightBlocks
from replay.statistics.comparison import bootstrap_p
from replay.statistics.estimate import Resampling
from replay.statistics.group import Group
from replay.statistics.jackknife import sums_and_counts
from replay.statistics.score_column import ScoreColumn
from replay.statistics.sign_flip import PERMUTATIONS, sign_flip_means
from replay.statistics.t_interval import Scale, scale_of
from replay.statistics.turn_means import Turn

CONTROLS = {"replace": "gold+standalone", "rewrite": "augment"}
"""Of each policy that mends questions, the one that asks the same words after the gold history."""

# The weights of GR, OR, GM and OM in each part.
_FOUR = {
    "gap": (1, -1, 0, 0),
    "drift": (1, -1, -1, 1),
    "history": (0, 0, 1, -1),
    "wording": (-1, 0, 1, 0),
}
# Without GM: what mending gives back, drift and wording together. Without OM: the control alone.
_UNCONTROLLED = {"gap": (1, -1, 0), "mending": (0, -1, 1)}
_CONTROL_ALONE = {"gap": (1, -1, 0), "wording": (-1, 0, 1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """One score of a run, under every policy."""

    score: str
    column: ScoreColumn
    """Has the scorer; its observations are *observed*."""
    observed: Mapping[Group, Mapping[Turn, Any]]
    """Of scored turns."""
    asked: Mapping[Group, Mapping[Turn, str]]
    """The question of turns that were not asked as recorded."""
    policies: Mapping[str, str]
    """What each policy is, by its label: its signature up to the first bar."""
    drifted: Mapping[str, set[Turn]]
    """For each system, the turns whose question had drifted under ``pred``."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """The recorded conversation of plays that have an id of their own: those are drawn together."""
    seed: int
    resamples: int = 1000

    def attributions(self) -> list[Attribution]:
        """For each system under ``gold`` and ``pred``: a row for each mending policy, or control, or both."""
        found = []
        for system in dict.fromkeys(group.system for group in self.observed):
            gold, own = (self._called(system, kind) for kind in ("gold", "pred"))
            if not gold or not own:
                continue
            free = {kind: self._called(system, kind) for kind in CONTROLS.values()}
            for mending, control_kind in CONTROLS.items():
                controls = self._called(system, control_kind)
                for mended in self._called(system, mending) + self._called(system, f"{mending}+always"):
                    free[control_kind] = []
                    found += self._rows(gold[0], own[0], mended, controls)
            for control in (group for groups in free.values() for group in groups):
                found += self._rows(gold[0], own[0], None, [control])
        return found

    def _called(self, system: str, kind: str) -> list[Group]:
        """The groups of *system* whose policy is of this kind."""
        return [g for g in self.observed if g.system == system and self.policies.get(g.policy) == kind]

    def _rows(
        self, gold: Group, own: Group, mended: Group | None, controls: Sequence[Group]
    ) -> list[Attribution]:
        """Over all turns and, where that is not the same, over the drifted ones."""
        turns = set(self.observed[gold]) & set(self.observed[own])
        if mended is not None:
            turns &= set(self.observed[mended])
        words = self.asked.get(mended or controls[0], {})
        under_gold = self._under_gold(gold, controls, turns, words)
        if not any(turn in under_gold for turn in turns if turn in words):
            controls = ()  # none of the words was asked under gold: that says nothing about wording
        found = []
        for drifted_only in (False, True):
            chosen = turns & self.drifted.get(gold.system, set()) if drifted_only else turns
            kept = sorted(turn for turn in chosen if turn in under_gold or not controls)
            if not kept or (drifted_only and len(chosen) == len(turns)):
                continue
            cells = {"GR": self.observed[gold], "OR": self.observed[own]}
            if controls:
                cells["GM"] = under_gold
            if mended is not None:
                cells["OM"] = self.observed[mended]
            contrasts = _FOUR if len(cells) == 4 else _CONTROL_ALONE if controls else _UNCONTROLLED
            if len(cells) < 3:
                continue
            means, parts, conversations = self._parts(kept, cells, contrasts)
            found.append(
                Attribution(
                    system=gold.system,
                    score=self.score,
                    unit=self.column.unit,
                    mended=None if mended is None else mended.policy,
                    controls=tuple(control.policy for control in controls),
                    drifted_only=drifted_only,
                    turns=len(kept),
                    conversations=conversations,
                    edited=sum(turn in words for turn in kept),
                    left_out=len(chosen) - len(kept),
                    means=means,
                    parts=parts,
                )
            )
        return found

    def _under_gold(
        self, gold: Group, controls: Sequence[Group], turns: Iterable[Turn], words: Mapping[Turn, str]
    ) -> dict[Turn, Any]:
        """What was observed under gold where the same words were asked."""
        found = {}
        for turn in turns:
            if turn not in words:
                found[turn] = self.observed[gold][turn]
                continue
            for control in controls:
                if self.asked.get(control, {}).get(turn) == words[turn] and turn in self.observed[control]:
                    found[turn] = self.observed[control][turn]
                    break
        return found

    def by_verdict(self) -> list[GapByVerdict]:
        """
        For each system in *drifted*, under ``gold`` and ``pred``.

        Empty for a score that is no mean, since its parts wouldn't add up.
        """
        found = []
        for system, bad in self.drifted.items() if self.column.is_mean else ():
            sides = [self._called(system, kind) for kind in ("gold", "pred")]
            gold, own = (self.observed[groups[0]] if groups else {} for groups in sides)
            turns = sorted(set(gold) & set(own))
            if not turns:
                continue
            differences = {turn: float(gold[turn]) - float(own[turn]) for turn in turns}
            cells = {
                "drifted": {turn: difference * (turn in bad) for turn, difference in differences.items()},
                "valid": {turn: difference * (turn not in bad) for turn, difference in differences.items()},
            }
            contrasts = {"gap": (1, 1), "on_drifted": (1, 0), "on_valid": (0, 1)}
            _, parts, _ = self._parts(turns, cells, contrasts)
            found.append(
                GapByVerdict(
                    system=system,
                    score=self.score,
                    unit=self.column.unit,
                    turns=len(turns),
                    drifted_turns=sum(turn in bad for turn in turns),
                    parts=parts,
                )
            )
        return found

    def _parts(
        self,
        turns: Sequence[Turn],
        cells: Mapping[str, Mapping[Turn, Any]],
        contrasts: Mapping[str, Sequence[int]],
    ) -> tuple[dict[str, float], dict[str, Part], int]:
        """The mean of each cell, the parts, and over how many recorded conversations."""
        names = [self.sources.get(conversation, conversation) for conversation, _ in turns]
        places = {name: position for position, name in enumerate(sorted(set(names)))}
        clusters = [places[name] for name in names] * len(cells)
        column = replace(self.column, observed=[cell[turn] for cell in cells.values() for turn in turns])
        positions = [range(n * len(turns), (n + 1) * len(turns)) for n in range(len(cells))]
        weights = WeightBlocks(len(places), resamples=self.resamples, seed=self.seed)
        drawn = Resampling(clusters=clusters, weights=weights)
        resampled, _ = drawn.samples(column, positions)
        means = [column.value(cell) for cell in positions]
        values = np.array([np.nan if mean is None else mean for mean in means])
        turned = np.array(list(contrasts.values()), dtype=float).T * (-1 if column.lower_is_better else 1)
        samples = resampled @ turned
        if column.is_mean:
            sums, _ = sums_and_counts(column, positions, clusters, len(places))
            tests = sign_flip_means(sums @ turned, permutations=PERMUTATIONS, seed=self.seed)
            p_values: list[float | None] = [test.p for test in tests]
        else:
            p_values = [bootstrap_p(samples[:, n]) for n in range(len(contrasts))]
        parts = {}
        for n, (name, value) in enumerate(zip(contrasts, values @ turned, strict=True)):
            # Drift, a difference of differences, can be 2 of a share.
            scale: Scale = "difference" if name == "drift" else scale_of(column.unit, difference=True)
            ends = drawn.ends(
                (samples, None), n, conversations=len(places), estimate=float(value), scale=scale
            )
            testable = len(places) > 1 and name not in ("wording", "on_valid")
            parts[name] = Part(
                value=float(value), low=ends["low"], high=ends["high"], p=p_values[n] if testable else None
            )
        return dict(zip(cells, values.tolist(), strict=True)), parts, len(places)
