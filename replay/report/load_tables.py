"""The tables of a load report: columns of plain text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from replay.report.document import MOST_BARS, sparkline
from replay.report.printing import NONE, Layout, TextColumn, column, score_cells, score_column
from replay.report.run_tables import percent
from replay.scorers.scorer import SHARE
from replay.statistics.load.asks import TimeSeries
from replay.statistics.load.load_cell import LoadCell, Percentiles
from replay.statistics.load.load_level import GroupLoad, LevelSummary
from replay.statistics.load.load_summary import LoadSummary

KINDS: tuple[tuple[str, Callable[[LoadCell], Percentiles | None]], ...] = (
    ("latency", lambda cell: cell.latency),
    ("response", lambda cell: cell.response),
    ("TTFT", lambda cell: cell.ttft),
    ("between tokens", lambda cell: cell.inter_token),
    ("per token", lambda cell: cell.time_per_token),
)
_BY_DEPTH = (
    ("lat.", KINDS[0][1], ("p50", "p95", "p99")),
    ("resp.", KINDS[1][1], ("p95",)),
    ("TTFT", KINDS[2][1], ("p50", "p95")),
)
"""Few enough for a hundred characters beside a score; the report as JSON has all."""
_MET = {True: "met", False: "missed", None: NONE}


def number(value: float | None) -> str:
    """Return *value* with three digits, never with an exponent."""
    if value is None:
        return NONE
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 or not value else f"{value:.4f}"


def milliseconds(duration_s: float | None) -> str:
    return NONE if duration_s is None else number(1000 * duration_s)


def _without_silence(columns: Sequence[TextColumn]) -> list[TextColumn]:
    return [one for one in columns if any(cell != NONE for cell in one.cells)]


def level_columns(levels: Sequence[LevelSummary]) -> list[TextColumn]:
    """
    Return columns with a row for each level: what was offered, what was borne, and how far the generator kept
    up.
    """
    columns = [
        column("level", [level.played.name for level in levels], left=True),
        column("turns", [f"{level.total.turns:,}" for level in levels]),
        column("due/s", [number(level.rates.turns_due) for level in levels]),
        column("done/s", [number(level.rates.turns_answered) for level in levels]),
        column("conv/s", [number(level.rates.conversations_ended) for level in levels]),
        column("tok/s", [number(level.rates.tokens) for level in levels]),
        column("err %", [percent(level.total.error_share) for level in levels]),
        column("good %", [percent(one.goodput.share if one.goodput else None) for one in levels]),
        column("good/s", [number(one.goodput.per_s if one.goodput else None) for one in levels]),
        column("server %", [percent(level.total.server_share) for level in levels]),
        column("late p99", [milliseconds(one.lateness.p99_s if one.lateness else None) for one in levels]),
        column("goals", [_MET[level.played.met] for level in levels], left=True),
    ]
    return [columns[0], *_without_silence(columns[1:])]


def brief_columns(summary: LoadSummary, layout: Layout) -> list[TextColumn]:
    """
    Return columns with a row for each level: load, what was borne, how long users waited, and, of one system
    under one policy, how good the answers were; durations in milliseconds.
    """
    levels = summary.levels
    response = [level.total.response for level in levels]
    ttft = [level.total.ttft for level in levels]
    columns = [
        column("level", [level.played.name for level in levels], left=True),
        column("turns", [f"{level.total.turns:,}" for level in levels]),
        column("due/s", [number(level.rates.turns_due) for level in levels]),
        column("done/s", [number(level.rates.turns_answered) for level in levels]),
        column("err %", [percent(level.total.error_share) for level in levels]),
        column("resp. p50", [milliseconds(one.p50_s if one else None) for one in response]),
        column("p95", [milliseconds(one.p95_s if one else None) for one in response]),
        column("p99", [milliseconds(one.p99_s if one else None) for one in response]),
        column("TTFT p50", [milliseconds(one.p50_s if one else None) for one in ttft]),
        column("server %", [percent(level.total.server_share) for level in levels]),
    ]
    scores = []
    if all(len(level.groups) == 1 for level in levels):
        scores = _score_columns([level.groups[0].total for level in levels], summary, layout)
    goals = column("goals", [_MET[level.played.met] for level in levels], left=True)
    return [columns[0], *_without_silence([*columns[1:], *scores, goals])]


def duration_columns(levels: Sequence[LevelSummary]) -> list[TextColumn]:
    """Return columns with a row for each level and kind of duration, in milliseconds."""
    rows = [
        (level.played.name, name, found)
        for level in levels
        for name, of in KINDS
        if (found := of(level.total)) is not None
    ]
    names = [name for name, _, _ in rows]
    shown = [name if at == 0 or names[at - 1] != name else "" for at, name in enumerate(names)]
    return [
        column("level", shown, left=True),
        column("ms", [name for _, name, _ in rows], left=True),
        column("count", [f"{one.count:,}" for *_, one in rows]),
        *(
            column(name, [milliseconds(getattr(one, f"{name.replace('.', '_')}_s")) for *_, one in rows])
            for name in ("mean", "p50", "p90", "p95", "p99", "p99.9", "max")
        ),
    ]


def score_columns(summary: LoadSummary, layout: Layout) -> list[TextColumn]:
    """
    Return columns with a row for each level, system and policy: scores, and how much less than at the lowest
    level.
    """
    rows = [(level.played.name, group) for level in summary.levels for group in level.groups]
    groups = {group.group for _, group in rows}
    if len({group.system for group in groups}) > 1:
        names = [f"{name}, {group.group}" for name, group in rows]
    elif len(groups) > 1:
        names = [f"{name}, {group.group.policy}" for name, group in rows]
    else:
        names = [name for name, _ in rows]
    columns = [column("level", names, left=True)]
    cells = [group.total for _, group in rows]
    columns += _score_columns(cells, summary, layout)
    for name, unit in summary.score_units.items():
        drops = [cell.score_drops.get(name) for cell in cells]
        if any(drops):
            shown = score_cells(drops, percent=unit == SHARE, whole=layout.whole, signed=True)
            columns.append(column(f"{name} drop", shown, left=True))
    return columns


def _score_columns(cells: Sequence[LoadCell], summary: LoadSummary, layout: Layout) -> list[TextColumn]:
    return [
        score_column(name, unit, (cell.scores[name] for cell in cells), layout)
        for name, unit in summary.score_units.items()
    ]


def depth_columns(group: GroupLoad, summary: LoadSummary, layout: Layout) -> list[TextColumn]:
    """Return columns with a row for each depth and one for all; durations in milliseconds."""
    cells = [*group.depths.values(), group.total]
    columns = [
        column("depth", [*map(str, group.depths), "all"]),
        column("turns", [f"{cell.turns:,}" for cell in cells]),
        column("err %", [percent(cell.error_share) for cell in cells]),
    ]
    shown: list[TextColumn] = []
    for head, of, places in _BY_DEPTH:
        found = [of(cell) for cell in cells]
        for place in places:
            values = [None if one is None else getattr(one, f"{place}_s") for one in found]
            shown.append(column(f"{head} {place}", [milliseconds(value) for value in values]))
    shown.append(column("server %", [percent(cell.server_share) for cell in cells]))
    return [*columns, *_score_columns(cells, summary, layout), *_without_silence(shown)]


def series_columns(series: TimeSeries, *, bars: bool) -> list[TextColumn]:
    """Return columns with a row for each curve: its lowest and highest value, and with *bars* its course."""
    curves: list[tuple[str, Sequence[float | None], Callable[[float | None], str]]] = [
        ("sent/s", _per_s(series.sent, series.bucket_s), number),
        ("answered/s", _per_s(series.done, series.bucket_s), number),
        ("errors/s", _per_s(series.errors, series.bucket_s), number),
        ("latency p50 ms", series.latency_p50_s, milliseconds),
        ("latency p99 ms", series.latency_p99_s, milliseconds),
        ("response p99 ms", series.response_p99_s, milliseconds),
        ("TTFT p50 ms", series.ttft_p50_s, milliseconds),
        ("open conversations", series.open_conversations, number),
    ]
    told = [(name, values, show) for name, values, show in curves if any(v for v in values)]
    known = [[value for value in values if value is not None] for _, values, _ in told]
    columns = [
        column("over time", [name for name, _, _ in told], left=True),
        column("lowest", [show(min(values)) for values, (*_, show) in zip(known, told, strict=True)]),
        column("highest", [show(max(values)) for values, (*_, show) in zip(known, told, strict=True)]),
    ]
    if bars:
        drawn = [
            sparkline(_peaks(values), low=min(0.0, *here), high=max(here))
            for (_, values, _), here in zip(told, known, strict=True)
        ]
        columns.append(column("", drawn, left=True))
    return columns


def _peaks(values: Sequence[float | None]) -> list[float | None]:
    """Return one value for each bar: the highest of neighbours, so that no peak is lost."""
    size = -(-len(values) // MOST_BARS)
    parts = [values[at : at + size] for at in range(0, len(values), size)]
    return [max((v for v in part if v is not None), default=None) for part in parts]


def _per_s(counts: Sequence[int], bucket_s: float) -> list[float | None]:
    return [count / bucket_s for count in counts]


def _seconds(offset_s: float | None) -> str:
    """To a tenth of a millisecond, however large: what a clock shows says nothing, its changes do."""
    return NONE if offset_s is None else f"{offset_s:+,.4f}"


def generator_columns(levels: Sequence[LevelSummary]) -> list[TextColumn]:
    """
    Return columns with a row for each generator at each level: how late, in milliseconds, and how busy it
    was.
    """
    rows = [
        (level.played.name if at == 0 else "", one)
        for level in levels
        for at, one in enumerate(level.played.generators)
    ]
    late = [one.lateness for _, one in rows]
    columns = [
        column("level", [name for name, _ in rows], left=True),
        column("generator", [str(one.number + 1) for _, one in rows]),
        column("host", [one.host for _, one in rows], left=True),
        column("conv.", [f"{one.conversations:,}" for _, one in rows]),
        column("busy %", [percent(one.busy) for _, one in rows]),
        column("late p50", [milliseconds(one.p50_s if one else None) for one in late]),
        column("p99", [milliseconds(one.p99_s if one else None) for one in late]),
        column("max", [milliseconds(one.max_s if one else None) for one in late]),
        column("lag p99", [milliseconds(one.lag.p99_s if one.lag else None) for _, one in rows]),
        column("clock s", [_seconds(one.clock.offset_s if one.clock else None) for _, one in rows]),
        column("+-", [milliseconds(one.clock.uncertainty_s if one.clock else None) for _, one in rows]),
        column("moved", [milliseconds(one.clock_moved_s) for _, one in rows]),
    ]
    return [*columns[:4], *_without_silence(columns[4:])]


def error_columns(levels: Sequence[LevelSummary]) -> list[TextColumn]:
    """Return columns with a row for each kind of failure at each level."""
    rows = [(level.played.name, error) for level in levels for error in level.errors]
    return [
        column("level", [name for name, _ in rows], left=True),
        column("error", [error.outcome for _, error in rows], left=True),
        column("turns", [f"{error.turns:,}" for _, error in rows]),
        column("first at s", [number(error.first_s) for _, error in rows]),
    ]
