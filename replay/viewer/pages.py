"""
Pages from templates, their scripts and styles, the Content-Security-Policy that lets in nothing else, and a
run in one file: no network, no server, and no larger than a mail takes.

Everything that goes into a page is escaped, and made harmless to look at.

Charts are drawn by Plotly, which ships its script inside its Python package: nothing is fetched, nothing is
built, and nothing of others lies in our tree. Vega was the alternative; its expressions need
``unsafe-eval`` or an interpreter beside it. Plotly makes style elements while it runs. They are let in by
their hashes: the empty one that it fills through the style sheet's own interface, and those of its map
library, which are read out of its script.

In a file the chart library and the conversations are gzip in base64, and unpacked by the browser when they
are looked at. Conversations go in as long as there is room, those with the lowest score first; the page says
how many were left out.
"""

from __future__ import annotations

import gzip
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from replay.core.errors import PluginError, writing
from replay.report.findings import reason_text, turn_text
from replay.report.numbers import duration, headline, number, p_value, unit_name
from replay.results.run import Run
from replay.scorers.scorer import SHARE
from replay.statistics.checks import reasons_text
from replay.viewer.conversation_index import ConversationIndex, ConversationRow, ListQuery, Page
from replay.viewer.conversation_view import conversation_view
from replay.viewer.depth_view import depth_view
from replay.viewer.difference_views import attribution_sentence, gap_view, part_text, verdict_sentence
from replay.viewer.live_run import LiveRun
from replay.viewer.load_view import load_charts
from replay.viewer.overview import objective_value, overview, summarize_checks
from replay.viewer.people_view import people_view
from replay.viewer.run_numbers import BrokenRule, RunNumbers, checks_id, run_numbers
from replay.viewer.turn_view import (
    Address,
    TextLimits,
    evidence_text,
    interventions_view,
    judged_score,
    laid_out,
    recorded_view,
)
from replay.web.app import content_policy, stamp_of
from replay.web.pages import STATIC, make_environment

HERE = Path(__file__).resolve().parent


def render(template: str, /, **content: Any) -> str:
    """Return the page, fit for UTF-8."""
    return environment().get_template(template).render(**content)


@cache
def environment() -> Environment:
    """Return the template environment of the pages of runs."""
    made = make_environment(HERE / "templates")
    made.filters.update(
        attribution_sentence=attribution_sentence,
        checks_id=lambda row: checks_id(row.name, row.group, row.depth),
        summarize_checks=summarize_checks,
        count="{:,}".format,
        duration=duration,
        evidence=evidence_text,
        judged=judged_score,
        laid_out=laid_out,
        listed=", ".join,
        number=number,
        objective_value=objective_value,
        reason=reason_text,
        reasons=reasons_text,
        turn=turn_text,
        p=p_value,
        part=part_text,
        unit=unit_name,
        verdict_sentence=verdict_sentence,
    )
    return made


_FILES = {path.name: path for folder in (STATIC, HERE / "static") for path in sorted(folder.iterdir())}
SCRIPTS = ("theme.js", "charts.js", "page.js")
"""In every page, in this order; ``static.js`` or ``live.js`` follows."""
STYLE = "page.css"

_STYLE_TEXTS = re.compile(
    r"""createElement\("style"\).{0,300}?\.textContent=(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")"""
)
_ESCAPES = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_PLAIN_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plotly:
    """The chart library's script."""

    version: str
    script: bytes
    style_hashes: tuple[str, ...]
    """Of the style elements that it makes."""

    @property
    def gzip_base64(self) -> str:
        """The script as text in base64, of gzip; a third of its size."""
        return b64encode(gzip.compress(self.script, 9, mtime=0)).decode()


@cache
def plotly() -> Plotly:
    """
    Return the installed chart library.

    Raises:
        PluginError: it is not installed, or lacks its script.
    """
    found = find_spec("plotly")  # importing it would take longer than all the rest
    folders = list(found.submodule_search_locations or ()) if found else []
    path = Path(folders[0], "package_data", "plotly.min.js") if folders else None
    if path is None or not path.is_file():
        raise PluginError(
            "the pages' charts need the package plotly with its package_data/plotly.min.js; "
            "install it with: pip install 'plotly>=6'"
        )
    script = path.read_bytes()
    texts = [a or b for a, b in _STYLE_TEXTS.findall(script.decode("utf-8"))]
    hashes = [hash_of(""), *(hash_of(_ESCAPES.sub(_unescape, text)) for text in texts)]
    return Plotly(version=version("plotly"), script=script, style_hashes=tuple(dict.fromkeys(hashes)))


def _unescape(escape: re.Match[str]) -> str:
    code = escape[1]
    if code[0] in "ux" and len(code) > 1:
        return chr(int(code[1:], 16))
    return _PLAIN_ESCAPES.get(code, code)


def hash_of(content: str | bytes) -> str:
    """Return the hash of a script or style as a Content-Security-Policy has it: ``'sha256-...'``."""
    data = content.encode() if isinstance(content, str) else content
    return f"'sha256-{b64encode(sha256(data).digest()).decode()}'"


def text_of(name: str) -> str:
    """Return a file of ours."""
    return _FILES[name].read_text("utf-8")


def find(name: str) -> bytes | None:
    """Return the script or style that pages load by *name*; None where there is none."""
    if name == "plotly.js":
        return plotly().script
    return _FILES[name].read_bytes() if name in _FILES else None


@cache
def stamp() -> str:
    """Return what changes with every file of ours."""
    return stamp_of(path for _, path in sorted(_FILES.items()))


def policy_for_file(scripts: list[str], style: str) -> str:
    """Return the policy of a file that holds *scripts* and *style*; nothing may be loaded from anywhere."""
    names = " ".join([*(hash_of(script) for script in scripts), hash_of(plotly().script)])
    styles = " ".join([hash_of(style), *plotly().style_hashes])
    return (
        f"default-src 'none'; script-src {names}; style-src {styles}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def policy_for_server() -> str:
    """Return the policy of a served page: its own files, no inline script at all."""
    return content_policy(styles=plotly().style_hashes, images="data: blob:")


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
    scripts = [text_of(name) for name in (*SCRIPTS, "static.js")]
    style = text_of(STYLE)
    content: dict[str, Any] = {
        "facts": watched.facts(),
        **{name: view(watched.run, numbers, _address({})) for name, view in VIEWS.items()},
        "scripts": [Markup(script) for script in scripts],
        "style": Markup(style),
        "policy": policy_for_file(scripts, style),
        "plotly": plotly().gzip_base64,
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
