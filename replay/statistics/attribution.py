"""
What the gap between gold answers and a system's own is made of, as far as four cells can tell: drift, wrong
answers in the history, or mere wording.

Asking a question in better words helps under any history, so what a mended question gives back under the
own history is not all drift. Four cells on the same turns tell them apart: the history holds gold (G) or own
(O) answers, the question is asked as recorded (R) or mended (M).

    gap     = GR - OR                       what a test with gold answers hides
    drift   = (OM - OR) - (GM - GR)         what mending gives back beyond what it gives under gold
    history = GM - OM                       what is lost all the same: drift + history = gap
    wording = GM - GR                       the control: what the same words give where nothing can drift

No mend is perfect. Drift that it missed or spoiled is lost all the same, and so it is in ``history``, beside
what wrong answers cost whatever the words. So ``history`` is an **upper bound** of what wrong answers cost,
and ``drift`` a **lower bound** of what drift costs. They are as tight as the words are good, so they come
from people's: the standalone questions of ``replace: {always: true}`` and of its control ``gold: {question:
standalone}``. A program's words, as those of ``augment``, are no control: they cost something under gold
already, and where a question is spoiled no wrong answer can cost it anything any more. The parts of
another policy, as ``rewrite``, are what it gives back, and what people's words give back beyond that.

The bounds take for granted that better words change what a question means to the system and not how much
else in its history can mislead it. Where they do, the difference counts as drift.

Drift is a difference in differences, as in Angrist & Pischke, *Mostly Harmless Econometrics* (2009),
section 5.2. Differences are turned so that a loss is positive, also where less is better. All cells are
resampled by conversation together; p-values are sign-flip tests over conversations (of a score that is no
mean, read off the resampled differences), and ``correct_attribution`` adjusts them for all that a page
says.

A second look needs no mending policy: the turns of ``pred`` by the verdict on their question. Both parts
are shares of all turns, so that they add up to the gap. A drifted question is often also a hard one, so
this look proves no cause.

GR is ``gold``, OR ``pred``, OM ``rewrite`` or ``replace``. The bounds on drift and wrong answers are from
people's words alone: those of ``replace: {always: true}`` where a run has it (OP in the row of another
policy), else those of ``replace``. GM is put together turn by turn, which a gold history allows, since there
no turn depends on what was asked before: ``gold`` where that policy asked the recorded question, and
otherwise ``gold`` with ``question: standalone``, if it asked the very same words. A turn whose words nobody
asked there is left out and counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from replay.statistics.comparison import bootstrap_p, holm
from replay.statistics.estimate import resampling
from replay.statistics.group import Group
from replay.statistics.interval import scale_of
from replay.statistics.paired import Turn
from replay.statistics.resampling import PERMUTATIONS, sign_flip_means, sums_and_counts
from replay.statistics.score_column import ScoreColumn

LEVEL = 0.05
"""Below it an adjusted p-value counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributionPart:
    """A difference of means over the same turns; a loss is positive, save for what mending gives."""

    value: float
    low: float | None
    high: float | None
    """The 95 % interval; None where there is none."""
    p: float | None = None
    """Two-sided; None where it can't be tested, or is no claim."""
    adjusted_p: float | None = None
    """After ``correct_attribution``."""

    @property
    def is_certain(self) -> bool:
        """Return whether chance is ruled out, at ``LEVEL`` after correction."""
        return self.adjusted_p is not None and self.adjusted_p < LEVEL


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """One score of one system, on turns that are scored in all cells there are."""

    system: str
    score: str
    unit: str
    mended: str | None
    """The policy that asked mended questions after the own history; None where only the control did."""
    controls: tuple[str, ...]
    """
    The policies whose words the bounds are from: ``gold: {question: standalone}``, and before it
    ``replace: {always: true}`` where *mended* is another. Empty where there are no bounds.
    """
    drifted_only: bool
    """Over the turns whose question had drifted under ``pred``; otherwise over all."""
    turns: int
    conversations: int
    edited: int
    """Turns whose question was put differently."""
    left_out: int
    """Turns that lack nothing but a score of the controls."""
    means: Mapping[str, float]
    """
    The score in each cell there is: ``GR``, ``OR``, ``GM``, ``OM``, and ``OP`` for people's words after the
    own history where those of *mended* are others.
    """
    parts: Mapping[str, AttributionPart]
    """
    - ``gap``: GR - OR.
    - ``drift_at_least`` and ``wrong_answers_at_most``: the bounds, which add up to the gap. Drift that the
      words of the controls missed or spoiled is in the second.
    - ``wording``: GM - GR, with a control.
    - ``mending``: OM - OR, what *mended* gives back, drift and wording together; of a policy that is not
      itself where the bounds are from.
    - ``missed``: OP - OM, what people's words give back beyond that.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class GapByVerdict:
    """The gap of ``pred``, by whether a turn's question still meant the same."""

    system: str
    score: str
    unit: str
    turns: int
    drifted_turns: int
    parts: Mapping[str, AttributionPart]
    """``gap``, and ``on_drifted`` and ``on_valid`` questions, which add up to it."""


