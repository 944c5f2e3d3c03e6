"""What tells an adapter with its settings from another, where replies are kept."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replay.core.safety.secret_detection import name_suggests_secret


def identity(adapter: str, settings: Mapping[str, Any], folder: Path, *, whole: bool = False) -> str:
    """
    Return everything an adapter's replies depend on, as JSON: its name, settings and the files they name.

    Secrets, headers and names of environment variables are left out by default: they decide whether there is
    a reply, not which one.

    Args:
        adapter: The adapter's name.
        settings: Its settings.
        folder: The folder that relative file names start from.
        whole: Include what is left out by default. Only for hashing, where a header may choose the model.
    """
    files: dict[str, str] = {}
    kept = _plain(settings, whole)
    for text in (adapter, *_texts(kept)):
        path = folder / re.sub(r"(?<=\.py):.*", "", text)
        # A local script or list of answers can change under the same name.
        if len(text) < 1000 and "\n" not in text and path.suffix and path.is_file():
            files[text] = hashlib.sha256(path.read_bytes()).hexdigest()
    return json.dumps({"adapter": adapter, "settings": kept, "files": files}, sort_keys=True, default=str)


def _plain(value: Any, whole: bool) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v, whole) for k, v in value.items() if whole or not _is_secret(str(k))}
    if isinstance(value, list | tuple):
        return [_plain(item, whole) for item in value]
    return value


def _is_secret(name: str) -> bool:
    return name.lower() in ("headers", "token") or name_suggests_secret(name) in ("key", "variable")


def _texts(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [text for item in value.values() for text in _texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [str(value)] if isinstance(value, str | Path) else []
