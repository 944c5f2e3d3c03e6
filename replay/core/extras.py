"""Modules that come with an extra of this package: imported when first needed, and missed in a sentence."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from typing import Any

from replay.core.errors import PluginError

_PACKAGES = {"bs4": "beautifulsoup4"}
"""Packages that are not called as their module is."""


def extra_module(name: str, extra: str, needed_by: str, *, otherwise: str = "") -> Any:
    """
    Return the module *name*, which comes with *extra*.

    Args:
        name: As it is imported.
        extra: Of convreplay's; ``neural``, for instance.
        needed_by: Who needs it, as the subject of a sentence.
        otherwise: What can be done without it, as the sentence's end.

    Raises:
        PluginError: it, or something it needs, is not installed or can't be imported.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        text = missing_extra(error.name or name, extra, needed_by, otherwise=otherwise)
        if not isinstance(error, ModuleNotFoundError):
            text = text.replace("is not installed", f"can't be imported ({error})")
        raise PluginError(text) from error


def check_extra(names: Sequence[str], extra: str, needed_by: str) -> None:
    """
    Return if the modules *names* of *extra* are there, without importing them.

    Raises:
        PluginError: one is not installed.
    """
    for name in names:
        if importlib.util.find_spec(name) is None:
            raise PluginError(missing_extra(name, extra, needed_by))


def missing_extra(name: str, extra: str, needed_by: str, *, otherwise: str = "") -> str:
    """Return the sentence on the module *name* of *extra*, which is not there."""
    end = f", {otherwise}" if otherwise else ""
    package = _PACKAGES.get(name, name)
    return f'{needed_by} needs {package}, which is not installed; try pip install "convreplay[{extra}]"{end}'
