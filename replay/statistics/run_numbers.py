"""
What a report of a run is made from, however it is shown, and those parts of it that are small: why turns
failed, what servers say that they took, scores by what the data say of a question, and how often our
rewritten questions agree with the data's standalone ones.

Turns failed for reasons, each distinct one once, in full, with its count and one turn to look at. Two reasons
are one where they differ only in what changes from ask to ask: identifiers, moments, durations, and numbers
of five digits and more (ports, epochs, offsets). Shorter numbers are never taken for chance: statuses, depths
and counts say what went wrong.

Servers' times stand beside our own: means by depth, so that the parts add up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Unpack

import msgspec

from replay.core.record import ServerTimes, TurnRecord
from replay.statistics.checks import Checks
from replay.statistics.depth_table import DepthTable
from replay.statistics.estimate import Estimate, Sampling, estimate_cells, resampling
from replay.statistics.group import Group, group_json, group_of, groups_in_order
from replay.statistics.paired import HiddenPoints, PairedDifference
from replay.statistics.people import HumanScores
from replay.statistics.recorded import RecordedNumbers, ScriptSurvival
from replay.statistics.repeats import RepeatNumbers
from replay.statistics.score_column import ScoreColumn, check_columns
from replay.statistics.users import GroupInterventions, GroupSimulations

_CHANGING = re.compile(
    r"""
    \b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b                    # a UUID
    | \b0x[0-9a-f]+\b                                                  # an address in memory
    | \b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(?:Z|[+-]\d\d:?\d\d)?
    | \b\d+(?:\.\d+)?\s?(?:ms|s|secs?|seconds?|min|minutes?)\b         # a duration
    | \b(?=[^\W\d]*[a-z])(?=(?:[^\W\d]*\d){3})\w{10,}\b                # an id, as in req_011CSHoEeq
    | \d{5,}(?:\.\d+)?
    """,
    re.VERBOSE | re.IGNORECASE,
)


class FailedTurns(NamedTuple):
    """Turns of a system that ended alike, word for word, and the first of them."""

    system: str
    outcome: str
    error: str | None
    turns: int
    policy: str
    conversation: str
    depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureReason:
    """Turns of one system that failed for the same reason."""

    outcome: str
    reason: str | None
    """In full, in the words of the first such turn; None where the adapter gave none."""
    turns: int
    wordings: int
    """How many texts were taken for this reason; they differ in identifiers, times and long numbers."""
    system: str
    policy: str
    """Of the first such turn, as are conversation and depth."""
    conversation: str
    depth: int

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


def failure_reasons(failed: Iterable[FailedTurns]) -> tuple[FailureReason, ...]:
    """Return the distinct reasons of *failed*, most turns first; of equal counts, the first met."""
    found: dict[tuple[str, str, str], FailureReason] = {}
    for one in failed:
        key = one.system, one.outcome, _CHANGING.sub("#", one.error or "")
        if known := found.get(key):
            found[key] = replace(known, turns=known.turns + one.turns, wordings=known.wordings + 1)
        else:
            found[key] = FailureReason(
                outcome=one.outcome,
                reason=one.error,
                turns=one.turns,
                wordings=1,
                system=one.system,
                policy=one.policy,
                conversation=one.conversation,
                depth=one.depth,
            )
    return tuple(sorted(found.values(), key=lambda reason: -reason.turns))


class ServerTimedTurn(NamedTuple):
    """An answered turn of which the server said something."""

    group: Group
    depth: int
    latency_s: float
    ttft_s: float | None
    server: ServerTimes


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTimesRow:
    """Means over such turns of one depth, in seconds; each over the turns that have it, None if none has."""

    depth: int | None
    """None for all depths together."""
    turns: int
    """Turns with a time from the server."""
    latency_s: float | None
    ttft_s: float | None
    queue_s: float | None
    prefill_s: float | None
    decode_s: float | None
    server_s: float | None
    """All that is known of the server's own time."""
    share: float | None
    """What of the latency that is; the rest is network and client, and tools where some were called."""
    dropped: int
    """Values that could not be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupServerTimes:
    """One system under one policy, by depth and, last, all together."""

    group: Group
    rows: tuple[ServerTimesRow, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return group_json(self)


def count_server_times(turns: Iterable[ServerTimedTurn]) -> tuple[GroupServerTimes, ...]:
    """Return the means of each group that has such *turns*."""
    by_group: dict[Group, list[ServerTimedTurn]] = {}
    for turn in turns:
        by_group.setdefault(turn.group, []).append(turn)
    return tuple(
        GroupServerTimes(
            group=group,
            rows=tuple(
                _server_times_row(depth, [turn for turn in by_group[group] if depth in (None, turn.depth)])
                for depth in (*sorted({turn.depth for turn in by_group[group]}), None)
            ),
        )
        for group in groups_in_order(by_group)
    )


def _server_times_row(depth: int | None, turns: Sequence[ServerTimedTurn]) -> ServerTimesRow:
    known = [turn for turn in turns if turn.server.own_s is not None]
    own_s = sum(min(turn.server.own_s or 0.0, turn.latency_s) for turn in known)
    whole_s = sum(turn.latency_s for turn in known)
    return ServerTimesRow(
        depth=depth,
        turns=len(known),
        latency_s=_mean([turn.latency_s for turn in known]),
        ttft_s=_mean([turn.ttft_s for turn in known]),
        queue_s=_mean([turn.server.queue_s for turn in known]),
        prefill_s=_mean([turn.server.prefill_s for turn in known]),
        decode_s=_mean([turn.server.decode_s for turn in known]),
        server_s=own_s / len(known) if known else None,
        share=own_s / whole_s if whole_s else None,
        dropped=sum(turn.server.dropped for turn in turns),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnGroupRow:
    """The turns with one label, of one system under one policy."""

    label: str
    group: Group
    turns: int
    """Turns asked: answered or failed."""
    scores: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnGroups:
    """A run's turns in groups; those of which the data say nothing are in none."""

    by: str
    """What the labels are: ``kind``, ``sessions back`` or ``turns back``."""
    rows: tuple[TurnGroupRow, ...]
    """Label by label, and in each by system and policy."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "by": self.by,
            "rows": [
                {
                    "label": row.label,
                    "system": row.group.system,
                    "policy": row.group.policy,
                    "turns": row.turns,
                    "scores": {name: score.to_json() for name, score in row.scores.items()},
                }
                for row in self.rows
            ],
        }


_Label = tuple[int, str]
"""What labels are ordered by, and how they read."""


def _range(distance: int | None) -> _Label | None:
    """Return the range that *distance* is in: 0, 1, 2 to 3, 4 to 7 and so on."""
    if distance is None:
        return None
    first = 2 ** (distance.bit_length() - 1) if distance else 0
    return first, str(first) if first < 2 else f"{first} to {2 * first - 1}"


_LABELS: Mapping[str, Callable[[TurnRecord], _Label | None]] = {
    "kind": lambda record: (0, record.kind) if record.kind else None,
    "sessions back": lambda record: _range(record.sessions_back),
    "turns back": lambda record: _range(record.turns_back),
}


def turn_groups(
    records: Sequence[TurnRecord],
    scores: Mapping[str, ScoreColumn],
    **sampling: Unpack[Sampling],
) -> tuple[TurnGroups, ...]:
    """
    Return the groups of *records* by each thing that the data say of any of them.

    Args:
        records: All turns of the run; skipped ones count nowhere.
        scores: Columns over *records*.
        sampling: How intervals are made.

    Raises:
        ValueError: A column doesn't fit the records.
    """
    check_columns(records, scores)
    order = sorted(range(len(records)), key=lambda i: (records[i].conversation, records[i].depth))
    found: list[tuple[str, _Label, Group]] = []
    cells: dict[tuple[str, _Label, Group], list[int]] = {}
    groups = groups_in_order(map(group_of, records))
    for by, label_of in _LABELS.items():
        for index in order:
            record = records[index]
            if record.outcome != "skipped" and (label := label_of(record)) is not None:
                cells.setdefault((by, label, group_of(record)), []).append(index)
        found += sorted(
            (key for key in cells if key[0] == by), key=lambda key: (key[1], groups.index(key[2]))
        )
    if not found:
        return ()
    ids = [record.recorded_conversation for record in records]
    drawn = resampling(ids, **sampling)
    placed = [cells[key] for key in found]
    estimates = {name: estimate_cells(column, placed, drawn)[0] for name, column in scores.items()}
    rows = [
        (
            by,
            TurnGroupRow(
                label=label,
                group=group,
                turns=len(placed[position]),
                scores={name: estimates[name][position] for name in scores},
            ),
        )
        for position, (by, (_, label), group) in enumerate(found)
    ]
    return tuple(
        TurnGroups(by=by, rows=tuple(row for of, row in rows if of == by))
        for by in dict.fromkeys(by for by, _ in rows)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WordingAgreement:
    """The questions of one group that were rewritten and have a standalone question in the data."""

    group: Group
    questions: int
    equal: int
    """The same word for word, as ``em`` compares: lower case, no punctuation, no articles."""
    same_things: int
    """The same content words, in any order: all words but the function words of English."""
    nothing_else: int
    """No content word that the data's question hasn't got; it may have more."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Numbers and what is needed to read them."""

    table: DepthTable
    gaps: tuple[PairedDifference, ...] = ()
    """Differences on the same turns, as ``policy_gaps`` gives them."""
    hidden: tuple[HiddenPoints, ...] = ()
    """What testing with recorded answers hides of each system."""
    wording: tuple[WordingAgreement, ...] = ()
    """How often rewritten questions agree with the data's standalone ones."""
    failures: tuple[FailureReason, ...] = ()
    """Why turns failed, each reason once."""
    loop_lag_s: Mapping[str, float] = field(default_factory=dict)
    """How late the event loop was while each system was asked over a wire (99th percentile), by name."""
    signatures: Mapping[str, str] = field(default_factory=dict)
    """Of what moved the numbers beside the scorers, by name: policies, data."""
    remarks: tuple[str, ...] = ()
    """Further notes, in words, such as what judging took."""
    judges: tuple[Mapping[str, Any], ...] = ()
    """What is known of each judge, as plain values."""
    repeats: RepeatNumbers | None = None
    """What several plays of each conversation say; None where each was played once."""
    interventions: tuple[GroupInterventions, ...] = ()
    """What users did, of each system under each policy that has one."""
    simulations: tuple[GroupSimulations, ...] = ()
    """How conversations without recorded questions went, of each system and policy."""
    survival: tuple[ScriptSurvival, ...] = ()
    """How far the recorded script carries under each policy that judges questions."""
    turn_groups: tuple[TurnGroups, ...] = ()
    """Scores by what the data say of questions; empty where they say nothing."""
    people: HumanScores | None = None
    """What people said in the study that the run comes out of; None where there was none."""
    server: tuple[GroupServerTimes, ...] = ()
    """What servers say that they took, of each system and policy of which one said something."""
    checks: Checks | None = None
    """What became of the checks that the data makes; None where it makes none."""
    recorded: RecordedNumbers | None = None
    """Each answer held against the recorded one; None where that was not asked for."""
