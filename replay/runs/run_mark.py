"""
Whether this user began a run on this machine: a mark in the run, made with a key of the user's.

The mark is an HMAC over what the run may make us do, its scenario and its scorers. So it is missing or wrong
in a folder that somebody else sent, and in one whose database was changed since.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from replay.store.store import RunStore

MARK = "mark"
"""The fact of a run that holds its mark; null where no key could be kept."""
_SIZE = 32


def mark(facts: Mapping[str, Any]) -> str | None:
    """
    The mark of a run with *facts*: its ``scenario``, when it was ``begun``, and its ``scorers`` if there are.

    None where this user has no folder in which a key can be kept.
    """
    key = _key()
    if key is None:
        return None
    scorers = [[one["name"], one["settings"]] for one in facts.get("scorers") or []]
    content = json.dumps([facts["scenario"], facts["begun"], scorers], sort_keys=True)
    return hmac.digest(key, content.encode("utf-8", "surrogatepass"), "sha256").hex()


def is_own(store: RunStore) -> bool:
    """Whether this user began the run in *store* on this machine, and nobody has changed what it does."""
    found = store.fact(MARK)
    try:
        made = mark({name: store.fact(name) for name in ("scenario", "begun", "scorers")})
    except (KeyError, TypeError):  # of a shape that is none of ours
        return False
    return isinstance(found, str) and made is not None and hmac.compare_digest(found.encode(), made.encode())


def _key() -> bytes | None:
    """This user's key, made at first use; None where it can't be kept from others."""
    path = _key_path()
    if path is None:
        return None
    if (key := _read(path)) is not None:
        return key
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        unfinished = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(_SIZE))
            os.link(unfinished, path)  # which fails where another process was quicker
        finally:
            unfinished.unlink()
    return _read(path)


def _key_path() -> Path | None:
    home = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_STATE_HOME")
    try:
        return (Path(home) if home else Path.home() / ".local" / "state") / "convreplay" / "run-key"
    except RuntimeError:  # a user without a home
        return None


def _read(path: Path) -> bytes | None:
    """The key at *path*, if nobody else can have read or put it there."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
            found = os.fstat(file.fileno())
            if sys.platform != "win32" and (
                found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077
            ):
                return None
            key = file.read(_SIZE + 1)
    except OSError:
        return None
    return key if len(key) == _SIZE else None
