"""What an Inspect system's settings name, made and checked before anything is asked."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replay import load_object
from replay_adapters.harnesses.inspect_failures import one_line

if TYPE_CHECKING:
    from inspect_ai.agent import Agent
    from inspect_ai.tool import ToolInfo


def made_agent(named: str, args: Mapping[str, Any], folder: Path) -> Agent:
    """
    Return the agent that *named* names, made with *args*.

    Raises:
        ValueError: there is no such agent, or it doesn't take *args*.
    """
    from inspect_ai.agent import is_agent
    from inspect_ai.util import registry_create

    file, _, name = named.replace("@", ":").rpartition(":")
    try:
        made = (
            load_object(f"{file}:{name}", folder)(**args) if file else registry_create("agent", name, **args)
        )
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f'agent "{named}" can\'t be made: {one_line(error)}') from error
    if not is_agent(made):
        raise ValueError(f'agent "{named}" is none; it is made by a function that has the decorator @agent')
    return made


def tool_info(tool: Mapping[str, Any], at: str) -> ToolInfo:
    """
    Return the tool, given as in Chat Completions, in Inspect's form.

    Raises:
        ValueError: *tool* is not as Chat Completions have it.
    """
    from inspect_ai.tool import ToolInfo, ToolParams

    function = tool.get("function", tool)
    try:
        return ToolInfo(
            name=function["name"],
            description=function.get("description") or function["name"],
            parameters=ToolParams(**function.get("parameters") or {}),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{at} is no tool ({one_line(error)}); expected as in Chat Completions, {{type: function, "
            "function: {name: ..., parameters: {type: object, properties: {...}}}}"
        ) from error


def check_config(fields: Mapping[str, Any]) -> None:
    """
    Make sure that *fields* are generation settings of Inspect.

    Raises:
        ValueError: there is no such generation setting, or it has another value.
    """
    from inspect_ai.model import GenerateConfig

    known = list(GenerateConfig.model_fields)
    for name in fields:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f'; did you mean "{near[0]}"?' if near else ""
            raise ValueError(f"config.{name} is no generation setting of Inspect{hint}")
    try:
        GenerateConfig(**fields)
    except ValueError as error:
        raise ValueError(f"config: {one_line(error)}") from error
