"""
Reads the numbers of a load run from its database into columns, and has them summed up.

The statistics know nothing of databases and objectives; this brings them together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain, compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replay.core.decoding import convert_to, decoder_of
from replay.core.errors import RunError
from replay.core.load_record import LevelPlayed
from replay.core.record import TOKEN_GAP_S, ServerTimes
from replay.play.load.level import ask_limits_s, parse_objectives
from replay.scorers.scorer import Scorer, unit_of
from replay.statistics.group import Group, groups_in_order
from replay.statistics.load.asks import ANSWERED, OUTCOMES, OUTSIDE, Asks
from replay.statistics.load.histogram import DurationHistogram
from replay.statistics.load.load_cell import (
    AnswerTimes,
    Cell,
    CellScores,
    LoadCell,
    LoadTally,
    cell_scores,
    load_cell,
)
from replay.statistics.load.load_summary import DriftShare, FirstErrors, LoadSummary, load_summary
from replay.statistics.score_column import stored_column
from replay.store import schema
from replay.store.numbers import NumberReader, Rows
from replay.store.store import RunStore

_KINDS: dict[str, Any] = {
    "row": np.int64,
    "scheduled_s": np.float64,
    "sent_s": np.float64,
    "first_token_s": np.float64,
    "last_token_s": np.float64,
    "done_s": np.float64,
    "server_s": np.float64,
    "outcome": np.int8,
    "depth": np.int32,
    "attempts": np.int32,
    "asks": np.int32,
    "tokens": np.int32,
    "tokens_are_pieces": np.bool_,
    "group": np.int16,
    "recorded": np.int32,
    "level": np.int16,
    "measured": np.bool_,
}
_READ = (
    "row", "scheduled_s", "sent_s", "first_token_s", "done_s", "outcome", "depth", "attempts", "asks",
    "tokens", "gaps", "server", "system", "policy", "recorded",
)  # fmt: skip
"""What ``NumberReader.asks`` gives of each turn."""
_MOMENTS = ("scheduled_s", "sent_s", "first_token_s", "done_s")
_CODES = {outcome.encode(): code for code, outcome in enumerate(OUTCOMES)}
_GAP_BITS = 32


def read_load_summary(
    store: RunStore,
    scorers: Mapping[str, Scorer[Any]] | None = None,
    *,
    resamples: int = 1000,
    drift: tuple[DriftShare, ...] = (),
) -> LoadSummary | None:
    """
    Return the summary of the run in *store*, with scores and drift; None unless it was a load run.

    Intervals are by t, from *resamples* bootstrap samples of the data's conversations.

    Raises:
        RunError: the database can't be read.
    """
    load = store.fact("load")
    if load is None:
        return None
    scorers = scorers or {}
    seed = store.fact("seed") or 0
    levels = convert_to(store.events("level"), list[LevelPlayed])
    with NumberReader(store.folder) as reader:
        read = _Columns(reader, levels)
        asks = read.asks(_conversations(reader, read.rows))

        def score_cells(label: str, cells: Sequence[Cell], firsts: Sequence[int | None]) -> CellScores:
            stored = _stored_scores(reader, label, read.rows)
            column = stored_column(scorers[label], len(asks), stored)
            return cell_scores(column, asks, cells, firsts, resamples=resamples, seed=seed)

        return load_summary(
            asks,
            levels,
            load=load,
            tallies=_tallies(store, levels, asks.groups),
            limits_s=ask_limits_s(parse_objectives(load.get("slo") or {})),
            first_errors=read.first_errors,
            scorings={label: partial(score_cells, label) for label in scorers},
            score_units={label: unit_of(scorer) for label, scorer in scorers.items()},
            skipped=read.skipped,
            resamples=resamples,
            seed=seed,
            drift=drift,
        )


def read_window(store: RunStore, level: int, due_s: tuple[float, float]) -> tuple[LoadCell, AnswerTimes]:
    """
    Return the numbers and answer times of the turns of one level that were due in a given time.

    Args:
        store: The run.
        level: The index of a level that is over.
        due_s: Begin (included) and end (excluded), in seconds since the run's start.

    Raises:
        RunError: the database can't be read.
    """
    begin_s, end_s = due_s
    window = LevelPlayed(
        index=level,
        name="",
        value=None,
        began_s=begin_s,
        measured_from_s=begin_s,
        measured_to_s=end_s,
        ended_s=end_s,
    )
    with NumberReader(store.folder) as reader:
        asks = _Columns(reader, [window], due_s).asks()
    chosen = np.arange(len(asks))
    tallies, gaps = _tallies(store, [window], asks.groups), list(asks.gaps.values())
    return (
        load_cell(asks, chosen, tallies=tallies, gaps=gaps),
        AnswerTimes(asks, chosen, tallies=tallies, gaps=gaps),
    )


class _Columns:
    """The asks of a run, or those due in a part of it, read batch by batch."""

    def __init__(
        self,
        reader: NumberReader,
        levels: Sequence[LevelPlayed],
        due_s: tuple[float, float] | None = None,
    ) -> None:
        self._levels = levels
        found = groups_in_order(Group(*pair) for pair in reader.groups())
        self._found = tuple(found)
        self._groups = {
            (schema.to_bytes(group.system), schema.to_bytes(group.policy)): place
            for place, group in enumerate(found)
        }
        self._recorded: dict[bytes, int] = {}
        self._gap_counts: Counter[tuple[int, int]] = Counter()
        self._decoder = decoder_of(list[int])
        self._server = decoder_of(ServerTimes)
        self._first_rows: dict[tuple[int, str], tuple[float, int]] = {}
        self.skipped = 0
        batches = [self._batch(rows) for rows in reader.asks(due_s)]
        self._columns = {
            name: np.concatenate([np.empty(0, kind), *(batch.pop(name) for batch in batches)])
            for name, kind in _KINDS.items()
        }
        self.rows: NDArray[np.int64] = self._columns.pop("row")
        """The row of each ask in the table of turns, rising."""
        self.first_errors: FirstErrors = {
            key: (due_s, reader.error(row)) for key, (due_s, row) in self._first_rows.items()
        }

    def asks(self, conversation: NDArray[np.int32] | None = None) -> Asks:
        """Return the columns of all asks; *conversation* tells the conversation of each, if needed."""
        return Asks(
            **self._columns,
            conversation=np.zeros(len(self.rows), dtype=np.int32) if conversation is None else conversation,
            groups=self._found,
            recorded_count=len(self._recorded),
            gaps=self._gaps(),
        )

    def _batch(self, rows: Rows) -> dict[str, NDArray[Any]]:
        asked = [row for row in rows if row[4] is not None]
        self.skipped += len(rows) - len(asked)
        if not asked:
            return {name: np.empty(0, kind) for name, kind in _KINDS.items()}
        read = dict(zip(_READ, zip(*asked, strict=True), strict=True))
        pieces = [
            None if at is None else [] if text is None else self._decoder.decode(text)
            for at, text in zip(read["first_token_s"], read["gaps"], strict=True)
        ]
        counted = [
            # What is told of several asks is not of the answer, whose times these are.
            (given, False)
            if given is not None and taken == 1
            else (-1, False)
            if gap is None
            else (len(gap) + 1, True)
            for given, gap, taken in zip(read["tokens"], pieces, read["asks"], strict=True)
        ]
        values = read | {
            "last_token_s": [
                at + TOKEN_GAP_S * sum(found) if found else None
                for at, found in zip(read["first_token_s"], pieces, strict=True)
            ],
            "server_s": [None if one is None else self._server.decode(one).own_s for one in read["server"]],
            "outcome": [_CODES[one] for one in read["outcome"]],
            "tokens": [number for number, _ in counted],
            "tokens_are_pieces": [were_counted for _, were_counted in counted],
            "group": [self._groups[pair] for pair in zip(read["system"], read["policy"], strict=True)],
            "recorded": [self._recorded.setdefault(one, len(self._recorded)) for one in read["recorded"]],
        }
        try:
            batch = {
                name: np.array(values[name], dtype=kind) for name, kind in _KINDS.items() if name in values
            }
        except OverflowError as error:
            raise RunError(
                f"a turn in the run's database has a number too large for its column ({error}); it is "
                "damaged, or somebody has changed it"
            ) from error
        for name in _MOMENTS:
            schema.check_moments(*batch[name][np.abs(batch[name]) >= schema.MOST_S].tolist())
        batch["level"], batch["measured"] = self._place_asks(batch["scheduled_s"])
        self._count_gaps(batch, pieces)
        self._note_failures(batch)
        return batch

    def _place_asks(self, scheduled_s: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the level of each ask, and whether it was due in the measured window."""
        level = np.full(len(scheduled_s), OUTSIDE, dtype=_KINDS["level"])
        measured = np.zeros(len(scheduled_s), dtype=np.bool_)
        for position, played in enumerate(self._levels):
            inside = (scheduled_s >= played.began_s) & (scheduled_s <= played.ended_s)
            window = (scheduled_s >= played.measured_from_s) & (scheduled_s < played.measured_to_s)
            level[inside | window] = position
            measured |= window
        return level, measured

    def _count_gaps(self, batch: Mapping[str, NDArray[Any]], pieces: Sequence[list[int] | None]) -> None:
        answers = np.flatnonzero(batch["measured"] & (batch["outcome"] == ANSWERED))
        lists = [(place, gaps) for place in answers.tolist() if (gaps := pieces[place])]
        if not lists:
            return
        lengths = [len(gaps) for _, gaps in lists]
        flat = np.fromiter(chain.from_iterable(gaps for _, gaps in lists), np.int64, sum(lengths))
        places = [place for place, _ in lists]
        keys = self._key(*(batch[name][places] for name in ("level", "group", "depth")))
        both = np.repeat(keys, lengths) << _GAP_BITS | flat.clip(0, 2**_GAP_BITS - 1)
        values, counts = np.unique(both, return_counts=True)
        for value, count in zip(values.tolist(), counts.tolist(), strict=True):
            self._gap_counts[value >> _GAP_BITS, value & (2**_GAP_BITS - 1)] += count

    @staticmethod
    def _key(level: NDArray[Any], group: NDArray[Any], depth: NDArray[Any]) -> NDArray[np.int64]:
        """Return level, group and depth as one number of 31 bits."""
        key: NDArray[np.int64] = (
            (level.astype(np.int64) << 22) | (group.astype(np.int64) << 14) | depth.clip(0, 2**14 - 1)
        )
        return key

    def _gaps(self) -> dict[tuple[int, int, int], dict[int, int]]:
        gaps: dict[tuple[int, int, int], dict[int, int]] = {}
        for (key, gap), count in self._gap_counts.items():
            gaps.setdefault((key >> 22, key >> 14 & 0xFF, key & 0x3FFF), {})[gap] = count
        return gaps

    def _note_failures(self, batch: Mapping[str, NDArray[Any]]) -> None:
        failed = np.flatnonzero(batch["measured"] & (batch["outcome"] != ANSWERED))
        for place in failed[np.argsort(batch["scheduled_s"][failed], kind="stable")].tolist():
            key = (int(batch["level"][place]), OUTCOMES[batch["outcome"][place]])
            found = (float(batch["scheduled_s"][place]), int(batch["row"][place]))
            self._first_rows[key] = min(found, self._first_rows.get(key, found))


