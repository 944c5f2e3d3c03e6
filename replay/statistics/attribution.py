"""
What the gap between gold answers and a system's own is made of, as far as four cells can tell: drift, wrong
answers in the history, or mere wording.

Asking a question in better words helps under any history, so what a mended question gives back under the
own history is not all drift. Four cells on the same turns tell them apart: the history holds gold (G) or
own (O) answers, the question is asked as recorded (R) or mended (M).

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

``replay.statistics.four_cells`` fills the cells. Drift is a difference in differences, as in Angrist &
Pischke, *Mostly Harmless Econometrics* (2009), section 5.2.

Differences are turned so that a loss is positive, also where less is better. All cells are resampled by
conversation together; p-values are sign-flip tests over conversations (of a score that is no mean, read
off the resampled differences), and ``correct_attribution`` adjusts them for all that a page says.

A second look needs no mending policy: the turns of ``pred`` by the verdict on their question. Both parts
are shares of all turns, so that they add up to the gap. A drifted question is often also a hard one, so
this look proves no cause.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from replay.statistics.comparison import holm

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


@dataclass(frozen=True, slots=True, kw_only=True)
class GapAttribution:
    """All that a run says of its gaps."""

    policies: Mapping[str, str]
    """What each policy is, by its label: its signature up to the first bar, as ``replace+always``."""
    rows: tuple[Attribution, ...] = ()
    by_verdict: tuple[GapByVerdict, ...] = ()

    @property
    def tested(self) -> dict[tuple[str, str, str, int, float], float]:
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
    tested = found.tested
    adjusted = dict(zip(tested, holm(list(tested.values())), strict=True))

    def judged(row: Row) -> dict[str, AttributionPart]:
        return {
            name: replace(part, adjusted_p=adjusted.get(_key(row, name))) for name, part in row.parts.items()
        }

    return replace(
        found,
        rows=tuple(replace(row, parts=judged(row)) for row in found.rows),
        by_verdict=tuple(replace(row, parts=judged(row)) for row in found.by_verdict),
    )
