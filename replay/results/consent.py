"""What a run that somebody else began would make this machine do."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from replay.core.safety.consent import UntrustedActions, created_by_this_user
from replay.core.settings.choice import Choice
from replay.results.run import Run
from replay.results.scoring import chosen_scorers
from replay.scenario.assembly import try_assemble
from replay.scenario.side_effects import side_effects
from replay.store.store import RunStore


def actions_of_untrusted_run(
    folder: Path, *, scorers: Sequence[Choice] | None = None, judges: Sequence[Choice] | None = None
) -> UntrustedActions | None:
    """
    Return what resuming or scoring the run in *folder* would execute, contact or send on this machine.

    Args:
        folder: A run's folder.
        scorers, judges: If given, these score the run in place of its own, and no system is asked.

    Returns:
        The actions, or None if this user began the run on this machine, or there are no actions.

    Raises:
        RunError, ScenarioError: there is no such run, or it can't be read.
    """
    with closing(RunStore(folder)) as store:
        if created_by_this_user(store.fact):
            return None
        chosen = chosen_scorers(store) if scorers is None and judges is None else []
    file = Run(folder).scenario()
    if scorers is None and judges is None:
        changed: dict[str, Any] = {"scorers": [*file.scenario.scorers, *chosen]}
    else:
        changed = {"systems": (), "policies": (), "scorers": scorers or [], "judges": judges or []}
    assembly, _ = try_assemble(replace(file, scenario=file.scenario.model_copy(update=changed)))
    does = side_effects(assembly)
    if not (does.runs or does.talks_to or does.sends):
        return None
    lines = [f"{label:9} {text}" for label, text in does.lines()]
    return UntrustedActions(folder=folder, start=file.folder, lines=lines)
