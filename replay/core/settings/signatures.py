"""The parameters of somebody's callable."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

_UNREAD: dict[str, Any] = {}
if sys.version_info >= (3, 14):
    from annotationlib import Format

    # Annotations are lazy there, and one may name what exists for type checkers alone.
    _UNREAD["annotation_format"] = Format.STRING


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """
    Return the signature of *function*; its annotations may be texts.

    Raises:
        TypeError, ValueError: it has none that could be found.
    """
    return inspect.signature(function, **_UNREAD)
