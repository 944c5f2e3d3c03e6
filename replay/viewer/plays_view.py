"""
The plays of one conversation beside each other, turn by turn: in a run with repeats, why a turn passes in one
play and not in another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple
from urllib.parse import quote

from replay.core.record import TurnRecord
from replay.results.repeats import repeats_of
from replay.scorers.scorer import SHARE
from replay.store.page_queries import RunBrowser, TurnScore
from replay.viewer.numbers import number
from replay.viewer.text_limits import TextLimits
from replay.web.pages import ClippedText

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
