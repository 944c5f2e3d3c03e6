"""What our parts are called in Inspect's registry."""

from __future__ import annotations

import sysconfig
from pathlib import Path

_HERE = Path(__file__)
_PLACES = [Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib")]
_IS_INSTALLED = "site-packages" in _HERE.parts or any(_HERE.is_relative_to(place) for place in _PLACES)


def named(name: str) -> str:
    """
    Return *name*, so that it is found as ``replay/NAME``.

    Inspect puts the package before it by itself where that is installed, but for an installation for
    development only of a distribution that is called as its package is.
    """
    return name if _IS_INSTALLED else f"replay/{name}"
