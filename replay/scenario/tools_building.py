"""Builds what ``tools`` describes: who knows the results of calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from replay.core.errors import CodeNotRunError, DatasetError, PluginError
from replay.core.safety.consent import code_forbidden
from replay.core.settings.plugin_bugs import signature_of
from replay.core.settings.plugins import load_object
from replay.datasets.json_rows import rows_of_lines
from replay.play.play import System
from replay.play.tool_results import (
    ANY,
    FunctionResults,
    ListedResult,
    ListedResults,
    RecordedResults,
    Tools,
    ToolSource,
    result_text,
)
from replay.scenario.part_builder import PartBuilder, Unread
from replay.scenario.sections import ListedResultSection, Scenario, ToolsSection

_FAULTS_SHOWN = 20


class _ResultRow(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    result: Any
    arguments: Any = "any"


def tools_of(scenario: Scenario) -> Iterator[tuple[str, str, ToolsSection]]:
    """Yield each section ``tools`` of *scenario*, as (label, key path, section)."""
    if scenario.tools:
        yield "tools", "tools", scenario.tools
    for index, system in enumerate(scenario.systems):
        if system.tools:
            yield f"system {system.name}", f"systems[{index}].tools", system.tools


def with_tools(
    builder: PartBuilder, scenario: Scenario, systems: Sequence[System | None]
) -> list[System | None]:
    """Return *systems* with the tools that each of them has."""
    built = {at: _tools(builder, section, at) for _, at, section in tools_of(scenario)}
    found: list[System | None] = []
    for index, system in enumerate(systems):
        own = scenario.systems[index].tools
        tools = built.get("tools") if own is None else built.get(f"systems[{index}].tools")
        found.append(system and replace(system, tools=tools))
    return found


def _tools(builder: PartBuilder, section: ToolsSection, at: str) -> Tools:
    sources: list[ToolSource] = []
    if section.results:
        listed = tuple(_listed_results(builder, section.results, at))
        sources.append(ListedResults(results=listed, match=section.match))
    if section.function is not None and (function := _function(builder, section.function, f"{at}.function")):
        sources.append(FunctionResults(function=function, target=section.function))
    if section.recorded:
        sources.append(RecordedResults())
    missing = section.missing
    return Tools(
        sources=tuple(sources),
        missing=None if missing == "error" else _text(builder, missing.result, f"{at}.missing.result"),
        max_steps=section.max_steps,
        timeout_s=section.timeout_s,
    )


def _listed_results(
    builder: PartBuilder, results: Sequence[ListedResultSection] | str, at: str
) -> Iterator[ListedResult]:
    rows: Iterator[tuple[str, ListedResultSection | _ResultRow]]
    if isinstance(results, str):
        rows = _rows(builder, results, f"{at}.results")
    else:
        rows = ((f"{at}.results[{index}].result", one) for index, one in enumerate(results))
    for place, one in rows:
        yield ListedResult(
            name=one.name,
            arguments=ANY if one.arguments == "any" else one.arguments,
            text=_text(builder, one.result, place),
        )


def _rows(builder: PartBuilder, path: str, at: str) -> Iterator[tuple[str, _ResultRow]]:
    faults = 0
    try:
        for _, row in rows_of_lines(builder.folder / path, _ResultRow):
            if not isinstance(row, DatasetError):
                yield at, row
                continue
            builder.fault(at, str(row))
            faults += 1
            if faults == _FAULTS_SHOWN:
                return
    except DatasetError as error:
        builder.fault(at, str(error))


def _text(builder: PartBuilder, result: Any, at: str) -> str:
    try:
        return result_text(result)
    except ValueError as error:
        builder.fault(at, f"{error}; write a text, or a JSON value")
        return ""


def _function(builder: PartBuilder, target: str, at: str) -> Callable[..., Any] | None:
    if ":" not in target:
        builder.fault(at, f'"{target}" is not "file.py:function" or "module:function"')
        return None
    try:
        with code_forbidden():
            function = load_object(target, builder.folder)
    except CodeNotRunError as error:
        builder.unread.append(Unread(at, error.target))
        return None
    except PluginError as error:
        builder.fault(at, str(error))
        return None
    if not callable(function):
        builder.fault(at, f'"{target}" is {type(function).__name__}, which can\'t be called')
        return None
    try:
        signature_of(function).bind("name", {})
    except (TypeError, ValueError) as error:
        builder.fault(
            at,
            f"\"{target}\" can't be called with a tool's name and its arguments: {error}; write "
            "def answer(name, arguments)",
        )
        return None
    return function  # type: ignore[no-any-return]