Row = Attribution | GapByVerdict
R = TypeVar("R", Attribution, GapByVerdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GapAttribution:
    """All that a run says of its gaps."""

    policies: Mapping[str, str]
    """What each policy is, by its label: its signature up to the first bar, as ``replace+always``."""
    rows: tuple[Attribution, ...] = ()
    by_verdict: tuple[GapByVerdict, ...] = ()

    @property
    def p_values(self) -> dict[tuple[str, str, str, int, float], float]:
        """
        The p-value of everything that is tested, by what it is.

        A difference that stands in several rows, as the gap over the same turns does, is one test.
        """
        both: tuple[Row, ...] = (*self.rows, *self.by_verdict)
        return {
            _key(row, name): part.p for row in both for name, part in row.parts.items() if part.p is not None
        }


def _key(row: Row, name: str) -> tuple[str, str, str, int, float]:
    # The same difference, summed up in another order, differs in its last digits.
    return row.system, row.score, name, row.turns, round(row.parts[name].value, 12)


def correct_attribution(found: GapAttribution) -> GapAttribution:
    """Return *found* with Holm's correction over all its tests."""
    p_values = found.p_values
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))

    def adjust_p(row: R) -> R:
        parts = row.parts.items()
        return replace(
            row, parts={n: replace(one, adjusted_p=adjusted.get(_key(row, n))) for n, one in parts}
        )

    return replace(
        found, rows=tuple(map(adjust_p, found.rows)), by_verdict=tuple(map(adjust_p, found.by_verdict))
    )


