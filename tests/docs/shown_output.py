"""What a page shows, and that a program prints it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from glob import glob
from itertools import chain
from pathlib import Path
from subprocess import CompletedProcess

from tests.cli.command import replay_cli

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def page(name: str) -> str:
    """The text of docs/*name*.md."""
    return (DOCS / f"{name}.md").read_text("utf-8")


def section(text: str, title: str) -> str:
    """What stands in the page *text* below the heading *title*."""
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def blocks(text: str, language: str) -> list[str]:
    """The blocks of code in *text* that say that they are of *language*."""
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def shell(command: str, folder: Path) -> CompletedProcess[str]:
    """What a shell makes of *command*; ``replay`` is not started anew each time."""
    program, *words = shlex.split(command)
    if program != "replay":
        return subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True)
    *words, out = words if ">" in words else [*words, ""]
    files = [sorted(glob(word, root_dir=folder)) if "*" in word else [word] for word in words if word != ">"]
    done = replay_cli(*chain(*files), cwd=folder)
    if out:
        (folder / out).write_text(done.stdout, "utf-8")
    return done


def agree(page: str, shown: str, found: str) -> None:
    """Assert that *page* shows what was *found*; with UPDATE_GOLDEN=1 put it there instead of *shown*."""
    if os.environ.get("UPDATE_GOLDEN"):
        path = ROOT / page
        path.write_text(path.read_text("utf-8").replace(shown, found), "utf-8")
        shown = found
    assert shown == found
