"""
How records become rows of a run's database and come back.

Scalars are plain columns and everything nested is JSON text, so that any SQLite tool can read a run.
Text may hold lone surrogates (a server can send them as JSON escapes): they are written as the three
bytes that UTF-8 would give them and come back unchanged.

Turns as far as tables count them: for reports of runs whose records would fill the memory.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import groupby
from typing import Any, NoReturn, TypedDict, TypeVar

import msgspec

from replay.core.conversation import Passage
from replay.core.decoding import convert_to, decode_as
from replay.core.drift_evidence import Drift
from replay.core.errors import RunError
from replay.core.expectation import Expectation
from replay.core.message import Message
from replay.core.record import Intervention, ServerTimes, Timing, TurnPlace, TurnRecord, Usage

T = TypeVar("T")


class ScenarioFact(TypedDict):
    """The scenario as it was when the run began."""

    text: str
    source: str
    folder: str


FACTS: Mapping[str, Any] = {
    "id": str,
    "scenario": ScenarioFact,
    "name": str,
    "seed": int,
    "version": str,
    "systems": list[str],
    "policies": dict[str, str],
    "histories": dict[str, dict[str, str]],
    "keeps_history": list[str],
    "tools": dict[str, str],
}
"""What a run says of itself from its beginning, by key: each fact that more than one place reads."""

Row = tuple[Any, ...]
"""A record's values, one for each of ``RECORD_COLUMNS``."""

_TEXTS = {"conversation", "turn", "recorded", "asked", "edit_note", "answer", "error", "source", "partial"}
_TEXTS |= {"kind"}
_LISTS = ("gold_answers", "gold_passages", "passages", "steps", "step_times_s", "expect")
_TOKENS = ("prompt_tokens", "completion_tokens", "cached_prompt_tokens")
_TIMES = ("scheduled_s", "sent_s", "first_byte_s", "first_token_s", "done_s")
RECORD_COLUMNS = (
    *("conversation", "turn", "recorded", "asked", "system", "policy", "depth", "edit", "outcome"),
    *("attempts", "asks", "repeat", "cached"),
    *_LISTS,
    *("started_at", "scheduled_s", "sent_s", "first_byte_s", "done_s"),
    *("answer", "prompt_tokens", "completion_tokens"),
    # Those that most records have nothing in stand last (see ``insert_records``).
    *("drift", "valid", "first_token_s", "token_gaps_100us", "cached_prompt_tokens", "cost_usd"),
    *("server_times", "interventions", "history_cut", "kind", "sessions_back", "turns_back"),
    *("source", "edit_note", "error", "partial"),
)
_SELECT = f"SELECT {', '.join('t.' + c for c in RECORD_COLUMNS)} FROM"
SELECT_RECORDS = f"{_SELECT} turn t"
SELECT_ENDINGS = f"{_SELECT} ending t"
MOST_S = 5e9
"""No moment of a run is as far as a century and a half from its start, or from 1970."""
_PLACE = tuple(map(RECORD_COLUMNS.index, ("conversation", "system", "policy", "depth")))
_EDIT = RECORD_COLUMNS.index("edit")
_NOTHING = "[]"
_Times = tuple[tuple[float, float], ...]


def to_bytes(text: str) -> bytes:
    """Return *text* in UTF-8, lone surrogates included."""
    return text.encode("utf-8", "surrogatepass")


def to_text(stored: bytes) -> str:
    """Return the text that ``to_bytes`` encoded; the connection's ``text_factory``."""
    return stored.decode("utf-8", "surrogatepass")


