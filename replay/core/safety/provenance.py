"""
Runs that this user began on this machine, remembered by id in the user's state folder; consent to others.

Beside the id is a digest of what the run may make us do, its scenario and its scorers. So a folder that
somebody else sent isn't known here, and neither is one whose database was changed since. Such a run names
code, hosts and variables, as a scenario of somebody else's does, so going on with it is asked about first.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from replay.core.errors import RunError

FACTS = ("id", "scenario", "begun", "scorers")
"""What of a run's facts is remembered; ``scorers`` are there once it is scored."""


def remember(facts: Mapping[str, Any]) -> None:
    """Remember the run with these *facts*, where this user has a folder in which that can be kept."""
    path = _path(facts["id"])
    if path is not None:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with open(path, "a", opener=partial(os.open, mode=0o600)) as file:
                file.write(f"{_digest(facts)}\n")


def created_by_this_user(fact: Callable[[str], Any]) -> bool:
    """Return whether this user began the run with the facts that *fact* gives, and nobody changed them."""
    facts = {name: fact(name) for name in FACTS}
    path = _path(facts["id"])
    try:
        return path is not None and _digest(facts) in path.read_text().split()
    except (OSError, ValueError, KeyError, TypeError):  # unknown, or facts of a shape that is none of ours
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class UntrustedActions:
    """What going on with a run that somebody else began would do here."""

    folder: Path
    start: Path
    """From where its relative paths lead."""
    lines: Sequence[str]

    def text(self) -> str:
        """Return all of it, to be asked about."""
        listed = "\n".join(f"  {line}" for line in self.lines)
        return (
            f'the run in "{self.folder}" was not begun by you on this machine, and this is what going on '
            f'with it does (its paths start from "{self.start}"):\n{listed}'
        )


def check_consent(
    actions: UntrustedActions | None, *, allow_code: bool, say: str = "allow_code=True"
) -> None:
    """
    Make sure that the caller allows *actions*, if there are any.

    Args:
        actions: What the run would do; None for nothing.
        allow_code: Whether the caller allows it.
        say: How to allow it, for the message.

    Raises:
        RunError: *actions* are not allowed.
    """
    if actions and not allow_code:
        raise RunError(f"{actions.text()}\nif you trust where it came from, say {say}")


def _digest(facts: Mapping[str, Any]) -> str:
    scorers = [[one["name"], one["settings"]] for one in facts.get("scorers") or []]
    content = json.dumps([facts["scenario"], facts["begun"], scorers], sort_keys=True)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def _path(run_id: object) -> Path | None:
    """Return the file of a run; None for what is no id, or where there is no folder for it."""
    home = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_STATE_HOME")
    if not isinstance(run_id, str) or not re.fullmatch("[0-9a-f]{32}", run_id):
        return None
    with suppress(RuntimeError):  # a user without a home
        return (Path(home) if home else Path.home() / ".local" / "state") / "convreplay" / "runs" / run_id
    return None
