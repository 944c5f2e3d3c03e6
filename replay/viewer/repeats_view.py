"""A run with repeats: pass^k over k, how far plays lie apart, and a conversation's plays turn by turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple
from urllib.parse import quote

from replay.core.record import TurnRecord
from replay.report.curves import group_label, styles, to_percent
from replay.results.repeats import repeats_of
from replay.scorers.scorer import SHARE
from replay.statistics.group import Group, groups_in_order
from replay.statistics.pass_curves import PassCurve
from replay.statistics.repeats import RepeatNumbers
from replay.store.page_queries import RunBrowser, TurnScore
from replay.viewer.charts import (
    Cell,
    Chart,
    ChartRow,
    Trace,
    Variant,
    count_cell,
    curve_with_band,
    hover,
    layout,
    line,
    score_cells,
    text_cell,
    value_cell,
    with_bands_note,
)
from replay.viewer.numbers import number, with_unit
from replay.viewer.turn_view import TextLimits
from replay.web.pages import ClippedText

DRAWN_DEPTHS = 6
"""More curves than that for each system and policy can't be told apart; the table has all."""


def repeat_charts(repeats: RepeatNumbers) -> list[Chart]:
    """The charts; none of pass^k where no score is 0 or 1."""
    scores = list(dict.fromkeys(curve.score for curve in repeats.curves))
    lacking = any(curve.incomplete for curve in repeats.curves)
    passing = Chart(
        id="pass-by-k",
        title="How often all of k plays pass",
        note=with_bands_note(
            "Of whole conversations, thick and with its interval; of the first depths, thin. A curve that "
            "falls steeply is that of a system that passes by luck."
            + (" Where plays lack a score, a larger k rests on fewer cases." if lacking else ""),
            len({curve.group for curve in repeats.curves}),
        ),
        variants={score: _passes(repeats, score) for score in scores},
        summary="pass^k over k, by turn depth and of whole conversations; the table below has pass@k too.",
    )
    return [*([passing] if scores else []), _spread(repeats)]


def _passes(repeats: RepeatNumbers, score: str) -> Variant:
    curves = [curve for curve in repeats.curves if curve.score == score]
    groups = groups_in_order(curve.group for curve in repeats.curves)
    looks, ks = styles(groups), list(range(1, repeats.times + 1))
    traces: list[Trace] = []
    for curve in curves:
        if curve.whole:
            texts = [f"{number(one.value, SHARE)}, {one.scored:,} conversations" for one in curve.passes_all]
            traces += curve_with_band(
                curve.group, groups, looks[curve.group], ks, curve.passes_all, SHARE, texts
            )
        elif curve.depth is not None and curve.depth <= DRAWN_DEPTHS:
            traces.append(_thin(curve, groups, ks))
    return Variant(
        traces=traces,
        layout=layout(x="k", y=f"pass^k of {score}", unit=SHARE, from_zero=True),
        heads=("System", "Policy", "Of", "k", "Cases", "pass^k", "Low", "High", "pass@k", "Low", "High"),
        rows=[
            ChartRow(
                group=curve.group,
                cells=(
                    *_of(curve.group, curve.label),
                    count_cell(k),
                    count_cell(every.scored),
                    *score_cells(every, SHARE),
                    *score_cells(some, SHARE),
                ),
            )
            for curve in curves
            for k, every, some in zip(ks, curve.passes_all, curve.passes_any, strict=True)
        ],
    )


def _thin(curve: PassCurve, groups: Sequence[Group], ks: Sequence[int]) -> Trace:
    name = f"{group_label(curve.group, groups)}, {curve.label}"
    look = styles(groups)[curve.group]
    values = [to_percent(one.value, SHARE) for one in curve.passes_all]
    trace = line(curve.group, name, look, ks, values, hovertemplate=hover(name, "%{y:.1f} %"))
    trace["line"] |= {"dash": "dot", "width": 1}
    trace["marker"] |= {"symbol": f"{look.marker}-open", "size": 5}
    return {**trace, "showlegend": False}


def _spread(repeats: RepeatNumbers) -> Chart:
    groups = groups_in_order(row.group for row in repeats.spread)
    looks, ks = styles(groups), list(range(1, repeats.times + 1))
    variants = {}
    for score in dict.fromkeys(row.score for row in repeats.spread):
        rows = [row for row in repeats.spread if row.score == score]
        unit = SHARE if rows[0].percent else ""
        traces = []
        for row in rows:
            if row.depth is None:
                label = group_label(row.group, groups)
                values = [to_percent(value, unit) for value in row.values]
                more = {"hovertemplate": hover(label, "%{y:.4~g}"), "mode": "markers"}
                traces.append(line(row.group, label, looks[row.group], ks, values, **more))
        head = with_unit(score, unit)
        variants[score] = Variant(
            traces=traces,
            layout=layout(x="play", y=head, unit=unit, height=300),
            heads=("System", "Policy", "Depth", "Mean", "Standard deviation", "Least", "Most"),
            rows=[
                ChartRow(
                    group=row.group,
                    cells=(
                        *_of(row.group, "all" if row.depth is None else str(row.depth)),
                        *(
                            value_cell(value, lambda v, unit=unit: number(v, unit))  # type: ignore[misc]
                            for value in (row.mean, row.deviation, row.least, row.most)
                        ),
                    ),
                )
                for row in rows
            ],
        )
    return Chart(
        id="spread-between-plays",
        title="Each play by itself",
        note="How far the numbers lie apart says what the same conversations would give if they were asked "
        "again; the intervals above, what other conversations would.",
        variants=variants,
        summary="The score of each play, all depths together; the table below has the spread by depth.",
    )


