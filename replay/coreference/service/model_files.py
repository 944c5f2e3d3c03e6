"""
What the large models' libraries have in common: their versions, model directories, errors and chatter.

Nothing here imports them but ``quiet_transformers``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from replay.core.errors import ResolverError

INSTALL = 'pip install "convreplay[neural]"'


def library_version(distribution: str) -> str:
    """
    Return the installed version of an optional library, read from its metadata.

    Raises:
        ResolverError: it isn't installed; says how to.
    """
    try:
        return version(distribution)
    except PackageNotFoundError as error:
        raise ResolverError(f"{distribution} is not installed; it comes with {INSTALL}") from error


@contextmanager
def loading(library: str, advice: Callable[[Exception, str], str]) -> Iterator[None]:
    """
    Turn any exception of *library* in the block, or of those below it, into one error of ours.

    *advice* gives its message, from what was raised and that one's first line.

    Raises:
        ResolverError: something was raised.
    """
    try:
        yield
    except ImportError as error:
        raise ResolverError(
            f"{library} can't be imported ({error}); {INSTALL} brings what it needs"
        ) from error
    except Exception as error:  # three libraries, each with errors of its own
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise ResolverError(advice(error, reason)) from error


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence transformers' advice and progress bars within the block."""
    from transformers.utils import logging as chatter

    verbosity, bars = chatter.get_verbosity(), chatter.is_progress_bar_enabled()
    chatter.set_verbosity_error()
    chatter.disable_progress_bar()
    try:
        yield
    finally:
        chatter.set_verbosity(verbosity)
        if bars:
            chatter.enable_progress_bar()


def fingerprint(folder: Path) -> str:
    """
    Return 12 hexadecimal digits that change with the content of any file of a model folder.

    Files are read in full: 0.3 s for F-coref's 360 MB. Names that start with a dot, and Markdown, are
    left out.
    """
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    said = [path for path in files if not path.name.startswith(".") and path.suffix != ".md"]
    digest = hashlib.sha256()
    for path in said:
        stat = path.stat()
        content = _file_digest(path, stat.st_size, stat.st_mtime_ns)
        digest.update(f"{path.relative_to(folder).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()[:12]


@cache
def _file_digest(path: Path, size: int, modified_ns: int) -> str:
    """Read again only when *size* or *modified_ns* changed."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
