"""
Turns and their scores as a table: a scorer and what it observed turn by turn is a column, a turn's record
with its scores a row of cells for files and data frames.

Steps, what happened between questions and answers, have a row for each message.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import msgspec

from replay.core.record import TurnRecord
from replay.scorers.observing import combine, observe
from replay.scorers.scorer import CorpusScorer, MeanScorer, Scorer, Unscored, lower_is_better, unit_of
from replay.scorers.stored_scorer import check_observation

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray


PART = 5_000
"""Records that are observed together, at least, unless fewer are left."""

Positions: TypeAlias = "Sequence[int] | NDArray[np.integer[Any]]"
"""Of records in their sequence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreColumn:
    """One score of many turns."""

    scorer: Scorer[Any]
    observed: Sequence[Any]
    """The scorer's observation, or ``Unscored``, for each of the records that the column goes with."""

    @property
    def unit(self) -> str:
        """Return the unit of the score: ``share``, ``s``, ``tokens``, ... or nothing."""
        return unit_of(self.scorer)

    @property
    def lower_is_better(self) -> bool:
        """Return whether less is better, as of latencies."""
        return lower_is_better(self.scorer)

    @property
    def is_mean(self) -> bool:
        """Return whether the score of many turns is the mean of theirs."""
        return isinstance(self.scorer, MeanScorer) and self.scorer.is_mean

    def is_scored(self, index: int) -> bool:
        """Return whether the record at *index* has a score."""
        return not isinstance(self.observed[index], Unscored)

    def at(self, indices: Iterable[int]) -> Self:
        """Return the column over the records at *indices* only."""
        return replace(self, observed=[self.observed[index] for index in indices])

    def value(self, indices: Positions) -> float | None:
        """
        Return the score of the records at *indices*, which all have an observation.

        None if there are none, or the score isn't defined over them.
        """
        if not len(indices):
            return None
        value = combine(self.scorer, [self.observed[i] for i in indices])
        return None if math.isnan(value) else value


def score_columns(
    records: Sequence[TurnRecord], scorers: Mapping[str, Scorer[Any]]
) -> dict[str, ScoreColumn]:
    """Return the column of observations of each of *scorers* in *records*, by the scorer's name."""
    return {
        name: ScoreColumn(scorer=scorer, observed=tuple(observe(name, scorer, records)))
        for name, scorer in scorers.items()
    }


def stored_column(
    scorer: Scorer[Any], turns: int, stored: Iterable[tuple[int, Any, str | None]]
) -> ScoreColumn:
    """
    Return the column of *scorer* from stored observations.

    Args:
        scorer: The scorer that made them.
        turns: The number of turns. One that *stored* lacks is unscored: ``not scored yet``.
        stored: (turn's index, observation, reason for none).

    Raises:
        RunError: an observation is none of this scorer's.
    """
    observed: list[Any] = [Unscored(reason="not scored yet")] * turns
    reasons: dict[str, Unscored] = {}  # one object for all turns: a load run has a million
    for position, value, reason in stored:
        if reason is not None:
            observed[position] = reasons.setdefault(reason, Unscored(reason=reason))
        else:
            observed[position] = check_observation(scorer, value)
    return ScoreColumn(scorer=scorer, observed=observed)


def survey_scorers(
    scorers: Mapping[str, Scorer[Any]], read: Callable[[], Iterator[TurnRecord]]
) -> dict[str, Scorer[Any]]:
    """Return *scorers*, those that have to see every record first having seen all that *read* gives."""
    found = dict(scorers)
    if any(isinstance(scorer, CorpusScorer) for scorer in found.values()):
        for records in in_parts(read()):
            for label, scorer in found.items():
                found[label] = scorer.survey(records) if isinstance(scorer, CorpusScorer) else scorer
    return found


def in_parts(records: Iterable[TurnRecord], least: int | None = None) -> Iterator[list[TurnRecord]]:
    """Yield at *least* so many records (or ``PART``) at a time, a play's records together."""
    least = least or PART
    part: list[TurnRecord] = []
    for _, played in groupby(records, lambda record: (record.conversation, record.system, record.policy)):
        part += played
        if len(part) >= least:
            yield part
            part = []
    if part:
        yield part


def check_columns(records: Sequence[TurnRecord], scores: Mapping[str, ScoreColumn]) -> None:
    """
    Make sure that *scores* belong to *records*.

    Raises:
        ValueError: a column has more or fewer observations than there are records, or one turn of
            one system under one policy is recorded twice.
    """
    for name, column in scores.items():
        if len(column.observed) != len(records):
            raise ValueError(f'score "{name}" has {len(column.observed)} values for {len(records)} turns')
    seen = set()
    for record in records:
        key = (record.system, record.policy, record.conversation, record.depth)
        if key in seen:
            raise ValueError(
                f'turn {record.depth} of conversation "{record.conversation}" is recorded twice for '
                f'system "{record.system}", policy "{record.policy}"'
            )
        seen.add(key)


CellType = Literal["text", "whole", "number", "flag", "json"]