def to_json(value: Any) -> str:
    """Return the JSON text of a dataclass, list or plain value."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:  # a lone surrogate, which only the escaping encoder can write
        return json.dumps(msgspec.to_builtins(value))


def from_json(text: str, kind: type[T]) -> T:
    """
    Return the object that ``to_json`` wrote.

    Raises:
        RunError: *text* is no JSON of that *kind*.
    """
    try:
        try:
            return decode_as(to_bytes(text), kind)
        except msgspec.DecodeError:
            return convert_to(json.loads(text, parse_constant=_refuse), kind)
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        raise RunError(
            f"what the run's database holds can't be read: {text!r:.100}: {error}; it is damaged, or "
            "somebody has changed it"
        ) from error


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


def insert_records(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """
    Insert *rows*, each as far as its last value.

    Raises:
        sqlite3.Error: they can't be; nothing is undone here, so run it in a transaction.
    """
    # sqlite3 takes longer to find out that nothing adapts None than to bind ten texts.
    for (table, width), alike in groupby(rows, _statement):
        given = [row[:width] for row in alike]
        before = connection.total_changes
        try:
            connection.executemany(_insert(table, width), given)
        except UnicodeEncodeError:
            # sqlite3 refuses a str with lone surrogates. Bytes cast to text cost half as much again, so
            # they are the exception, from the refused row on.
            inserted = connection.total_changes - before
            cast = _insert(table, width, "CAST(? AS TEXT)")
            connection.executemany(cast, map(_with_bytes, given[inserted:]))


def _table(row: Row) -> str:
    """Return where the row belongs: an end is no turn, and nobody who counts turns should meet it."""
    return "ending" if row[_EDIT] == "ended" else "turn"


def _statement(row: Row) -> tuple[str, int]:
    """Return what the statement that inserts the row depends on."""
    return _table(row), _width(row)


def _width(row: Row) -> int:
    """Return how many of the row's values there are up to the last that is not None."""
    width = len(row)
    while row[width - 1] is None:
        width -= 1
    return width


@cache
def _insert(table: str, width: int, text: str = "?") -> str:
    """Return the INSERT statement for rows of that *width*; *text* is the placeholder of free texts."""
    columns = RECORD_COLUMNS[:width]
    places = (text if column in _TEXTS else "?" for column in columns)
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(places)})"


def _with_bytes(row: Row) -> Row:
    columns = zip(RECORD_COLUMNS, row, strict=False)
    return tuple(
        to_bytes(value) if value is not None and column in _TEXTS else value for column, value in columns
    )


def record_row(record: TurnRecord) -> Row:
    """Return the record's values for ``insert_records``; written out, as load runs call it for every turn."""
    drift, usage, timing = record.drift, record.usage, record.timing
    return (
        record.conversation,
        record.turn,
        record.recorded,
        record.asked,
        record.system,
        record.policy,
        record.depth,
        record.edit,
        record.outcome,
        record.attempts,
        record.asks,
        record.repeat,
        int(record.cached),
        to_json(record.gold_answers) if record.gold_answers else _NOTHING,
        to_json(record.gold_passages) if record.gold_passages else _NOTHING,
        to_json(record.passages) if record.passages else _NOTHING,
        to_json(record.steps) if record.steps else _NOTHING,
        to_json(record.step_times_s) if record.step_times_s else _NOTHING,
        to_json(record.expect) if record.expect else _NOTHING,
        record.started_at,
        None if timing is None else timing.scheduled_s,
        None if timing is None else timing.sent_s,
        None if timing is None else timing.first_byte_s,
        None if timing is None else timing.done_s,
        record.answer,
        None if usage is None else usage.prompt_tokens,
        None if usage is None else usage.completion_tokens,
        None if drift is None else to_json(drift),
        None if drift is None or drift.valid is None else int(drift.valid),
        None if timing is None else timing.first_token_s,
        to_json(timing.token_gaps_100us) if timing and timing.token_gaps_100us else None,
        None if usage is None else usage.cached_prompt_tokens,
        record.cost_usd,
        to_json(timing.server) if timing and timing.server else None,
        to_json(record.interventions) if record.interventions else None,
        record.history_cut,
        record.kind or None,
        record.sessions_back,
        record.turns_back,
        record.source,
        record.edit_note,
        record.error,
        record.partial,
    )


def row_place(row: Row) -> TurnPlace:
    """Return the conversation, system, policy and depth of a row from ``record_row``."""
    conversation, system, policy, depth = (row[column] for column in _PLACE)
    return conversation, system, policy, depth


