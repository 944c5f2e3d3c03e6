"""
Another distribution, replay-rec, installs a package named ``replay`` too, into the same folder.

pip lets the one that comes last write over the other's files, and takes what both have away with either. Read
here: is that distribution beside us, and is the package that a program gets ours?
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

SENTENCE = (
    "replay-rec is installed here too, and its package is also named replay, so each overwrites files of the "
    "other; give convreplay a virtual environment of its own"
)


def clash(site: Path = Path(__file__).parents[1]) -> str | None:
    """Return a warning if the other distribution is installed in the folder *site* as well; else None."""
    return SENTENCE if next(site.glob("replay_rec-*.dist-info"), None) else None


def is_ours(package: ModuleType) -> bool:
    """
    Return whether *package*, imported as ``replay``, is ours, and not the other's or a remainder of ours.
    """
    return hasattr(package, "ReplayError")
