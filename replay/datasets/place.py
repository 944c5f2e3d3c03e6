"""Where in a data file something stands, so that every complaint can name it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from replay.core.errors import DatasetError


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLocation:
    """A line of a file; in files that are one JSON array, also the item that begins there."""

    path: Path
    line: int | None = None
    """1-based."""
    item: int | None = None
    """1-based."""

    def error(self, message: str, field: str = "") -> DatasetError:
        """Return an error with *message* about *field* at this place."""
        parts = [] if self.item is None else [f"item {self.item}"]
        parts += [field] if field else []
        return DatasetError(
            message, path=str(self.path), line=self.line, field=", ".join(parts) if parts else None
        )
