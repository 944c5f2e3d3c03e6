"""A new run's folder and what its database says of it from the beginning."""

from __future__ import annotations

import platform
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from replay import __version__
from replay.core.errors import RunError
from replay.core.safety.provenance import remember
from replay.scenario.assembly import Assembly
from replay.store.store import RunStore


def new_store(assembly: Assembly, runs: Path) -> RunStore:
    """
    Create a run below *runs*, and return its database, open for writing.

    Raises:
        RunError: its folder can't be made.
    """
    file, scenario = assembly.file, assembly.file.scenario
    facts: dict[str, Any] = {
        "id": uuid4().hex,
        "scenario": {"text": file.text, "source": file.source, "folder": str(file.folder)},
        "name": scenario.name,
        "seed": scenario.seed,
        "begun": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "version": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "systems": [system.name for system in assembly.systems],
        "policies": {label: policy.signature for label, policy in assembly.policies.items()},
        "histories": _histories(assembly),
        "keeps_history": [one.name for one in assembly.systems if one.adapter.history == "server"],
        "tools": {system.name: system.tools.signature for system in assembly.systems if system.tools},
        "ask": scenario.data.ask,
        "load": assembly.load.model_dump(mode="json") if assembly.load else None,
    }
    stem = f"{re.sub(r' +', '-', scenario.name)}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    for attempt in range(1, 1000):
        folder = runs / (stem if attempt == 1 else f"{stem}-{attempt}")
        try:
            store = RunStore.create(folder, facts, scenario.play.durability, has_turn_key=not assembly.load)
        except RunError as error:
            # Not looked at before: another run that begins in the same second may come between.
            if not isinstance(error.__cause__, FileExistsError):
                raise
        else:
            remember(facts)
            return store
    raise RunError(f'"{runs}" holds too many runs called "{stem}"')


def _histories(assembly: Assembly) -> dict[str, dict[str, str]]:
    """By system and policy, which answers stood in the history that the system saw."""
    return {
        system.name: {
            label: "own" if system.adapter.history == "server" or policy.history == "own" else "gold"
            for label, policy in assembly.policies.items()
        }
        for system in assembly.systems
    }
