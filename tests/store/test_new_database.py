"""A new run's database is there as a whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from replay.core.errors import RunError
from replay.runs.run import newest_run
from replay.store.store import RunStore

KILLED = """
import os, signal, sys
from pathlib import Path
from replay.store.store import RunStore

def kill(path, target):
    os.kill(os.getpid(), signal.SIGKILL)

Path.rename = kill  # everything is written, under another name
RunStore.create(Path(sys.argv[1]), {"name": "x"})
"""


@pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")
def test_a_program_killed_while_it_makes_a_run_leaves_nothing_that_looks_like_one(tmp_path):
    RunStore.create(tmp_path / "runs" / "before", {}).close()
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "runs" / "half")], timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "runs" / "half").is_dir()
    assert newest_run(tmp_path / "runs").name == "before"
    with pytest.raises(RunError, match="there is no run"):
        RunStore(tmp_path / "runs" / "half")


LIMITED = """
import resource, sys
from pathlib import Path
from replay.core.errors import RunError
from replay.store.store import RunStore

resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
try:
    RunStore.create(Path(sys.argv[1]), {"name": "x"})
except RunError as error:
    print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="limits the size of files")
def test_a_database_that_can_t_be_made_leaves_no_folder(tmp_path):
    program = [sys.executable, "-c", LIMITED, str(tmp_path / "runs" / "one")]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60)
    assert "can't be made" in done.stdout, done.stderr
    assert str(tmp_path / "runs" / "one" / "run.db") in done.stdout
    assert not (tmp_path / "runs" / "one").exists()
