"""Plug-ins that a command line names, and ``--set KEY=VALUE`` for their settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from replay.core.errors import InputError
from replay.core.safety.code_gate import code_may_run
from replay.core.settings.plugins import Kind, make
from replay.core.settings.yaml_lines import parse
from replay.datasets.reader import Reader

T = TypeVar("T")


@code_may_run()
def make_plugin(kind: Kind, name: str, given: Sequence[str], protocol: type[T]) -> T:
    """
    Return the plug-in *name* among *kind*, such as ``readers``, with the settings *given*.

    Raises:
        InputError: a setting is not KEY=VALUE, or not as the plug-in takes it.
        PluginError: there is none of that name, or it gives no *protocol*.
    """
    settings: dict[str, Any] = {}
    for one in given:
        key, equals, value = one.partition("=")
        if not equals:
            raise InputError(f'--set {one}: "KEY=VALUE" is expected')
        settings[key], _, faults = parse(value)
        if faults:
            raise InputError(f"--set {key}: {faults[0].message}")
    return make(kind, name, settings, protocol, folder=Path.cwd(), key_path="--set")


def choose_reader(name: str | None, given: Sequence[str]) -> Reader | None:
    """
    Return the reader *name* with the settings *given*; None where the format is to be found out.

    Raises:
        InputError, PluginError: as for ``make_plugin``, or settings are given and no reader.
    """
    if name is None:
        if given:
            raise InputError("--set needs --format, since settings belong to one reader")
        return None
    return make_plugin("readers", name, given, Reader)  # type: ignore[type-abstract]
