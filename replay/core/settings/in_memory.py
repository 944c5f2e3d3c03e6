"""
Objects that a program puts into a scenario in place of names: functions, classes, conversations.

A scenario is a text, and its run keeps it. So each object gets a name there, ``in-memory:answer``, under
which it is found as long as this process lives, in place of ``file.py:answer``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import date
from functools import partial
from numbers import Integral, Real
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

from replay.core.conversation import Conversation
from replay.core.errors import PluginNotFoundError

PLACE = "in-memory"
"""Before the colon of such a name; no module can be called so."""

_known: dict[str, Any] = {}
"""The newest object of each name."""
_given: ContextVar[Mapping[str, Any]] = ContextVar("in_memory", default=MappingProxyType({}))
"""What this task or thread has given: another one may call another object alike at the same time."""


def with_names(value: Any) -> Any:
    """
    Return *value*, of plain values, mappings and lists, with a name in place of each other object.

    A list of conversations is one object. Names are made of the objects' own, and so are the same in
    every process that is given the same scenario.
    """
    given: dict[str, Any] = {}
    named = _with_names(value, given)
    _known.update(given)
    _given.set({**_given.get(), **given})
    return named


def _with_names(value: Any, given: dict[str, Any]) -> Any:
    if isinstance(value, Mapping):
        return {key: _with_names(item, given) for key, item in value.items()}
    if value is None or isinstance(value, str | bool | date):
        return value
    if isinstance(value, Real):  # numpy's among them
        return int(value) if isinstance(value, Integral) else float(value)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, list | tuple) and not any(isinstance(one, Conversation) for one in value):
        return [_with_names(item, given) for item in value]
    return _name(value, given)


def _name(thing: Any, given: dict[str, Any]) -> str:
    own = "conversations" if isinstance(thing, list | tuple) else object_name(thing)
    name, count = own, 1
    while name in given and given[name] is not thing:
        count += 1
        name = f"{own}_{count}"
    given[name] = thing
    return f"{PLACE}:{name}"


def object_name(thing: Any) -> str:
    """Return the name of *thing*, a function or class; that of its class if it is another object."""
    thing = thing.func if isinstance(thing, partial) else thing
    name = getattr(thing, "__name__", type(thing).__name__)
    return re.sub(r"\W", "", name) or "object"


def is_in_memory(name: object) -> bool:
    """Return whether *name* is one that ``with_names`` gave."""
    return isinstance(name, str) and name.startswith(f"{PLACE}:")


def lookup_object(name: str) -> Any:
    """
    Return the object that was last registered under *name*.

    Objects of this task or thread, or of one that started it, come first; then those of the whole process.

    Raises:
        PluginNotFoundError: this process has no such object.
    """
    own = name.removeprefix(f"{PLACE}:")
    try:
        return _given.get()[own] if own in _given.get() else _known[own]
    except KeyError:
        raise PluginNotFoundError(
            f'"{name}" was an object of the program that began the run; go on from there with '
            "replay.resume(folder, scenario=...), or begin a run that names it as file.py:name"
        ) from None


def factory_of(thing: Any) -> Any:
    """Return *thing* if it is a factory of plug-ins, else a factory that returns it."""
    if inspect.isclass(thing) or inspect.isroutine(thing) or isinstance(thing, partial):
        return thing
    return lambda: thing
