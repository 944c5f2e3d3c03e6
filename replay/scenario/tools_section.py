"""The section ``tools``: what the calls of tools that systems answer with come to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from replay.core.settings.bounds import PositiveSeconds, at_most
from replay.core.settings.choice import Section


class ListedResultSection(Section):
    """What some calls of one tool come to."""

    name: str = Field(min_length=1)
    """The tool's name."""
    arguments: Any = "any"
    """A JSON value; ``any`` for whatever they are."""
    result: Any
    """A text, or a JSON value that is given as JSON text."""


class MissingSection(Section):
    """In the place of a result that is not known."""

    result: Any
    """A text, or a JSON value that is given as JSON text."""


def _check_missing(value: Any) -> Any:
    """
    Raises:
        ValueError: *value* is none of what may become of a call that nobody knows.
    """
    if value == "error" or isinstance(value, Mapping | MissingSection):
        return value
    raise ValueError(
        "error, for a failed turn, or {result: ...}, which all such calls come to, is expected here"
    )


class ToolsSection(Section):
    """Who knows results, asked in this order: ``results``, ``function``, the conversation itself."""

    results: tuple[ListedResultSection, ...] | str = ()
    """Or a file of JSON Lines with the same fields, relative to the scenario's folder."""
    match: Literal["subset", "exact"] = "subset"
    """Whether arguments fit that have more keys than the listed ones."""
    function: str | None = None
    """``file.py:function`` or ``module:function``, called with the tool's name and its arguments."""
    recorded: bool = True
    """Whether the results that the conversation was recorded with count."""
    missing: Annotated[Literal["error"] | MissingSection, BeforeValidator(_check_missing)] = "error"
    """What comes of a call that nobody knows: a failed turn, or the ``result`` given here."""
    max_steps: Annotated[int, Field(ge=1), at_most(1_000, "after so many a system goes in circles")] = 10
    """Asks of one turn at most."""
    timeout_s: PositiveSeconds = 300.0
    """For one turn with all its asks and calls; each ask has ``play.timeout_s``."""


def tools_of(scenario: Any) -> Iterator[tuple[str, str, ToolsSection]]:
    """Yield each section ``tools`` of *scenario* (a ``Scenario``), as (label, key path, section)."""
    if scenario.tools:
        yield "tools", "tools", scenario.tools
    for index, system in enumerate(scenario.systems):
        if system.tools:
            yield f"system {system.name}", f"systems[{index}].tools", system.tools
