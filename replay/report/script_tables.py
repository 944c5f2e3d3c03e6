"""
Tables and sections of how conversations went: how far the recorded script carries, what a user did where it
did not, how those went that have none; and recorded answers against those of now.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from replay.core.record import TurnRecord
from replay.report.document import Block, Cases, CaseText, ItemList, ReportSection, Table
from replay.report.findings import MOST_TURNS
from replay.report.numbers import count_text
from replay.report.printing import LAYOUTS, Layout, TextColumn, column, depth_column, score_column, shorten
from replay.scorers.scorer import SHARE
from replay.statistics.recorded import (
    VERDICTS,
    RecordedNumbers,
    RecordedRow,
    RecordedTurn,
    ScriptSurvival,
    SurvivalRow,
    WorseLimit,
)
from replay.statistics.users import ENDINGS, OCCASIONS, Control, GroupInterventions, GroupSimulations

SURVIVAL_TITLE = "Script survival"
SURVIVAL_NOTE = (
    "script survival: the share of conversations of which every recorded question up to a depth still "
    "means the same after the system's own answers (Kaplan-Meier; intervals are Wilson's, with "
    "Greenwood's variance). What ends early, by a failed ask or a question without a verdict, leaves the "
    "count there."
)
INTERVENTIONS_NOTE = (
    "a user words a turn where the recorded question does not fit; depth counts recorded questions "
    "(intents), exchanges stand beside it. Scores under different users can't be compared. On recorded "
    "answers (adapter scripted) each intervention is an error of the user's own."
)

_CONTROL_TEXTS: Mapping[Control, str] = {
    "recorded": " It gave the recorded answers: that is the error rate of this program's own.",
    "references": " It gave recorded answers, in part other references than the recorded history holds: "
    "the error rate of this program's own is at most that.",
}


SIMULATIONS_TITLE = "Simulated conversations"
SIMULATIONS_NOTE = (
    "simulated conversations: how each ended, as its user says; depth counts turns. Their lengths differ, so "
    "a depth has the conversations that came so far. Scores under different users can't be compared, and "
    "simulated users are easier to please than people."
)
_ENDING_NAMES: Mapping[str, str] = {
    "goal-reached": "goal reached",
    "given-up": "given up",
    "turn-limit": "turn limit",
    "skip": "no words",
}


def survival_columns(found: Sequence[ScriptSurvival], layout: Layout = LAYOUTS[0]) -> list[TextColumn]:
    """Return a row for each depth, a column for each system and those of its policies that say the same."""
    depths = range(1, 1 + max(len(one.rows) for one in found))
    one_system = len({one.group.system for one in found}) == 1
    # Up to the first break all policies with the system's own answers ask the same, so most say the same.
    alike: dict[tuple[str, tuple[SurvivalRow, ...]], list[str]] = {}
    for one in found:
        alike.setdefault((one.group.system, one.rows), []).append(one.group.policy)
    return [
        depth_column(depths),
        *(
            score_column(
                f"{'' if one_system else f'{system}, '}{'/'.join(policies)}",
                SHARE,
                [rows[depth - 1] if depth <= len(rows) else None for depth in depths],
                layout,
            )
            for (system, rows), policies in alike.items()
        ),
    ]


def intervention_columns(found: GroupInterventions) -> list[TextColumn]:
    """Return a row for each depth, a column for each occasion that there was."""
    rows, total = found.rows, found.total
    return [
        depth_column(row.depth for row in rows),
        column("intents", (str(row.intents) for row in rows)),
        column("exchanges", (str(row.exchanges) for row in rows)),
        *(
            column(name, (str(row.occasions.get(name, 0)) for row in rows))
            for name in OCCASIONS
            if name in total.occasions
        ),
        column("nothing said", (str(row.unsaid) for row in rows)),
        column("rejected", (str(row.rejected) for row in rows)),
    ]


def intervention_notes(found: Sequence[GroupInterventions]) -> Iterator[str]:
    """Yield how the tables are to be read, and what the users did in all."""
    if found:
        yield INTERVENTIONS_NOTE
    for one in found:
        total = one.total
        share = 100 * total.touched / total.intents
        turns = f"{total.touched:,} of {total.intents:,} turns ({share:.1f} %)"
        said = f"{one.group}: a user did something in {turns}"
        cost = "" if not total.asks else f"; {total.asks:,} asks of its model"
        cost += "" if not total.asks or total.cost_usd is None else f", {total.cost_usd:.4g} USD"
        yield f"{said}{cost}.{_CONTROL_TEXTS[one.control] if one.control else ''}"


def simulation_columns(found: Sequence[GroupSimulations]) -> list[TextColumn]:
    """Return a row for each system and policy, a column for each way in which a conversation ended."""
    return [
        column("system", (one.group.system for one in found), left=True),
        column("policy", (one.group.policy for one in found), left=True),
        column("plays", (str(one.plays) for one in found)),
        column("turns", (str(one.turns) for one in found)),
        *(
            column(_ENDING_NAMES[name], (str(one.endings.get(name, 0)) for one in found))
            for name in ENDINGS
            if name in ("goal-reached", "given-up") or any(name in one.endings for one in found)
        ),
        *(
            column(name, (str(getattr(one, of)) for one in found))
            for name, of in (("failed", "failed"), ("under way", "under_way"))
            if any(getattr(one, of) for one in found)
        ),
        column("rejected", (str(one.rejected) for one in found)),
    ]


def ending_text(end: TurnRecord) -> str:
    """Return in words how a conversation ended."""
    (done,) = end.interventions
    said = _ENDING_NAMES.get(done.move, done.move)
    by = ", says the user" if done.move in ("goal-reached", "given-up") else ""
    return f"{said}{by}{f': {done.note}' if done.note else ''}"


def simulation_notes(found: Sequence[GroupSimulations]) -> Iterator[str]:
    """Yield how the table is to be read, and what users had to be asked for it."""
    if found:
        yield SIMULATIONS_NOTE
    for one in found:
        ways = [f"{count:,} {_ENDING_NAMES[name]}" for name, count in one.endings.items()]
        ways += [f"{one.failed:,} failed"] if one.failed else []
        cost = "" if not one.asks else f"; {one.asks:,} asks of the user's model"
        cost += "" if not one.asks or one.cost_usd is None else f", {one.cost_usd:.4g} USD"
        plays = count_text(one.plays, "conversation")
        yield f"{one.group}: of {plays} {', '.join(ways) or 'none is over'}{cost}."


RECORDED_TITLE = "Recorded against now"
DIFFERS_NOTE = "Differs: not shown to be the same, and nothing says which answer is better."
LONG = 12
"""A table with more rows is folded, so that a comment stays short."""
MOST_FAILED = 5
"""Turns that are named where a build fails; the report has more."""


def recorded_sections(recorded: RecordedNumbers) -> Iterator[ReportSection]:
    """Yield the verdicts by system, policy and depth, with what decided, and the first worse turns."""
    decided = [
        f"{row.group}: decided by {', '.join(f'{name} {count:,}' for name, count in row.by.items())}"
        for row in recorded.totals
    ]
    blocks: list[Block] = [
        Table(columns=lambda layout: recorded_columns(recorded.rows), named=2),
        ItemList([*decided, DIFFERS_NOTE]),
    ]
    yield ReportSection(
        name="recorded", title=RECORDED_TITLE, blocks=blocks, folded=len(recorded.rows) > LONG
    )
    # What several systems and policies have in common stands once.
    worse: dict[tuple[object, ...], list[RecordedTurn]] = {}
    for one in recorded.turns:
        if one.verdict == "worse":
            worse.setdefault((one.conversation, one.depth, *one.texts), []).append(one)
    if worse:
        more = len(worse) - MOST_TURNS
        cases = [CaseText(_turn_title(alike), alike[0].texts) for alike in islice(worse.values(), MOST_TURNS)]
        rest = f"and {count_text(more, 'more turn')}; `replay report --json` has all" if more > 0 else ""
        yield ReportSection(name="worse turns", title="Worse than recorded", blocks=[Cases(cases, rest)])


def recorded_columns(rows: Sequence[RecordedRow]) -> list[TextColumn]:
    """Return a row for each depth of each group, and all depths last: turns by verdict, with their share."""
    return [
        column("system", (row.group.system for row in rows), left=True),
        column("policy", (row.group.policy for row in rows), left=True),
        depth_column(row.depth for row in rows),
        column("turns", (f"{row.turns:,}" for row in rows)),
        *(
            column(name, (f"{row.counts[name]:,} ({100 * row.share(name):.0f} %)" for row in rows))
            for name in VERDICTS
        ),
    ]


def _turn_title(alike: Sequence[RecordedTurn]) -> str:
    """Return ``depth 2 of talk3 (bot, gold; bot, pred)``."""
    groups = "; ".join(str(one.group) for one in alike)
    return f"depth {alike[0].depth} of {alike[0].conversation} ({groups})"


def worse_lines(recorded: RecordedNumbers, limit: WorseLimit) -> list[str]:
    """Return a line for each system and policy, whether it keeps *limit*, with the first turns that don't."""
    lines = [f"Worse than recorded, at most {limit} allowed:"]
    for row in recorded.totals:
        mark = "ok  " if limit.holds(row) else "FAIL"
        lines.append(f"{mark}  {row.group}: {row.counts['worse']:,} of {count_text(row.turns, 'turn')}")
        if not limit.holds(row):
            worse = [one for one in recorded.turns if one.group == row.group and one.verdict == "worse"]
            lines += [
                f"        depth {one.depth} of {one.conversation}: {shorten(one.evidence, 200)}"
                for one in worse[:MOST_FAILED]
            ]
            more = len(worse) - MOST_FAILED
            lines += [f"        and {more:,} more"] if more > 0 else []
    return lines
