"""
Reads what scorers observed in a load run into columns, and has it summed up cell by cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from replay.scorers.scorer import MeanScorer, Scorer, Unscored
from replay.statistics.load.asks import Asks
from replay.statistics.load.load_scores import Cell, CellScores, Observed, mean_scores, other_scores
from replay.store import schema
from replay.store.numbers import NumberReader

_NOT_SCORED = "not scored yet"


def score_cells(
    reader: NumberReader,
    label: str,
    scorer: Scorer[Any],
    cells: Sequence[Cell],
    firsts: Sequence[int | None],
    *,
    rows: NDArray[np.int64],
    asks: Asks,
    resamples: int,
    seed: int,
) -> CellScores:
    """
    The score of each of *cells* by what *scorer* observed under *label*, and its drop against *firsts*.

    *rows* are the rows of *asks* in the table of turns.
    """
    if isinstance(scorer, MeanScorer) and scorer.is_mean:
        return mean_scores(
            _means(reader, label, rows),
            cells,
            firsts,
            recorded=asks.recorded,
            recorded_count=asks.recorded_count,
            resamples=resamples,
            seed=seed,
        )
    return other_scores(
        scorer,
        _observations(reader, label, rows),
        cells,
        firsts,
        recorded=asks.recorded,
        recorded_count=asks.recorded_count,
        resamples=resamples,
        seed=seed,
    )


def _means(reader: NumberReader, label: str, rows: NDArray[np.int64]) -> Observed:
    values = np.full(len(rows), np.nan)
    reason = np.zeros(len(rows), dtype=np.int16)
    reasons = {_NOT_SCORED.encode(): 0}
    decode = msgspec.json.Decoder(float, strict=False).decode
    for batch in reader.scores(label):
        places, known = places_of(rows, np.array([row for row, *_ in batch]))
        found = [np.nan if value is None else decode(value) for _, value, _ in batch]
        why = [-1 if text is None else reasons.setdefault(text, len(reasons)) for *_, text in batch]
        values[places] = np.array(found)[known]
        reason[places] = np.array(why)[known]
    return Observed(values=values, reason=reason, reasons=tuple(schema.to_text(text) for text in reasons))


def _observations(reader: NumberReader, label: str, rows: NDArray[np.int64]) -> list[Any]:
    observed: list[Any] = [Unscored(reason=_NOT_SCORED)] * len(rows)
    for batch in reader.scores(label):
        places, known = places_of(rows, np.array([row for row, *_ in batch]))
        scored = [one for one, is_known in zip(batch, known.tolist(), strict=True) if is_known]
        for place, (_, value, why) in zip(places.tolist(), scored, strict=True):
            text = schema.to_text(value if why is None else why)
            observed[place] = schema.from_json(text, object) if why is None else Unscored(reason=text)
    return observed


def places_of(
    rows: NDArray[np.int64], wanted: NDArray[np.int64]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Where the *wanted* rows stand in *rows*, for those that are there at all; and which are."""
    places = np.searchsorted(rows, wanted)
    known = places < len(rows)
    known[known] = rows[places[known]] == wanted[known]
    return places[known], known