def row_record(row: Sequence[Any]) -> TurnRecord:
    """Return the record of a row from ``SELECT_RECORDS``."""
    v = dict(zip(RECORD_COLUMNS, row, strict=True))
    tokens = {name: v.pop(name) for name in _TOKENS}
    times = {name: v.pop(name) for name in _TIMES}
    check_moments(v["started_at"], *times.values())
    drift, gaps, _ = v.pop("drift"), v.pop("token_gaps_100us"), v.pop("valid")
    interventions, server = v.pop("interventions"), v.pop("server_times")
    gold_answers, gold_passages, passages, steps, step_times_s, expect = (v.pop(name) for name in _LISTS)
    return TurnRecord(
        **{**v, "cached": bool(v["cached"]), "kind": v["kind"] or ""},
        drift=None if drift is None else from_json(drift, Drift),
        gold_answers=_texts(gold_answers),
        gold_passages=_texts(gold_passages),
        passages=() if passages == _NOTHING else from_json(passages, tuple[Passage, ...]),
        steps=() if steps == _NOTHING else from_json(steps, tuple[Message, ...]),
        step_times_s=() if step_times_s == _NOTHING else from_json(step_times_s, _Times),
        interventions=() if interventions is None else from_json(interventions, tuple[Intervention, ...]),
        expect=() if expect == _NOTHING else from_json(expect, tuple[Expectation, ...]),
        usage=None if set(tokens.values()) == {None} else Usage(**tokens),
        timing=None
        if times["done_s"] is None
        else Timing(
            **times,
            token_gaps_100us=() if gaps is None else from_json(gaps, tuple[int, ...]),
            server=None if server is None else from_json(server, ServerTimes),
        ),
    )


def check_moments(*moments_s: float | None) -> None:
    """
    Check that *moments_s* can be those of a run.

    Raises:
        RunError: one of them can't.
    """
    for moment_s in moments_s:
        if moment_s is not None and not -MOST_S < moment_s < MOST_S:
            raise RunError(
                f"a turn in the run's database has {moment_s:g} s as one of its moments; it is damaged, or "
                "somebody has changed it"
            )


def _texts(stored: str) -> tuple[str, ...]:
    return () if stored == _NOTHING else from_json(stored, tuple[str, ...])


SELECT_OUTLINES = (
    "SELECT t.conversation, t.system, t.policy, t.source, t.edit, t.outcome, t.depth, t.drift IS NOT NULL,"
    " t.valid, CASE WHEN t.valid IS NULL THEN json_extract(t.drift, '$.not_judged') END,"
    " t.scheduled_s, t.sent_s, t.done_s, t.repeat, t.interventions,"
    " t.kind, t.sessions_back, t.turns_back FROM turn t"
)


def outline_record(row: Sequence[Any]) -> TurnRecord:
    """
    Return a light record from a row of ``SELECT_OUTLINES``, with what a table counts.

    It has no texts but those of interventions, and no token times; half a KiB in place of several.
    """
    # The same names come again and again, each time as a text of its own.
    names: list[Any] = [name and sys.intern(name) for name in row[:6]]
    conversation, system, policy, source, edit, outcome = names
    depth, detected, valid, not_judged, scheduled_s, sent_s, done_s, repeat, interventions = row[6:15]
    kind, sessions_back, turns_back = row[15:]
    check_moments(scheduled_s, sent_s, done_s)
    return TurnRecord(
        conversation=conversation,
        system=system,
        policy=policy,
        depth=depth,
        source=source,
        repeat=repeat,
        edit=edit,
        outcome=outcome,
        drift=_verdict(valid, not_judged) if detected else None,
        interventions=() if interventions is None else from_json(interventions, tuple[Intervention, ...]),
        timing=None if done_s is None else Timing(scheduled_s=scheduled_s, sent_s=sent_s, done_s=done_s),
        kind=sys.intern(kind or ""),
        sessions_back=sessions_back,
        turns_back=turns_back,
        turn="",
        recorded="",
        asked="",
        answer=None,
    )


@lru_cache(maxsize=1000)
def _verdict(valid: int | None, not_judged: str | None) -> Drift:
    """Return a verdict, the same object for all turns with it."""
    return Drift(valid=None if valid is None else bool(valid), mentions=(), mode="", not_judged=not_judged)
