"""What servers say that they took, beside our own times: means by depth, so that the parts add up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from replay.core.record import ServerTimes
from replay.statistics.group import Group, group_json, groups_in_order


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
                _row(depth, [turn for turn in by_group[group] if depth in (None, turn.depth)])
                for depth in (*sorted({turn.depth for turn in by_group[group]}), None)
            ),
        )
        for group in groups_in_order(by_group)
    )


def _row(depth: int | None, turns: Sequence[ServerTimedTurn]) -> ServerTimesRow:
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
