"""
When conversations arrive: at a rate, as a file says (a trace), or as the data has it, by the timestamp of
each one's first question.

An open run's arrivals don't wait for the system: users keep coming while it slows down. Schroeder, Wierman
& Harchol-Balter, *Open Versus Closed: A Cautionary Tale* (NSDI 2006), show how much the two differ.

A trace is a table (CSV) with a header, or JSON Lines.

Our own format is recognized by its time, ``at_s``, and read strictly, since a misspelt field would
otherwise be passed over without a word:

- ``at_s``: when the conversation begins, in seconds or as a time in ISO 8601; - ``conversation``
(optional): its id in the data; without one, the next that is drawn; - ``gaps_s`` (optional): think times
before turns 2, 3, ...: a list, in a table also ``2;0.5;10``. Where there
  are fewer than turns, the scenario's think time comes after them.

Of published traces only the times are taken. In them a line is a request; here it begins a conversation.

- Azure LLM inference traces, 2023 and 2024 (Patel et al., *Splitwise*, ISCA 2024; Stojkovic et al.,
  *DynamoLLM*, HPCA 2025; github.com/Azure/AzurePublicDataset): tables with ``TIMESTAMP`` in ISO 8601.
- BurstGPT (Wang et al., 2024; github.com/HPMLL/BurstGPT): tables with ``Timestamp`` in seconds. - Mooncake
(Qin et al., FAST 2025; github.com/kvcache-ai/Mooncake): JSON Lines with ``timestamp`` in
  milliseconds beside ``input_length`` and ``output_length``.

Times are made relative to the first. A file is read line by line, as long as it may be.
"""

from __future__ import annotations

import csv
import json
import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from replay.core.conversation import Conversation
from replay.core.decoding import decoder_of
from replay.core.errors import DatasetError, InputError
from replay.core.settings.faults import nearest
from replay.datasets import json_rows
from replay.datasets.data_file import SourceLocation, decode, not_utf8
from replay.datasets.turn_metadata import ASKED, seconds_of
from replay.play.load.section import recorded_s


def constant_arrivals(rate_per_s: float) -> Iterator[float]:
    """Yield 0, 1 / rate, 2 / rate, ..., each computed from its number so that no error adds up."""
    return (number / rate_per_s for number in count())


def poisson_arrivals(rate_per_s: float, rng: random.Random) -> Iterator[float]:
    """
    Yield the times of a Poisson process: independent users who know nothing of each other.

    The gaps, the one before the first arrival too, are independent and exponential with mean
    1 / rate (Kingman, *Poisson Processes*, 1993, section 4.1); so the number of arrivals in any
    window of w seconds is Poisson distributed with mean and variance rate * w.
    """
    now = 0.0
    while True:
        now += rng.expovariate(rate_per_s)
        yield now


def ramp_up(arrivals: Iterable[float], ramp_s: float) -> Iterator[float]:
    """
    Return *arrivals* delayed so that their rate rises linearly from 0 within *ramp_s* seconds.

    With R the full rate, L(t) = R t^2 / (2 ramp) arrivals are due by t within the ramp and
    R (t - ramp / 2) after it. An arrival that was to come at s, when R s were due, comes at the t with
    L(t) = R s: t = sqrt(2 ramp s) up to s = ramp / 2, and s + ramp / 2 from there. Constant arrivals
    keep their even spacing in L; a Poisson process becomes the Poisson process with the rising rate
    (inversion of the cumulative rate: Cinlar, *Introduction to Stochastic Processes*, 1975, section
    4.7; known as time rescaling).
    """
    half = ramp_s / 2
    return (math.sqrt(2 * ramp_s * at) if at < half else at + half for at in arrivals)


FIELDS = ("at_s", "conversation", "gaps_s")

LONGEST_GAP_S = 1e9
"""Thirty years; more is a mistake in the unit, or no number that a clock can wait for."""

_Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """One line of a trace."""

    line: int
    """Where it stands in the file, for complaints about what only the data can tell; 0 without a file."""
    at_s: float
    """Seconds after the first arrival; never less than the one before."""
    conversation: str | None = None
    """Its id in the data; None for the next that is drawn."""
    gaps_s: tuple[float, ...] | None = None
    """Think times before turns 2, 3, ...; None where the trace doesn't say."""


def read_trace(path: Path) -> Iterator[Arrival]:
    """
    Yield the arrivals in *path*, in order.

    Raises:
        DatasetError: the file, or a line of it, can't be read; the message names line and field.
    """
    first: float | None = None
    previous = 0.0
    for place, row in _rows(path):
        at, name = _time(row, place)
        first = at if first is None else first
        if at - first < previous:
            raise place.error(
                f"is {previous - (at - first):g} s before the line above; sort the file by its times", name
            )
        previous = at - first
        ours = name == "at_s"
        yield Arrival(
            line=place.line or 0,
            at_s=previous,
            conversation=_conversation(row, place) if ours else None,
            gaps_s=_gaps(row, place) if ours else None,
        )
    if first is None:
        raise DatasetError("has no arrivals; there is nothing to play", path=str(path))


