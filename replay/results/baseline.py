"""The run that later ones are compared with, which a first run doesn't have yet."""

from __future__ import annotations

from pathlib import Path

from replay.core.errors import InputError
from replay.store.reader import DATABASE


def baseline_run(folder: Path) -> Path | None:
    """
    The run in *folder*: itself, or the only one in it; None where there is nothing yet.

    Raises:
        InputError: it holds something else, or several runs.
    """
    if (folder / DATABASE).is_file():
        return folder
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    found = sorted(path.parent for path in folder.glob(f"*/{DATABASE}"))
    if len(found) != 1:
        several = f"{len(found)} runs ({', '.join(run.name for run in found[:5])}); name one of them"
        nothing = f"something, but no run (no {DATABASE}); name a run's folder, or one that isn't there yet"
        raise InputError(f'--baseline "{folder}" holds {several if found else nothing}')
    return found[0]
