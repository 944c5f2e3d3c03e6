"""Completion as a shell asks for it: the script that `replay --show-completion` prints, run by bash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")

# What readline does when the tab key is pressed behind the words.
SHELL = """
script=$(replay --show-completion) && eval "$script"
tab() {
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    $(complete -p replay | sed 's/.*-F \\([^ ]*\\) .*/\\1/') replay && echo "${COMPREPLY[@]}"
}
tab replay sco
tab replay score --sc
"""


def test_bash_completes_verbs_and_options(tmp_path):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    done = subprocess.run(
        ["bash", "-c", SHELL],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split("\n") == ["score score-file", "--scorer", ""]
