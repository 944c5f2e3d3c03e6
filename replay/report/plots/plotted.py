"""What a picture shows: the groups of one or more runs, each with its own look."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from replay.core.errors import InputError
from replay.core.settings.faults import nearest
from replay.report.pairing import select_groups
from replay.report.plots.drawing import COLOURS, DASHES, MARKERS, plain
from replay.statistics.depth_row import FEW_CONVERSATIONS
from replay.statistics.depth_table import GroupTable
from replay.statistics.group import Group
from replay.statistics.run_comparison import ScoredRun
from replay.statistics.run_numbers import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class PlottedRun:
    """A run with its numbers, and the groups of it that are to be shown."""

    scored: ScoredRun
    report: Report
    groups: tuple[Group, ...]

    def tables(self) -> list[GroupTable]:
        """The depth tables of the groups shown, in their order."""
        return [table for table in self.report.table.groups if table.group in self.groups]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How a group is drawn."""

    label: str
    colour: str
    dashes: str
    marker: str

    @property
    def line(self) -> dict[str, Any]:
        """Arguments of a line."""
        return {"color": self.colour, "linestyle": self.dashes, "marker": self.marker}

    def markers(self, conversations: Sequence[int]) -> dict[str, Any]:
        """Arguments of markers alone, hollow where a point rests on few conversations."""
        few = [count < FEW_CONVERSATIONS for count in conversations]
        return {
            "marker": self.marker,
            "s": 12,
            "linewidths": 0.9,
            "edgecolors": self.colour,
            "facecolors": ["white" if hollow else self.colour for hollow in few],
            "zorder": 3,
        }


def choose(
    runs: Sequence[tuple[ScoredRun, Report]], systems: Collection[str], policies: Collection[str]
) -> list[PlottedRun]:
    """
    The groups of *systems* and *policies* in each of *runs*; of all where none are named.

    Raises:
        InputError: a run has no record, or no group of that name.
    """
    chosen = []
    for scored, report in runs:
        if not scored.groups():
            raise InputError(f"{scored.name}: no turn has been asked yet, so there is nothing to draw")
        groups = select_groups(scored.groups(), systems, policies)
        if not groups:
            raise InputError(f"{scored.name}: no system was played under that policy")
        chosen.append(PlottedRun(scored=scored, report=report, groups=tuple(groups)))
    return chosen


def looks(runs: Sequence[PlottedRun]) -> dict[tuple[int, Group], Look]:
    """
    A look for each group of each run, by the run's place.

    Where both policies and systems (or runs) differ, colour tells policies and dashes and markers the
    rest; otherwise all three tell what differs.
    """
    keys = [(place, group) for place, run in enumerate(runs) for group in run.groups]
    sources = list(dict.fromkeys((place, group.system) for place, group in keys))
    policies = list(dict.fromkeys(group.policy for _, group in keys))
    found = {}
    for place, group in keys:
        source, policy = sources.index((place, group.system)), policies.index(group.policy)
        colour, dashes = policy, source
        if len(policies) == 1:
            colour = source
        elif len(sources) == 1:
            dashes = policy
        found[place, group] = Look(
            label=plain(_label(runs, place, group, len(policies))),
            colour=COLOURS[colour % len(COLOURS)],
            dashes=DASHES[dashes % len(DASHES)],
            marker=MARKERS[dashes % len(MARKERS)],
        )
    return found


def _label(runs: Sequence[PlottedRun], place: int, group: Group, policies: int) -> str:
    systems = {(one.system) for run in runs for one in run.groups}
    parts = [runs[place].scored.name] if len(runs) > 1 else []
    parts += [group.system] if len(systems) > 1 else []
    parts += [group.policy] if policies > 1 or not parts else []
    return ", ".join(parts)


def chosen_metrics(runs: Sequence[PlottedRun], metrics: Sequence[str]) -> list[str]:
    """
    *metrics*, or ``f1`` where every run has it and else the first score that all have.

    Raises:
        InputError: a run lacks one, or they have none in common.
    """
    for run in runs:
        known = run.report.table.columns
        for name in metrics:
            if name not in known:
                raise InputError(
                    f'{run.scored.name} has no score "{name}"{nearest(name, known)} '
                    f"(known: {', '.join(known) or 'none'}); `replay score` adds one"
                )
    if metrics:
        return list(dict.fromkeys(metrics))
    common = [n for n in runs[0].report.table.columns if all(n in r.report.table.columns for r in runs)]
    if not common:
        raise InputError("there is no score to draw that every run has; `replay score` adds one")
    return ["f1"] if "f1" in common else common[:1]
