"""Pages from templates: everything that goes in is escaped, and made harmless to look at."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from replay import __version__
from replay.core.safe_text import visible
from replay.report import numbers
from replay.viewer.assertions_view import summarize_checks
from replay.viewer.gap_view import attribution_sentence, part_text, verdict_sentence
from replay.viewer.turn_view import evidence_text, judged_score


def render(template: str, /, **content: Any) -> str:
    """The page, fit for UTF-8."""
    return environment().get_template(template).render(**content)


@cache
def environment() -> Environment:
    """What renders the pages of runs."""
    made = make_environment(Path(__file__).resolve().parent / "templates")
    made.filters.update(
        attribution_sentence=attribution_sentence,
        summarize_checks=summarize_checks,
        count="{:,}".format,
        duration=numbers.duration,
        evidence=evidence_text,
        judged=judged_score,
        number=numbers.number,
        p=numbers.p_value,
        part=part_text,
        unit=numbers.unit_name,
        verdict_sentence=verdict_sentence,
    )
    return made


def make_environment(templates: Path) -> Environment:
    """What renders a folder of *templates*; a value is escaped unless one says otherwise, and none does."""
    made = Environment(
        loader=FileSystemLoader(templates),
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
    *value* for a script element that holds data.

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
