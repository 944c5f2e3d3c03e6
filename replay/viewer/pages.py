"""
Pages from templates, their scripts and styles, and the Content-Security-Policy that lets in nothing else.

Everything that goes into a page is escaped, and made harmless to look at.

Charts are drawn by Plotly, which ships its script inside its Python package: nothing is fetched, nothing is
built, and nothing of others lies in our tree. Vega was the alternative; its expressions need
``unsafe-eval`` or an interpreter beside it.

Plotly makes style elements while it runs. They are let in by their hashes: the empty one that it fills
through the style sheet's own interface, and those of its map library, which are read out of its script.
"""

from __future__ import annotations

import gzip
import re
from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jinja2 import Environment

from replay.core.errors import PluginError
from replay.report import numbers
from replay.report.findings import reason_text, turn_text
from replay.statistics.checks import reasons_text
from replay.viewer.assertions_view import objective_value, summarize_checks
from replay.viewer.gap_view import attribution_sentence, part_text, verdict_sentence
from replay.viewer.run_numbers import checks_id
from replay.viewer.turn_view import evidence_text, judged_score, laid_out
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
        duration=numbers.duration,
        evidence=evidence_text,
        judged=judged_score,
        laid_out=laid_out,
        listed=", ".join,
        number=numbers.number,
        objective_value=objective_value,
        reason=reason_text,
        reasons=reasons_text,
        turn=turn_text,
        p=numbers.p_value,
        part=part_text,
        unit=numbers.unit_name,
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