def _rows(path: Path) -> Iterator[tuple[SourceLocation, _Row]]:
    """Yield the file's lines, each with its fields."""
    is_json: bool | None = None
    header: list[str] = []
    for place, line in json_rows.lines(path):
        if isinstance(line, DatasetError):
            raise line
        if is_json is None:
            is_json = line.startswith(b"{")
        if is_json:
            yield place, _json_row(line, place)
        elif header:
            yield place, _table_row(header, line, place)
        else:
            header = [name.strip() for name in _cells(line, place)]
            _check_header(header, place)


_OBJECT = decoder_of(dict[str, Any])


def _json_row(line: bytes, place: SourceLocation) -> _Row:
    row = decode(_OBJECT, line, place)
    if "at_s" in row:
        _check_fields(list(row), place)
    elif "timestamp" not in row or not {"input_length", "output_length"} <= set(row):
        raise place.error(
            'is required but missing (or, in a Mooncake trace, "timestamp" beside "input_length" and '
            f'"output_length"){nearest("at_s", row)}',
            "at_s",
        )
    return row


def _table_row(header: Sequence[str], line: bytes, place: SourceLocation) -> _Row:
    cells = _cells(line, place)
    if len(cells) != len(header):
        raise place.error(f"has {len(cells)} cells, expected {len(header)} as in the header")
    return {name: cell.strip() for name, cell in zip(header, cells, strict=True)}


def _cells(line: bytes, place: SourceLocation) -> list[str]:
    try:
        (cells,) = csv.reader([line.decode()], strict=True)
    except UnicodeDecodeError as error:
        raise place.error(not_utf8(line[error.start])) from error
    except csv.Error as error:
        raise place.error(f"is not valid CSV: {error} (is a quote missing?)") from error
    return cells


def _check_header(header: Sequence[str], place: SourceLocation) -> None:
    if "at_s" in header:
        _check_fields(header, place)
    elif "timestamp" not in map(str.lower, header):
        raise place.error(
            'the header has no column "at_s", nor "TIMESTAMP" as published traces have'
            f"{nearest('at_s', header)} (found: {', '.join(header)})",
            "at_s",
        )


def _check_fields(names: Sequence[str], place: SourceLocation) -> None:
    for index, name in enumerate(names):
        if name not in FIELDS:
            raise place.error(
                f"is not a field here{nearest(name, FIELDS)} (allowed: {', '.join(FIELDS)})", name
            )
        if name in names[:index]:
            raise place.error("stands twice in the header", name)


def _time(row: _Row, place: SourceLocation) -> tuple[float, str]:
    """Return the line's time in seconds, and the name of the field that it was read from."""
    name = next(name for name in row if name == "at_s" or ("at_s" not in row and name.lower() == "timestamp"))
    value = row[name]
    if isinstance(value, str):
        with suppress(ValueError):
            value = float(value)
    try:
        at = seconds_of(value)
    except ValueError as error:
        raise place.error(str(error), name) from error
    return (at / 1000 if name == "timestamp" and "input_length" in row else at), name


def _conversation(row: _Row, place: SourceLocation) -> str | None:
    found = row.get("conversation")
    if found is None or found == "":
        return None
    if isinstance(found, bool) or not isinstance(found, str | int):
        raise place.error(f"is {found!r}, expected the id of a conversation", "conversation")
    return str(found)


def _gaps(row: _Row, place: SourceLocation) -> tuple[float, ...] | None:
    found = row.get("gaps_s")
    if isinstance(found, str):
        if not found:
            return None
        try:
            found = json.loads(found) if found.startswith("[") else [float(gap) for gap in found.split(";")]
        except (ValueError, RecursionError) as error:
            raise place.error(f'is "{found}", expected seconds as in 2;0.5;10', "gaps_s") from error
    if found is None:
        return None
    if not isinstance(found, list):
        raise place.error(f"is {found!r}, expected a list of seconds", "gaps_s")
    for gap in found:
        if isinstance(gap, bool) or not isinstance(gap, int | float) or not 0 <= gap <= LONGEST_GAP_S:
            raise place.error(f"{gap!r} is not 0 or more seconds", "gaps_s")
    return tuple(map(float, found))


def recorded_arrivals(conversations: Iterable[Conversation]) -> list[Arrival]:
    """
    Return an arrival for each of *conversations*, in order of time, the first one at 0.

    Raises:
        InputError: the first question of one has no timestamp.
    """
    began = []
    for conversation in conversations:
        at_s = recorded_s(conversation, ASKED, 1)
        if at_s is None:
            raise InputError(
                f'conversation "{conversation.id}": there is no timestamp of turn 1, so when it came is '
                "unknown; give every first question a timestamp, or choose another profile than recorded"
            )
        began.append((at_s, conversation.id))
    first_s = min((at_s for at_s, _ in began), default=0.0)
    # Sorted by time alone: of several at once, the data's order.
    return [
        Arrival(line=0, at_s=at_s - first_s, conversation=id)
        for at_s, id in sorted(began, key=lambda one: one[0])
    ]
