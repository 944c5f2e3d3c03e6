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
    """What is wrong, in a sentence, if the other distribution lies in the folder *site* as we do."""
    return SENTENCE if next(site.glob("replay_rec-*.dist-info"), None) else None


def is_ours(package: ModuleType) -> bool:
    """Whether *package*, imported as ``replay``, is this one not the other's or what it left of ours."""
    return hasattr(package, "ReplayError")
