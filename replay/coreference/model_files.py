"""
Libraries and model directories that large models need, looked at without importing or loading them.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from replay.core.errors import ResolverError

INSTALL = 'pip install "convreplay[neural]"'


def library_version(distribution: str) -> str:
    """
    The installed version of an optional library, read from its metadata.

    Raises:
        ResolverError: it isn't installed; says how to.
    """
    try:
        return version(distribution)
    except PackageNotFoundError as error:
        raise ResolverError(f"{distribution} is not installed; it comes with {INSTALL}") from error


def fingerprint(folder: Path) -> str:
    """
    Twelve hexadecimal digits that change with the content of any file of a model directory.

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