def _conversations(reader: NumberReader, rows: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return one number for each conversation as played by one system under one policy, ask by ask."""
    numbers = np.full(len(rows), -1, dtype=np.int32)
    before: list[Any] = []
    number = -1
    for batch in reader.plays():
        found = []
        for _, *who in batch:
            if who != before:
                before, number = who, number + 1
            found.append(number)
        places, known = _places_of(rows, batch)
        numbers[places] = np.array(found, dtype=np.int32)[known]
    return numbers


def _stored_scores(
    reader: NumberReader, label: str, rows: NDArray[np.int64]
) -> Iterator[tuple[int, Any, str | None]]:
    """
    Yield (index, observation, reason for none) of the scorer called *label*, as ``stored_column`` takes it.

    *rows* are the rows of the turns, ascending; a turn's index is that of its row.
    """
    # Scores repeat; equal ones are one object, so that a turn's takes a pointer.
    text = lru_cache(schema.to_text)
    value = lru_cache(maxsize=10_000)(lambda stored: schema.from_json(schema.to_text(stored), object))
    for batch in reader.scores(label):
        places, known = _places_of(rows, batch)
        for place, (_, observed, reason) in zip(places.tolist(), compress(batch, known), strict=True):
            if reason is None:
                yield place, value(observed), None
            else:
                yield place, None, text(reason)


def _places_of(rows: NDArray[np.int64], batch: Rows) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the indices in *rows* of the rows of *batch* found there, and a mask of the found ones."""
    wanted = np.array([row for row, *_ in batch])
    places = np.searchsorted(rows, wanted)
    known = places < len(rows)
    known[known] = rows[places[known]] == wanted[known]
    return places[known], known


def _tallies(store: RunStore, levels: Sequence[LevelPlayed], groups: Sequence[Group]) -> list[LoadTally]:
    positions = {played.index: position for position, played in enumerate(levels)}
    numbers = {group: number for number, group in enumerate(groups)}
    found = []
    for stored in store.tallies():
        if stored.level not in positions:
            continue
        outcomes = {name: n for name, n in stored.data["outcomes"].items() if name != "skipped"}
        histograms = {name: stored.data.get(name) for name in ("latency", "response", "ttft")}
        found.append(
            LoadTally(
                level=positions[stored.level],
                group=numbers[Group(stored.system, stored.policy)],
                depth=stored.depth,
                turns=sum(outcomes.values()),
                outcomes=outcomes,
                durations={name: DurationHistogram.decode(text) for name, text in histograms.items() if text},
            )
        )
    return found
