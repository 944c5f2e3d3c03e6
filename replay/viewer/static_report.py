"""
A run in one file: no network, no server, and no larger than a mail takes.

The chart library and the conversations are in it as gzip in base64, and unpacked by the browser when they
are looked at. Conversations go in as long as there is room, those with the lowest score first; the page
says how many were left out.
"""

from __future__ import annotations

import gzip
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from replay.core.errors import writing
from replay.report.numbers import headline
from replay.results.run import Run
from replay.scorers.scorer import SHARE
from replay.viewer import pages
from replay.viewer.conversation_index import ConversationIndex, ConversationRow, ListQuery, Page
from replay.viewer.conversation_view import Address, conversation_view
from replay.viewer.depth_view import depth_view
from replay.viewer.gap_view import gap_view
from replay.viewer.live_run import LiveRun
from replay.viewer.load_view import load_charts
from replay.viewer.overview import overview
from replay.viewer.pages import render
from replay.viewer.people_view import people_view
from replay.viewer.run_numbers import BrokenRule, RunNumbers, run_numbers
from replay.viewer.turn_lists import interventions_view, recorded_view
from replay.viewer.turn_view import TextLimits

LIMIT_BYTES = 5_000_000
ROW_BYTES = 900
"""About what a conversation takes in the list, beside its own page."""
ROOM = TextLimits(first=600, most=3000, passages=3, steps=20)
VIEWS: Mapping[str, Callable[[Run, RunNumbers, Address], Any]] = {
    "overview": lambda run, numbers, _: overview(run, numbers),
    "depth": lambda _, numbers, __: depth_view(numbers),
    "gold": lambda _, numbers, __: gap_view(numbers),
    "people": lambda _, numbers, __: people_view(numbers.report.people),
    "recorded": lambda _, numbers, address: recorded_view(numbers.report.recorded, address),
    "load": lambda _, numbers, __: load_charts(numbers.load),
}
"""What pages show of a run's numbers, by their templates; turns are linked by their addresses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFile:
    """What a file holds."""

    bytes: int
    conversations: int
    of: int

    def summary(self) -> str:
        """Return the numbers of conversations and bytes in words."""
        return f"{self.conversations:,} of {self.of:,} conversations, {self.bytes / 1e6:.1f} MB"


def write_report(
    folder: str | Path,
    path: str | Path,
    *,
    resamples: int = 1000,
    limit_bytes: int = LIMIT_BYTES,
) -> ReportFile:
    """
    Write the run in *folder* as a page to *path*.

    Raises:
        RunError: there is no such run.
        InputError: the file can't be written.
    """
    watched = LiveRun("run", Path(folder))
    try:
        text, written = _page(watched, resamples, limit_bytes)
    finally:
        watched.close()
    with writing(Path(path)):
        Path(path).write_text(text, "utf-8")
    return written


def _page(watched: LiveRun, resamples: int, limit_bytes: int) -> tuple[str, ReportFile]:
    numbers = run_numbers(watched.run, watched.browser, resamples=resamples)
    units = {name: column.unit for name, column in numbers.report.table.columns.items()}
    order = shown if units.get(shown := headline(units)) == SHARE else "drift"
    index = watched.index()
    scripts = [pages.text_of(name) for name in (*pages.SCRIPTS, "static.js")]
    style = pages.text_of(pages.STYLE)
    content: dict[str, Any] = {
        "facts": watched.facts(),
        **{name: view(watched.run, numbers, _address({})) for name, view in VIEWS.items()},
        "scripts": [Markup(script) for script in scripts],
        "style": Markup(style),
        "policy": pages.policy_for_file(scripts, style),
        "plotly": pages.plotly().gzip_base64,
        "score_order": order,
        "limit_mb": f"{limit_bytes / 1e6:g}",
        "groups": index.groups,
        "rules": numbers.broken,
        "list_at": "#conversations",
        "in_viewer": False,
    }
    everything = index.page(ListQuery(order=order), count=10**9)
    empty = Page(rows=(), found=0, of=everything.of, score=order)

    def file_with(page: Page, fragments: Sequence[str], scores: Sequence[Any], breaking: Any) -> str:
        """Return the file in which the conversations of *page* are."""
        address = _address({row.id: place for place, row in enumerate(page.rows)})
        content["recorded"] = recorded_view(numbers.report.recorded, address)
        user = interventions_view(watched.browser, address) if watched.has_user else None
        listed = {"page": page, "fragments": fragments, "scores": scores, "breaking": breaking}
        return render("report.html", interventions=user, **content, **listed)

    base = len(file_with(empty, [], [], {}).encode())
    fragments = dict(_fragments(watched, everything.rows, numbers.broken, limit_bytes - base))
    by_id = _scores(index, list(numbers.report.table.columns), set(fragments))
    while True:
        kept = [row for row in everything.rows if row.id in fragments]
        text = file_with(
            Page(rows=tuple(kept), found=len(kept), of=everything.of, score=order),
            [fragments[row.id] for row in kept],
            [by_id[row.id] for row in kept],
            _breaking(numbers.broken, kept),
        )
        size = len(text.encode())
        if size < limit_bytes or not fragments:
            return text, ReportFile(bytes=size, conversations=len(kept), of=everything.of)
        for row in kept[-max(1, len(kept) // 10) :]:
            del fragments[row.id]


def _fragments(
    watched: LiveRun, rows: Sequence[ConversationRow], broken: Sequence[BrokenRule], room: int
) -> Iterable[tuple[str, str]]:
    """Yield the conversations' own pages, packed, as long as there is room."""
    kinds = watched.score_kinds()
    address = _address({row.id: place for place, row in enumerate(rows)})
    for row in rows:
        view = conversation_view(watched.browser, row.id, kinds, broken=broken, room=ROOM, address=address)
        if view is None:
            continue
        html = render("conversation.html", view=view, back="#conversations")
        packed = b64encode(gzip.compress(html.encode(), 9, mtime=0)).decode()
        room -= len(packed) + ROW_BYTES
        if room < 0:
            return
        yield row.id, packed


def _address(places: Mapping[str, int]) -> Address:
    """Return where a conversation's page, or a turn on it, is in the file, by its place in the list."""

    def address(id: str, depth: int | None) -> str:
        turn = "" if depth is None else f"-turn-{depth}"
        return f"#conversation-{places[id]}{turn}" if id in places else "#conversations"

    return address


def _breaking(
    broken: Sequence[BrokenRule], rows: Sequence[ConversationRow]
) -> dict[str, dict[int, list[int]]]:
    """By broken rule, then by place in the list: the depths of the turns that break it."""
    return {
        one.id: {
            place: list(dict.fromkeys(turn.depth for turn in one.by_conversation[row.id]))
            for place, row in enumerate(rows)
            if row.id in one.by_conversation
        }
        for one in broken
    }


def _scores(index: ConversationIndex, names: list[str], ids: set[str]) -> dict[str, dict[str, float]]:
    """Return each conversation's score by name, to sort by."""
    found: dict[str, dict[str, float]] = {id: {} for id in ids}
    for name in names:
        for row in index.page(ListQuery(order=name), count=10**9).rows:
            if row.id in found and row.score is not None:
                found[row.id][name] = round(row.score, 4)
    return found
