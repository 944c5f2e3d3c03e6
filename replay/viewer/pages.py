"""Pages from templates: everything that goes in is escaped, and made harmless to look at."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment

from replay.report import numbers
from replay.viewer.assertions_view import summarize_checks
from replay.viewer.gap_view import attribution_sentence, part_text, verdict_sentence
from replay.viewer.turn_view import evidence_text, judged_score
from replay.web.pages import make_environment


def render(template: str, /, **content: Any) -> str:
    """Return the page, fit for UTF-8."""
    return environment().get_template(template).render(**content)


@cache
def environment() -> Environment:
    """Return the template environment of the pages of runs."""
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