TURN_COLUMNS: Mapping[str, CellType] = {
    "system": "text",
    "policy": "text",
    "conversation": "text",
    "recorded_conversation": "text",
    "repeat": "whole",
    "depth": "whole",
    "turn": "text",
    "recorded": "text",
    "asked": "text",
    "edit": "text",
    "edit_note": "text",
    "valid": "flag",
    "outcome": "text",
    "kind": "text",
    "sessions_back": "whole",
    "turns_back": "whole",
    "answer": "text",
    "error": "text",
    "attempts": "whole",
    "cached": "flag",
    "history_cut": "text",
    "asks": "whole",
    "steps": "whole",
    "prompt_tokens": "whole",
    "completion_tokens": "whole",
    "cached_prompt_tokens": "whole",
    "cost_usd": "number",
    "latency_s": "number",
    "scheduled_s": "number",
    "sent_s": "number",
    "first_byte_s": "number",
    "first_token_s": "number",
    "done_s": "number",
    "server_queue_s": "number",
    "server_prefill_s": "number",
    "server_decode_s": "number",
    "server_total_s": "number",
    "gold_answers": "json",
    "gold_passages": "json",
    "passages": "json",
    "drift": "json",
}
"""
A record's columns, in order. ``recorded_conversation`` is the conversation's id in the data, where a play
has another; ``valid`` is the drift verdict, ``sessions_back`` and ``turns_back`` how far the farthest
evidence lies, ``steps`` their number (``step_rows`` has each); a ``json`` cell holds a list or an
object.
"""


SERVER_PARTS = ("queue_s", "prefill_s", "decode_s", "total_s")


def turn_columns(scores: Mapping[str, ScoreColumn]) -> dict[str, CellType]:
    """
    Return all columns: the record's, one for each score, and ``unscored`` with the reasons by score.

    A score that has the name of a record's column is called ``NAME_score``.
    """
    kinds = dict(TURN_COLUMNS)
    for name, column in scores.items():
        kinds[_score_name(name)] = "number" if column.is_mean else "json"
    return {**kinds, "unscored": "json"} if scores else kinds


def turn_rows(
    records: Iterable[TurnRecord], scores: Mapping[str, ScoreColumn], *, nested: bool
) -> Iterator[dict[str, Any]]:
    """
    Yield one row per record, with the keys of ``turn_columns``; None for unknown values.

    *scores* are columns over *records*. ``json`` cells are as they are if *nested*, else JSON text.
    """
    kinds = turn_columns(scores)
    for position, record in enumerate(records):
        plain = msgspec.to_builtins(record)
        parts = {**plain, **(plain["usage"] or {}), **(plain["timing"] or {})}
        row = {name: parts.get(name) for name in TURN_COLUMNS}
        row["recorded_conversation"] = record.recorded_conversation
        row["valid"] = None if record.drift is None else record.drift.valid
        row["steps"] = len(record.steps)
        row["latency_s"] = None if record.timing is None else record.timing.latency_s
        server = record.timing.server if record.timing else None
        row |= {f"server_{part}": getattr(server, part, None) for part in SERVER_PARTS}
        reasons = {}
        for name, column in scores.items():
            observed = column.observed[position]
            if isinstance(observed, Unscored):
                reasons[name] = observed.reason
            row[_score_name(name)] = None if isinstance(observed, Unscored) else observed
        if scores:
            row["unscored"] = reasons
        yield row if nested else {name: flat(value, kinds[name]) for name, value in row.items()}


def turns_frame(
    records: Iterable[TurnRecord], scores: Mapping[str, ScoreColumn] | None = None
) -> pd.DataFrame:
    """
    Return one row per record with the columns of ``turn_columns``; ``json`` cells hold tuples and dicts.

    Whole numbers and flags may be missing, so they have pandas' nullable types.
    """
    import pandas as pd

    kinds = turn_columns(scores or {})
    rows = [encodable(row) for row in turn_rows(records, scores or {}, nested=True)]
    frame = pd.DataFrame(rows, columns=list(kinds), dtype=object)
    types = {"text": "string", "whole": "Int64", "number": "float64", "flag": "boolean", "json": "object"}
    return frame.astype({name: types[kind] for name, kind in kinds.items()})


def encodable(row: Mapping[str, Any]) -> dict[str, Any]:
    r"""Return *row* with halves of surrogate pairs in its texts, which UTF-8 can't hold, as ``\udc80``."""
    return {
        name: value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
        for name, value in row.items()
    }


def _score_name(name: str) -> str:
    return f"{name}_score" if name in TURN_COLUMNS or name == "unscored" else name


def flat(value: Any, kind: CellType) -> Any:
    """Return *value* for a column of *kind* in a file that nests nothing."""
    return json.dumps(value, ensure_ascii=False) if kind == "json" and value is not None else value


STEP_COLUMNS: Mapping[str, CellType] = {
    "system": "text",
    "policy": "text",
    "conversation": "text",
    "depth": "whole",
    "number": "whole",
    "role": "text",
    "name": "text",
    "text": "text",
    "tool_calls": "json",
    "tool_call_id": "text",
    "left_out": "json",
    "begin_s": "number",
    "end_s": "number",
}
"""
The columns of ``step_rows``, in order. ``number`` counts from 1 within a turn; ``name`` is the tool's whose
result it is; ``begin_s`` and ``end_s`` of what brought it are seconds since the turn's first ask was sent.
"""


def step_rows(records: Iterable[TurnRecord], *, nested: bool) -> Iterator[dict[str, Any]]:
    """
    Yield a row for each step of *records*; None for unknown values.

    ``json`` cells are as they are if *nested*, else JSON text.
    """
    for record in records:
        for position, step in enumerate(record.steps):
            is_timed = position < len(record.step_times_s)
            begin_s, end_s = record.step_times_s[position] if is_timed else (None, None)
            row = {
                "system": record.system,
                "policy": record.policy,
                "conversation": record.conversation,
                "depth": record.depth,
                "number": position + 1,
                "role": step.role,
                "name": step.name,
                "text": step.text,
                "tool_calls": msgspec.to_builtins(step.tool_calls),
                "tool_call_id": step.tool_call_id,
                "left_out": list(step.left_out),
                "begin_s": begin_s,
                "end_s": end_s,
            }
            yield row if nested else {name: flat(value, STEP_COLUMNS[name]) for name, value in row.items()}
