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

import replay
from replay.cli.output import open_console
from replay.core.terminal import GuardedStream, escape_unprintable

SHIPPED = Path(__file__).parents[2] / "scenarios" / "conversations"
pytestmark = pytest.mark.skipif(os.name != "posix", reason="opens a pseudo-terminal")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    scenario = {
        "name": "try",
        "data": {"path": str(SHIPPED / "music.jsonl"), "limit": 3},
        "systems": [{"name": "s", "adapter": "extractive"}],
        "policies": ["gold", "pred"],
        "drift": {"nlp_workers": 0},
    }
    return replay.run(scenario, runs=folder).folder


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
        written = b""
        try:
            while chunk := os.read(ours, 65536):
                written += chunk
        except OSError:  # how Linux says that the other end is closed
            pass
        finally:
            os.close(ours)
        assert process.wait(timeout=60) == 0, process.stderr and process.stderr.read()
    return written.decode().replace("\r\n", "\n")


COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-7]m")


def test_a_terminal_gets_sparklines_and_colour(run):
    written = on_a_terminal(run)

    assert re.search("^trend .*[▁-█]{10}", re.sub(r"\x1b\[[0-9;]*m", "", written), re.MULTILINE)
    assert COLOUR.search(written)


@pytest.mark.long
def test_no_color_is_heeded(run):
    written = on_a_terminal(run, NO_COLOR="1")

    assert "█" in written
    assert not COLOUR.search(written)


def test_a_pipe_gets_plain_ascii(run):
    done = subprocess.run(
        [sys.executable, "-m", "replay", "report", str(run)], capture_output=True, check=True, timeout=60
    )

    assert done.stdout.isascii()
    assert b"\x1b" not in done.stdout
    assert b"trend" not in done.stdout


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
