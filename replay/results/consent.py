"""
Consent to go on with a run that somebody else began: it names code, hosts and variables, as a scenario does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from replay.core.errors import RunError
from replay.core.settings.choice import Choice
from replay.results.provenance import created_by_this_user
from replay.results.run import Run
from replay.results.scoring import chosen_scorers
from replay.scenario.assembly import try_assemble
from replay.scenario.side_effects import side_effects
from replay.store.store import RunStore


def actions_of_untrusted_run(
    folder: Path, *, scorers: Sequence[Choice] | None = None, judges: Sequence[Choice] | None = None
) -> list[str]:
    """
    What going on with the run in *folder* would do here; empty if this user began it on this machine.

    With *scorers* or *judges* it is these that are to score it, and no system is asked.

    Raises:
        RunError, ScenarioError: there is no such run, or it can't be read.
    """
    store = RunStore(folder)
    try:
        if created_by_this_user(store):
            return []
        chosen = chosen_scorers(store) if scorers is None and judges is None else []
    finally:
        store.close()
    file = Run(folder).scenario()
    if scorers is None and judges is None:
        changed: dict[str, Any] = {"scorers": [*file.scenario.scorers, *chosen]}
    else:
        changed = {"systems": (), "policies": (), "scorers": scorers or [], "judges": judges or []}
    assembly, _ = try_assemble(replace(file, scenario=file.scenario.model_copy(update=changed)))
    does = side_effects(assembly)
    if not (does.runs or does.talks_to or does.sends):
        return []
    return [f"{label:9} {text}" for label, text in does.lines()]


def check_consent(
    folder: Path, doings: Sequence[str], *, allow_code: bool, say: str = "allow_code=True"
) -> None:
    """
    Make sure that the caller wants *doings*, the ``actions_of_untrusted_run`` in *folder*; *say* is how to.

    Raises:
        RunError: *allow_code* doesn't say so.
    """
    if doings and not allow_code:
        raise RunError(f"{foreign(folder, doings)}\nif you trust where it came from, say {say}")


def foreign(folder: Path, doings: Sequence[str]) -> str:
    """*doings* of the run in *folder*, as a text to be asked about."""
    listed = "\n".join(f"  {line}" for line in doings)
    start = Run(folder).scenario().folder
    return (
        f'the run in "{folder}" was not begun by you on this machine, and this is what going on with it does '
        f'(its paths start from "{start}"):\n{listed}'
    )
