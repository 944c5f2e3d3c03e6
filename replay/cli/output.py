"""Everything that a verb prints or writes: lines, JSON, tables, and bytes for other programs."""

from __future__ import annotations

import codecs
import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from replay.core.errors import InputError, writing
from replay.core.terminal import escape_unprintable, unwrap_stream, visible_json

if TYPE_CHECKING:
    from rich.console import Console


def echo(*lines: object, err: bool = False) -> None:
    """
    Print *lines*, to standard error with *err*.

    What would break a line within one of them is shown as an escape, so that nobody's text can pose for a
    line of ours.
    """
    stream = sys.stderr if err else sys.stdout
    stream.write("".join(f"{escape_unprintable(str(line))}\n" for line in lines))
    stream.flush()


def echo_json(content: Any) -> None:
    """Print *content* as JSON; characters that can't be seen are escaped."""
    text = json.dumps(content, indent=2, ensure_ascii=False)
    echo(*visible_json(text).split("\n"))


def open_console(*, stderr: bool = False) -> Console:
    """Return a console for tables, reports and progress; text that is printed is never taken for markup."""
    from replay.report.printing import VisibleConsole

    return VisibleConsole(file=unwrap_stream(sys.stderr if stderr else sys.stdout))


@contextmanager
def count_along(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield what is told how many of how many are done; on a terminal, standard error says so meanwhile."""
    console = open_console(stderr=True)
    if not console.is_terminal:
        yield lambda done, of: None
        return
    with console.status(what) as status:
        yield lambda done, of: status.update(f"{what}: {done:,} of {of:,}")


def binary_output(*, text: bool = True) -> BinaryIO:
    """
    Return standard output for other programs' bytes; on a terminal they are shown as visible text.

    Raises:
        InputError: it is a terminal, and they are no *text*.
    """
    if not sys.stdout.isatty():
        return sys.stdout.buffer
    if not text:
        raise InputError("this is no text for a terminal; name a file with --out, or send it into a pipe")
    return cast(BinaryIO, _TerminalBytes())


class _TerminalBytes(io.RawIOBase):
    """Text in UTF-8, to be read by a person."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        text = self._decoder.decode(data).replace("\r\n", "\n")
        sys.stdout.write(escape_unprintable(text, keep="\n\t"))
        return len(data)


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
