"""
What curves over turn depth look like, wherever they are drawn.

The colours are Okabe and Ito's (*Color Universal Design*, 2008), told apart with any kind of colour
vision; each line also has a dash and a marker of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from replay.scorers.scorer import SHARE
from replay.statistics.group import Group

_BY_POLICY = {"gold": 0, "pred": 1, "rewrite": 2, "replace": 3, "augment": 4, "filter": 5}
_DASHES = ("solid", "dash", "solid", "dashdot", "longdash", "dot", "longdashdot", "solid")
_SYSTEM_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_MARKERS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "x", "star", "pentagon")


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How one group is drawn, everywhere."""

    color: str
    dash: str
    marker: str

    @property
    def number(self) -> int:
        """The colour's place in the palette, for a page's own marks."""
        return int(self.color.removeprefix("--c"))


def styles(groups: Sequence[Group]) -> dict[Group, Style]:
    """Colours and markers by policy; dashes by policy too, or by system where there are several."""
    systems = list(dict.fromkeys(group.system for group in groups))
    taken = {group.policy for group in groups if group.policy in _BY_POLICY}
    free = iter([n for n in range(8) if n not in {_BY_POLICY[p] for p in taken}] * (len(groups) + 1))
    places = {p: _BY_POLICY[p] if p in _BY_POLICY else next(free, 7) for p in _policies(groups)}
    found = {}
    for group in groups:
        place = places[group.policy]
        dash = _DASHES[place] if len(systems) == 1 else _SYSTEM_DASHES[systems.index(group.system) % 6]
        found[group] = Style(color=f"--c{place}", dash=dash, marker=_MARKERS[place])
    return found


def _policies(groups: Iterable[Group]) -> list[str]:
    return list(dict.fromkeys(group.policy for group in groups))


def group_label(group: Group, groups: Iterable[Group]) -> str:
    """The policy alone where there is one system."""
    return group.policy if len({one.system for one in groups}) == 1 else f"{group.system}, {group.policy}"


def to_percent(value: float | None, unit: str) -> float | None:
    """Shares in per cent."""
    return None if value is None else round(100 * value, 6) if unit == SHARE else value


def stretches(low: Sequence[float | None], high: Sequence[float | None]) -> list[list[int]]:
    """Places in a row where both ends are known."""
    found: list[list[int]] = []
    for i, ends in enumerate(zip(low, high, strict=True)):
        if None in ends:
            continue
        if found and found[-1][-1] == i - 1:
            found[-1].append(i)
        else:
            found.append([i])
    return found


def tick_step(count: int) -> int:
    """A distance between depths on an axis that leaves the numbers apart."""
    return next((step for step in (1, 2, 5, 10, 20, 50, 100) if count / step <= 24), 200)
