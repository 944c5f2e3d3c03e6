"""What a program may write in a scenario where a file has names: functions, objects, conversations."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

import msgspec

from replay.core.conversation import Conversation
from replay.core.decoding import convert_to
from replay.core.errors import Fault, ScenarioError
from replay.core.settings.in_memory import object_name
from replay.core.settings.plugin_bugs import signature_of

ASKED_BY = frozenset({"question", "request"})
"""A function with such a parameter answers questions; one without makes an adapter."""


def in_plain_form(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return *scenario* in the form that a file has, with names in place of objects.

    ``data: [Conversation, ...]`` becomes ``data: {path: ...}``; a function as ``adapter`` the ``target`` of
    ``python``; an object among policies or scorers is called by its class.

    Raises:
        ScenarioError: an item among the conversations is none.
    """
    plain = dict(scenario)
    data = plain.get("data")
    if data is not None and not isinstance(data, str | Mapping):
        plain["data"] = data = {"path": data}
    if isinstance(data, Mapping) and not _are_files(data.get("path")):
        plain["data"] = {**data, "path": _conversations(data["path"])}
    for key in ("policies", "scorers"):
        if isinstance(plain.get(key), list | tuple):
            plain[key] = [_choice(one) for one in plain[key]]
    if isinstance(plain.get("systems"), list | tuple):
        plain["systems"] = [_system(one) for one in plain["systems"]]
    return plain


def _are_files(path: Any) -> bool:
    if isinstance(path, list | tuple):
        return bool(path) and all(isinstance(one, str | PurePath) for one in path)
    return path is None or isinstance(path, str | PurePath)


def _conversations(given: Any) -> list[Conversation]:
    """
    Raises:
        ScenarioError: one of them is none, or there is none.
    """
    conversations = list(given) if isinstance(given, Iterable) else [given]
    faults = [
        Fault(path=f"data[{index}]", message=wrong)
        for index, one in enumerate(conversations)
        if (wrong := _what_is_wrong(one)) is not None
    ]
    if not conversations:
        faults = [Fault(path="data", message="is empty; there is no conversation to play")]
    if faults:
        raise ScenarioError("scenario", faults[:20])
    return conversations


def _what_is_wrong(given: Any) -> str | None:
    """Return why *given* is no conversation that can be stored and played; None if it is one."""
    if not isinstance(given, Conversation):
        return f"is a {type(given).__name__}, not a replay.Conversation"
    try:
        convert_to(msgspec.to_builtins(given), Conversation)
    except (msgspec.ValidationError, TypeError) as error:
        return f'conversation "{given.id}": {error}'
    return None


def _choice(one: Any) -> Any:
    return one if isinstance(one, str | Mapping) else {object_name(one): one}


def _system(one: Any) -> Any:
    adapter = one.get("adapter") if isinstance(one, Mapping) else None
    if not (inspect.isfunction(adapter) or inspect.ismethod(adapter)):
        return one
    if not ASKED_BY & signature_of(adapter).parameters.keys():
        return one
    return {**one, "adapter": "python", "settings": {**(one.get("settings") or {}), "target": adapter}}