def _of(group: Group, label: str) -> tuple[Cell, ...]:
    return text_cell(group.system), text_cell(group.policy), text_cell(label)


MOST_PLAYS = 12
"""More than that are not put beside each other."""

Address = Callable[[str, int | None], str]
"""Where the page of a play is, by its id, or a turn on it, by its depth."""
_Place = tuple[str, str, int]
"""System, policy, depth."""


def address_in_viewer(id: str, depth: int | None) -> str:
    """Seen from another conversation's page in the live view."""
    turn = "" if depth is None else f"#turn-{depth}"
    return f"conversation?id={quote(id, safe='')}{turn}"


class PlayLink(NamedTuple):
    """One play of the conversation."""

    repeat: int
    address: str
    is_shown: bool
    """It is the one whose page this is."""


class OtherPlay(NamedTuple):
    """A turn as it went in one of the plays."""

    link: PlayLink
    address: str
    """Of this turn on the play's page."""
    record: TurnRecord
    answer: ClippedText | None
    """None without an answer."""
    is_same: bool
    """The same text as in the play whose page this is."""
    scores: Sequence[tuple[str, str]]
    """Name and value, as shown, of those that there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaysView:
    """The plays of a conversation, the one whose page this is among them."""

    links: tuple[PlayLink, ...]
    times: int
    """Plays that there are to be, more than ``links`` where there are very many."""
    turns: Mapping[_Place, Sequence[OtherPlay]]
    passed: Mapping[_Place, Sequence[str]]
    """For each score that is 0 or 1, in how many of the plays it is 1, in words."""

    def of(self, record: TurnRecord) -> Sequence[OtherPlay]:
        """The turn of *record* in each play that has come to it."""
        return self.turns.get(_place(record), ())

    def summary(self, record: TurnRecord) -> str:
        """Return how often it passed, or how many answers there are."""
        plays = self.of(record)
        passed = self.passed.get(_place(record), ())
        answers = len({one.record.answer for one in plays if one.record.answer is not None})
        alike = {0: "no answer", 1: "always the same answer"}.get(answers, f"{answers} answers")
        return f"{len(plays)} plays: {', '.join([*passed, alike])}"


def plays_view(
    browser: RunBrowser,
    id: str,
    source: str,
    units: Mapping[str, str],
    room: TextLimits,
    address: Address,
) -> PlaysView | None:
    """
    The plays of the conversation that the data calls *source*, seen from the one called *id*.

    *units* are those of the run's scores. None where the run plays each conversation once.
    """
    repeats = repeats_of(browser)
    if repeats.times == 1:
        return None
    ids = list(islice(repeats.ids(source), MOST_PLAYS))
    if id not in ids:
        ids[-1] = id
    links, turns = [], dict[_Place, list[OtherPlay]]()
    values: dict[_Place, dict[str, list[float]]] = {}
    shown = {_place(record): record.answer for record in browser.records(id)}
    for one in ids:
        records = browser.records(one)
        pairs = dict.fromkeys((record.system, record.policy) for record in records)
        scores: dict[_Place, list[TurnScore]] = {}
        for score in browser.scores(one, list(units), pairs):
            scores.setdefault((score.system, score.policy, score.depth), []).append(score)
        repeat = next((record.repeat for record in records), ids.index(one) + 1)
        link = PlayLink(repeat, address(one, None), one == id)
        links.append(link)
        for record in records:
            place = _place(record)
            known = [(s.scorer, float(s.value)) for s in scores.get(place, ()) if _is_number(s.value)]
            for name, value in known:
                values.setdefault(place, {}).setdefault(name, []).append(value)
            turns.setdefault(place, []).append(
                OtherPlay(
                    link=link,
                    address=address(one, record.depth),
                    record=record,
                    answer=None if record.answer is None else room.clip(record.answer),
                    is_same=record.answer is not None and record.answer == shown.get(place),
                    scores=[(name, number(value, units.get(name, ""))) for name, value in known],
                )
            )
    passed = {
        place: [
            f"{name} passes in {found.count(1)} of {len(found)}"
            for name, found in by_name.items()
            if units.get(name) == SHARE and set(found) <= {0, 1}
        ]
        for place, by_name in values.items()
    }
    return PlaysView(links=tuple(links), times=repeats.times, turns=turns, passed=passed)


def _place(record: TurnRecord) -> _Place:
    return record.system, record.policy, record.depth


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)
