"""
How far a detector's verdicts are those of people: right and wrong, at each turn depth, and its probabilities.

The detector says of a case (a turn, say) that there is something, as drift, or not; what people say, their
majority for instance, is taken for the truth. A case without a verdict of people is counted and left out.

Where some cases were more likely to be drawn than others, each stands for as many as its *weight* says, the
inverse of the chance that it was drawn (Horvitz & Thompson, *A generalization of sampling without replacement
from a finite universe*, JASA 47, 1952): shares are then those of all cases and not of the drawn ones. Counts
remain those of the cases that were judged.

Probabilities are looked at twice. The Brier score is their mean squared difference from the truth (Brier,
*Verification of forecasts expressed in terms of probability*, Monthly Weather Review 78, 1950). The table of
bins holds, of cases with similar probabilities, their mean against the share in which people agree, and the
expected calibration error is the mean distance of the two, bins weighing as they have cases (Naeini, Cooper &
Hauskrecht, *Obtaining well calibrated probabilities using Bayesian binning*, AAAI 2015). That error has no
interval: distances are never negative, so that resampled ones are too large, more so the fewer cases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Unpack

import numpy as np

from replay.statistics.estimate import (
    NumberWithInterval,
    Resampling,
    Sampling,
    by_depth,
    no_number,
    number,
    resample,
    resampling,
)
from replay.statistics.interval import UndefinedNumber, value_or_none

Binning = Literal["equal-width", "equal-count"]

NO_VERDICTS = UndefinedNumber(reason="no case with a verdict of both")
NONE_DETECTED = UndefinedNumber(reason="the detector finds none")
NONE_FOUND = UndefinedNumber(reason="people find none")
NEITHER_FINDS = UndefinedNumber(reason="neither the detector nor people find any")
NO_PROBABILITY = UndefinedNumber(reason="no case with a probability and a verdict of people")
NO_REWRITE = UndefinedNumber(reason="people judged no rewrite")


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorCase:
    """What the detector and what people say of one case."""

    conversation: str
    truth: bool | None
    """Whether there is something, as people say; None where they have no verdict, as after a tie."""
    detected: bool | None = None
    """Whether the detector says so; None where it goes by *probability*, or says nothing."""
    probability: float | None = None
    """The detector's, that there is something."""
    rewrite_right: bool | None = None
    """Whether people find its rewrite right; None where there is none, or nobody judged it."""
    depth: int | None = None
    weight: float = 1.0
    """How many cases it stands for; above 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorRow:
    """All about one depth, or over all."""

    depth: int | None
    """None for all cases together."""
    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int
    undecided: int
    """Cases without a verdict of people."""
    undetected: int
    """Cases with a verdict of people and none of the detector."""
    precision: NumberWithInterval
    """Of what the detector finds, the share that is there; all five shares are in [0, 1]."""
    recall: NumberWithInterval
    """Of what is there, the share that the detector finds."""
    f1: NumberWithInterval
    accuracy: NumberWithInterval
    brier: NumberWithInterval
    """In [0, 1], less is better; always saying 1/2 has 1/4."""
    rewrites_right: NumberWithInterval

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON; of all cases together, depth is null."""
        return {
            name: value.to_json() if isinstance(value := getattr(self, name), NumberWithInterval) else value
            for name in self.__dataclass_fields__
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationBin:
    """Cases of similar probability."""

    lowest: float
    """The lowest and the highest probability among them."""
    highest: float
    mean_probability: float
    observed: NumberWithInterval
    """The share of them in which people say that there is something."""
    weight: float
    """How many cases they stand for."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "lowest": self.lowest,
            "highest": self.highest,
            "mean_probability": self.mean_probability,
            "observed": self.observed.to_json(),
            "weight": self.weight,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorQuality:
    """How far a detector can be trusted."""

    depths: tuple[DetectorRow, ...]
    """The depths that cases have, depth 1 first."""
    total: DetectorRow
    calibration: tuple[CalibrationBin, ...]
    """Those that have a case, the lowest probabilities first."""
    calibration_error: float | UndefinedNumber
    """Expected, in [0, 1]."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON; the row of all cases has depth null."""
        return {
            "rows": [row.to_json() for row in (*self.depths, self.total)],
            "calibration": [one.to_json() for one in self.calibration],
            "calibration_error": value_or_none(self.calibration_error),
        }


def detector_quality_of(
    cases: Sequence[DetectorCase],
    *,
    threshold: float = 0.5,
    bins: int = 10,
    binning: Binning = "equal-width",
    **sampling: Unpack[Sampling],
) -> DetectorQuality:
    """
    Hold a detector's verdicts against people's, with intervals over conversations; in any order the same.

    Where a case has a probability and no verdict of the detector, that is whether it reaches *threshold*.
    Bins are *bins* equal parts of [0, 1], or have about equally many cases; equal probabilities share one.

    Raises:
        ValueError: a probability is not in [0, 1], a weight not above 0, or *bins* is not positive.
    """
    if bins < 1:
        raise ValueError(f"bins: {bins} is not a positive whole number")
    for case in cases:
        if case.probability is not None and not 0 <= case.probability <= 1:
            raise ValueError(
                f'turn {case.depth} of conversation "{case.conversation}": '
                f"probability {case.probability} is not between 0 and 1"
            )
        if not 0 < case.weight < float("inf"):
            raise ValueError(
                f'turn {case.depth} of conversation "{case.conversation}": '
                f"weight {case.weight} is not a number above 0"
            )
    drawn = resampling(
        [case.conversation for case in cases],
        **sampling,
    )
    *depths, total = (
        _row(cases, depth, cell, drawn, threshold)
        for depth, cell in by_depth([case.depth for case in cases]).items()
    )
    calibration = _calibration(cases, drawn, bins, binning)
    gaps = [
        abs(one.mean_probability - found) * one.weight
        for one in calibration
        if (found := value_or_none(one.observed.value)) is not None
    ]
    weighed = sum(one.weight for one in calibration)
    return DetectorQuality(
        depths=tuple(depths),
        total=total,
        calibration=tuple(calibration),
        calibration_error=sum(gaps) / weighed if weighed else NO_PROBABILITY,
    )


def _row(
    cases: Sequence[DetectorCase],
    depth: int | None,
    cell: Sequence[int],
    drawn: Resampling,
    threshold: float,
) -> DetectorRow:
    decided = [place for place in cell if cases[place].truth is not None]
    says = {place: _is_detected(cases[place], threshold) for place in decided}
    both = [place for place in decided if says[place] is not None]
    hits = {place: bool(cases[place].truth and says[place]) for place in both}
    finds, there = [p for p in both if says[p]], [p for p in both if cases[p].truth]
    right = {place: cases[place].truth == says[place] for place in both}
    either = [place for place in both if hits[place] or not right[place]]

    rewritten = [place for place in cell if cases[place].rewrite_right is not None]
    forecasts = _forecasts(cases, cell)

    def mean(values: Mapping[int, float], of: Sequence[int], why: UndefinedNumber) -> NumberWithInterval:
        return _ratio([(values[place], 1) for place in of], _weights(cases, of), of, drawn, why)

    return DetectorRow(
        depth=depth,
        true_positives=sum(hits.values()),
        false_positives=len(finds) - sum(hits.values()),
        false_negatives=len(there) - sum(hits.values()),
        true_negatives=len(both) - len(either),
        undecided=len(cell) - len(decided),
        undetected=len(decided) - len(both),
        precision=mean(hits, finds, NONE_DETECTED if both else NO_VERDICTS),
        recall=mean(hits, there, NONE_FOUND if both else NO_VERDICTS),
        # What both find counts twice, what one of them finds once.
        f1=_ratio(
            [(2 * hits[place], 1 + hits[place]) for place in either],
            _weights(cases, either),
            either,
            drawn,
            NEITHER_FINDS if both else NO_VERDICTS,
        ),
        accuracy=mean(right, both, NO_VERDICTS),
        brier=mean(
            {place: (probability - truth) ** 2 for place, (probability, truth) in forecasts.items()},
            list(forecasts),
            NO_PROBABILITY,
        ),
        rewrites_right=mean(
            {place: bool(cases[place].rewrite_right) for place in rewritten}, rewritten, NO_REWRITE
        ),
    )


def _weights(cases: Sequence[DetectorCase], cell: Sequence[int]) -> list[float]:
    return [cases[place].weight for place in cell]


def _is_detected(case: DetectorCase, threshold: float) -> bool | None:
    if case.detected is None and case.probability is not None:
        return case.probability >= threshold
    return case.detected


def _forecasts(cases: Sequence[DetectorCase], cell: Sequence[int]) -> dict[int, tuple[float, bool]]:
    """Probability and truth of those cases that have both, by position."""
    return {
        place: (case.probability, case.truth)
        for place in cell
        if (case := cases[place]).probability is not None and case.truth is not None
    }


def _calibration(
    cases: Sequence[DetectorCase], drawn: Resampling, bins: int, binning: Binning
) -> list[CalibrationBin]:
    forecasts = _forecasts(cases, range(len(cases)))
    probabilities = np.array([probability for probability, _ in forecasts.values()])
    if not len(probabilities):
        return []
    ends = np.arange(1, bins) / bins
    if binning == "equal-count":
        ends = np.quantile(probabilities, ends, method="inverted_cdf")
    # An end belongs to the bin below it, as in Guo et al. (ICML 2017); equal probabilities stay together.
    chosen = np.searchsorted(ends, probabilities, side="left")
    places = np.array(list(forecasts))
    found = []
    for one in np.unique(chosen):
        among, cell = probabilities[chosen == one], places[chosen == one].tolist()
        weights = _weights(cases, cell)
        found.append(
            CalibrationBin(
                lowest=float(among.min()),
                highest=float(among.max()),
                mean_probability=float(np.average(among, weights=weights)),
                observed=_ratio([(forecasts[p][1], 1) for p in cell], weights, cell, drawn, NO_PROBABILITY),
                weight=sum(weights),
            )
        )
    return found


def _ratio(
    parts: Sequence[tuple[float, float]],
    weights: Sequence[float],
    cell: Sequence[int],
    drawn: Resampling,
    why: UndefinedNumber,
) -> NumberWithInterval:
    """Return the sum of the first *parts* over the sum of the second, each times its weight; a share."""
    if not cell:
        return no_number(why)
    features = np.array(parts, float) * np.array(weights)[:, None]
    values = resample(features, cell, drawn, lambda sums: sums[:, 0] / sums[:, 1])
    return number(values, cell, drawn, scale="share", undefined=why)