CONTROL = "gold+standalone"
"""Asks people's words after the gold history. No other policy's words are harmless enough for a control."""
BEST_MEND = "replace+always"
"""Asks them after the system's own history, always."""
MENDING = (BEST_MEND, "replace", "rewrite+always", "rewrite")
"""The policies that mend questions after the system's own history."""


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
        """
        Return rows for each system under ``gold`` and ``pred``.

        For each policy that mends questions; for the control alone where no other policy asks its words.
        """
        rows: list[Attribution] = []
        for system in dict.fromkeys(group.system for group in self.observed):
            gold, own, controls = (self._groups_of_kind(system, kind) for kind in ("gold", "pred", CONTROL))
            if not gold or not own:
                continue
            mends = {kind: self._groups_of_kind(system, kind) for kind in MENDING}
            best = next(iter(mends[BEST_MEND]), None)
            for kind, groups in mends.items():
                for mended in groups:
                    has_own_bounds = kind == BEST_MEND or (kind == "replace" and best is None)
                    standalone = mended if has_own_bounds else best
                    rows += self._rows(gold[0], own[0], mended, standalone, controls)
            if best is None and not mends["replace"]:
                for control in controls:
                    rows += self._rows(gold[0], own[0], None, None, [control])
        return rows

    def _groups_of_kind(self, system: str, kind: str) -> list[Group]:
        """Return the groups of *system* with a policy of this kind."""
        return [g for g in self.observed if g.system == system and self.policies.get(g.policy) == kind]

    def _rows(
        self,
        gold: Group,
        own: Group,
        mended: Group | None,
        standalone: Group | None,
        controls: Sequence[Group],
    ) -> list[Attribution]:
        """
        Return a row over all turns and, where that is not the same, one over the drifted ones.

        *standalone* asked people's words after the own history: *mended* itself, or a policy beside it.
        """
        shown = [group for group in (gold, own, mended, standalone) if group is not None]
        turns = set.intersection(*(set(self.observed[group]) for group in shown))
        # No bounds without words of people's that were asked under gold.
        words = self.asked.get(standalone or controls[0], {}) if standalone or not mended else {}
        under_gold = self._under_gold(gold, controls, turns, words)
        if not any(turn in under_gold for turn in turns if turn in words):
            controls, standalone = (), None
        cells = {"GR": self.observed[gold], "OR": self.observed[own]}
        if controls:
            cells["GM"] = under_gold
        if mended is not None:
            cells["OM"] = self.observed[mended]
        if standalone not in (None, mended):
            cells["OP"] = self.observed[standalone]
        if len(cells) < 3:
            return []
        edited = self.asked.get(mended or controls[0], {})
        beside = () if standalone in (None, mended) else (standalone,)
        rows = []
        for drifted_only in (False, True):
            chosen = turns & self.drifted.get(gold.system, set()) if drifted_only else turns
            kept = sorted(turn for turn in chosen if turn in under_gold or not controls)
            if not kept or (drifted_only and len(chosen) == len(turns)):
                continue
            means, parts, conversations = self._parts(kept, cells, _contrasts(cells))
            rows.append(
                Attribution(
                    system=gold.system,
                    score=self.score,
                    unit=self.column.unit,
                    mended=None if mended is None else mended.policy,
                    controls=tuple(group.policy for group in (*beside, *controls)),
                    drifted_only=drifted_only,
                    turns=len(kept),
                    conversations=conversations,
                    edited=sum(turn in edited for turn in kept),
                    left_out=len(chosen) - len(kept),
                    means=means,
                    parts=parts,
                )
            )
        return rows

    def _under_gold(
        self, gold: Group, controls: Sequence[Group], turns: Iterable[Turn], words: Mapping[Turn, str]
    ) -> dict[Turn, Any]:
        """
        Return what was observed under gold where the same words were asked, by turn.

        A turn that *words* lacks has *gold*'s observation; another that of the first control that asked the
        same.
        """
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
            sides = [self._groups_of_kind(system, kind) for kind in ("gold", "pred")]
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
    ) -> tuple[dict[str, float], dict[str, AttributionPart], int]:
        """Return the mean of each cell, the parts, and over how many recorded conversations."""
        names = [self.sources.get(conversation, conversation) for conversation, _ in turns]
        drawn = resampling(names * len(cells), resamples=self.resamples, seed=self.seed)
        conversations = drawn.weights.clusters
        column = replace(self.column, observed=[cell[turn] for cell in cells.values() for turn in turns])
        positions = [range(n * len(turns), (n + 1) * len(turns)) for n in range(len(cells))]
        resampled, _ = drawn.samples(column, positions)
        means = [column.value(cell) for cell in positions]
        values = np.array([np.nan if mean is None else mean for mean in means])
        turned = np.array(list(contrasts.values()), dtype=float).T * (-1 if column.lower_is_better else 1)
        samples = resampled @ turned
        if column.is_mean:
            sums, _ = sums_and_counts(column, positions, drawn.clusters, conversations)
            tests = sign_flip_means(sums @ turned, permutations=PERMUTATIONS, seed=self.seed)
            p_values: list[float | None] = [test.p for test in tests]
        else:
            p_values = [bootstrap_p(samples[:, n]) for n in range(len(contrasts))]
        parts = {}
        for n, (name, value) in enumerate(zip(contrasts, values @ turned, strict=True)):
            scale = scale_of(column.unit, difference=True)
            if name == "drift_at_least":  # of differences: it can be 2 of a share
                scale = "difference"
            ends = drawn.ends(
                (samples, None), n, conversations=conversations, estimate=float(value), scale=scale
            )
            testable = conversations > 1 and name not in ("wording", "on_valid")
            parts[name] = AttributionPart(
                value=float(value), low=ends["low"], high=ends["high"], p=p_values[n] if testable else None
            )
        return dict(zip(cells, values.tolist(), strict=True)), parts, conversations


def _contrasts(cells: Collection[str]) -> dict[str, list[int]]:
    """Return the weight of each of *cells* in each part that they allow."""
    people = "OP" if "OP" in cells else "OM"
    parts = {
        "gap": {"GR": 1, "OR": -1},
        "drift_at_least": {"GR": 1, "OR": -1, "GM": -1, people: 1},
        "wrong_answers_at_most": {"GM": 1, people: -1},
        "wording": {"GM": 1, "GR": -1},
        "mending": {"OM": 1, "OR": -1},
        "missed": {"OP": 1, "OM": -1},
    }
    if "GM" in cells and "OP" not in cells:
        del parts["mending"]  # the bounds say more of the same words
    return {
        name: [weights.get(cell, 0) for cell in cells]
        for name, weights in parts.items()
        if weights.keys() <= set(cells)
    }
