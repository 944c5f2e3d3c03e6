"""JSON lines that a verb writes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from replay.cli.output import binary_output
from replay.core.errors import writing


def json_line(fields: dict[str, Any]) -> bytes:
    """Return one line."""
    # Half of a surrogate pair, which UTF-8 can't hold, becomes the escape that means the same in JSON.
    return json.dumps(fields, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def write_lines(lines: Iterable[bytes], out: Path | None) -> None:
    """
    Write *lines* to the file *out*, which appears only once it is complete, or to standard output.

    Raises:
        InputError: the file can't be written.
    """
    if out is None:
        stream = binary_output()
        for line in lines:
            stream.write(line)
        stream.flush()
        return
    unfinished = out.with_name(out.name + ".part")
    try:
        with writing(out):
            with unfinished.open("wb") as stream:
                stream.writelines(lines)
            unfinished.replace(out)
    finally:
        with suppress(OSError):  # where it can't be removed it could not be made either
            unfinished.unlink()
