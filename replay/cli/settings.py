"""Plug-ins that a command line names, and ``--set KEY=VALUE`` for their settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from replay.core.errors import InputError
from replay.core.settings.plugins import Kind, build, load
from replay.core.settings.yaml_lines import parse


def made_plugin(kind: Kind, name: str, given: Sequence[str]) -> Any:
    """
    The plug-in *name* among *kind*, such as ``readers``, with the settings *given*.

    Raises:
        InputError: a setting is not KEY=VALUE, or not as the plug-in takes it.
        PluginError: there is none of that name.
    """
    settings: dict[str, Any] = {}
    for one in given:
        key, equals, value = one.partition("=")
        if not equals:
            raise InputError(f'--set {one}: "KEY=VALUE" is expected')
        settings[key], _, faults = parse(value)
        if faults:
            raise InputError(f"--set {key}: {faults[0].message}")
    folder = Path.cwd()
    return build(load(kind, name, folder), settings, folder=folder, key_path="--set")
