"""What is printed on a real terminal, and what in a pipe."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TextIO, cast

import pytest
from rich.table import Table

from replay.cli.output import open_console
from replay.core.terminal import GuardedStream, escape_unprintable
from tests.cli.command import all_of, replay_cli

pytestmark = pytest.mark.skipif(os.name != "posix", reason="opens a pseudo-terminal")


def on_a_terminal(run: Path, **environment: str) -> str:
    """What ``replay report`` writes to a pseudo-terminal of 80 columns."""
    import pty

    ours, theirs = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    settings = {"TERM": "xterm", "COLUMNS": "80", "PYTHONIOENCODING": "utf-8", **environment}
    with subprocess.Popen(
        [sys.executable, "-m", "replay", "report", str(run)],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env={**kept, **settings},
    ) as process:
        os.close(theirs)
        written = all_of(ours)
        os.close(ours)
        assert process.wait(timeout=60) == 0, process.stderr and process.stderr.read()
    return written.decode().replace("\r\n", "\n")


COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-7]m")


def test_a_terminal_gets_sparklines_and_colour(quick_run):
    written = on_a_terminal(quick_run)

    assert re.search("^trend .*[▁-█]{10}", re.sub(r"\x1b\[[0-9;]*m", "", written), re.MULTILINE)
    assert COLOUR.search(written)


@pytest.mark.long
def test_no_color_is_heeded(quick_run):
    written = on_a_terminal(quick_run, NO_COLOR="1")

    assert "█" in written
    assert not COLOUR.search(written)


def test_a_pipe_gets_plain_ascii(quick_run):
    done = replay_cli("report", quick_run, cwd=quick_run)

    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout
    assert "trend" not in done.stdout


def test_a_table_of_the_librarys_own_obeys_none_of_its_texts():
    written = io.StringIO()
    with redirect_stdout(cast("TextIO", GuardedStream(written))):
        console = open_console()
    table = Table("[bold]head[/]\x1b[2J", box=None)
    table.add_row("[link=http://evil.test]here[/link]:smile:\u202e")
    console.print(table)
    console.print("[red]3[/]\x9b")

    text = written.getvalue()
    assert all(part in text for part in (r"[bold]head[/]\x1b[2J", "here[/link]:smile:", r"[red]3[/]\x9b"))
    assert text == escape_unprintable(text, keep="\n")
