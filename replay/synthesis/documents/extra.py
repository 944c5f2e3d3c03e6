"""What the extra ``synthesis`` brings, imported when it is first needed."""

from __future__ import annotations

import importlib
from typing import Any

from replay.core.errors import PluginError

_PACKAGES = {"bs4": "beautifulsoup4"}


def extra_module(name: str) -> Any:
    """
    Return the module *name* of the extra ``synthesis``.

    Raises:
        PluginError: it, or something it needs, is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        missing = error.name or name
        raise PluginError(
            f"reading documents needs {_PACKAGES.get(missing, missing)}, which is not installed; "
            'try pip install "convreplay[synthesis]"'
        ) from error
