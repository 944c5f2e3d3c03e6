"""What scenarios of these tests have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def playing(folder: Path, *systems: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A scenario: *systems* play ``talks.jsonl`` in *folder* under ``gold``, but for what *changes*."""
    return {
        "name": "played",
        "data": {"path": str(folder / "talks.jsonl")},
        "systems": list(systems),
        "policies": ["gold"],
        "drift": {"nlp_workers": 0},
        **changes,
    }
