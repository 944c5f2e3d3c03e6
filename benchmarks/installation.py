"""
What a new user waits for: builds the wheel, installs it into a fresh environment, runs the quickstart.

    python benchmarks/installation.py

Needs pip's package index and nothing else; prints what the wheel weighs, what the environment takes on disk
and how many seconds each step took. Installing depends on the network and on pip's own cache; byte code is
left to the first import, as `make quickstart` does.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        wheel = timed("build the wheel", lambda: built(place))
        print(f"{'':24} {wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB")
        python = place / "venv" / "bin" / "python"
        timed("make an environment", lambda: venv.create(place / "venv", with_pip=True))
        before = size_mb(place / "venv")
        timed("install", lambda: run(python, "-m", "pip", "install", "--quiet", "--no-compile", str(wheel)))
        print(f"{'':24} {size_mb(place / 'venv') - before:.0f} MB with all that it needs, byte code apart")
        for what in ("run the quickstart", "run it again"):
            timed(what, lambda: run(python.with_name("replay"), "run", "quickstart", cwd=place))
    return 0


def built(place: Path) -> Path:
    """The wheel, built as a release is."""
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(place), str(ROOT))
    return next(place.glob("*.whl"))


def run(*command: str | Path, cwd: Path | None = None) -> None:
    subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.DEVNULL)


def size_mb(folder: Path) -> float:
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir()) / 1e6


def timed(what: str, step: Callable[[], T]) -> T:
    """What *step* returns; prints how long it took."""
    start = time.perf_counter()
    result = step()
    print(f"{what:<24} {time.perf_counter() - start:5.1f} s")
    return result


if __name__ == "__main__":
    sys.exit(main())
