"""Pages from templates: what goes in is escaped, and made harmless to look at (``replay.core.terminal``)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from replay import __version__
from replay.core.terminal import visible

FOLDER = Path(__file__).resolve().parent
STATIC = FOLDER / "static"
"""What pages of all servers load: the style sheet and the choice of its theme."""


def make_environment(templates: Path) -> Environment:
    """Return what renders a folder of *templates*; values are escaped unless one says otherwise."""
    made = Environment(
        loader=FileSystemLoader([templates, FOLDER / "templates"]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(json=_json, path=_path)
    made.globals.update(version=__version__)
    return made


def _harmless(value: Any) -> Any:
    """Called by the templates on every value that they print."""
    if isinstance(value, Markup):
        return value
    return visible(value) if isinstance(value, str) else "" if value is None else value


def _json(value: Any) -> Markup:
    """
    Return *value* for a script element that holds data.

    ``</script>``, ``<!--`` and the separators that end a line in older scripts can't stand in it.

    Raises:
        ValueError: a number in it is not finite, which JSON doesn't know.
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _path(text: str) -> str:
    """*text* as one part of an address."""
    return quote(text.encode("utf-8", "surrogatepass"), safe="")
