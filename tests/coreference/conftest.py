"""What the tests of the coreference service share."""

from __future__ import annotations

import textwrap

import pytest


@pytest.fixture
def resolvers(tmp_path):
    """Resolvers of a user's own, that note each batch, die or fail as told."""
    (tmp_path / "mine.py").write_text(
        textwrap.dedent(
            """
            import os, signal
            from pathlib import Path

            class Noting:
                signature = "noting-1"
                def __init__(self, folder: Path):
                    self.folder = folder
                def resolve(self, documents):
                    with (self.folder / "batches").open("a") as file:
                        file.write(f"{len(documents)}\\n")
                    if any("fail" in d.question for d in documents):
                        raise ValueError("no such luck")
                    if any("late" in d.question for d in documents):
                        raise TimeoutError("too late")
                    if any("stop" in d.question for d in documents):
                        os.kill(os.getpid(), signal.SIGSTOP)
                    deadly = self.folder / "deadly"
                    if deadly.exists():
                        times = int(deadly.read_text()) - 1
                        deadly.write_text(str(times)) if times else deadly.unlink()
                        os._exit(9)
                    return [[] for _ in documents]
            """
        )
    )
    return tmp_path
