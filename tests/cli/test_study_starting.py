"""`replay study init` and `replay study demo`, as they are typed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

import pytest
from typer.testing import CliRunner

from replay.cli import app
from tests.waiting import PATIENCE_S


def test_init_says_what_it_wrote_and_what_comes_next(tmp_path):
    done = CliRunner().invoke(app, ["study", "init", "mahueval", str(tmp_path / "study")])
    assert done.exit_code == 0
    assert done.output.splitlines() == [
        *(
            f"wrote {tmp_path / 'study' / name}"
            for name in ("study.yaml", "practice.jsonl", "conversations.jsonl")
        ),
        f"next: replay study serve {tmp_path / 'study' / 'study.yaml'}",
    ]


@pytest.mark.long
@pytest.mark.parametrize("keep", [False, True])
def test_the_demo_serves_a_study_and_leaves_nothing_unless_it_is_told_to(tmp_path, keep):
    folder = tmp_path / "kept"
    command = [sys.executable, "-u", "-m", "replay", "study", "demo", "rating", "--port", "0"]
    command += ["--folder", str(folder)] if keep else []
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        try:
            lines = [process.stdout.readline() for _ in range(4)]
            where = re.fullmatch(r"a rating study in (.*?)(, gone when you end it.*)?\n", lines[0])[1]
            links = dict(line.split(": ", 1) for line in lines[1:])
            assert set(links) == {"owner", "ann", "ben"}
            opener = build_opener(HTTPCookieProcessor())
            assert b"Before you begin" in opener.open(links["ann"].strip()).read()
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE_S)
    assert (where == str(folder)) == keep
    assert Path(where).exists() == keep
