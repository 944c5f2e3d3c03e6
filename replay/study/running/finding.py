"""Finds a study by whatever one calls it: its study file, its folder, or its database."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from replay.core.errors import InputError
from replay.study.store import DATABASE

STUDY_FILE = "study.yaml"
_SQLITE = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundStudy:
    """Where a study is."""

    file: Path | None
    """None where a database was named, or a folder without a study file."""
    database: Path
    """Which is there once the study has begun."""


def find_study(path: Path, database: Path | None = None) -> FoundStudy:
    """
    The study that *path* names: a study file, a folder with one or with a ``study.db``, or a database.

    *database*, where it isn't ``study.db`` beside the study file.

    Raises:
        InputError: there is nothing of the kind.
    """
    if path.is_dir():
        file, beside = path / STUDY_FILE, path / DATABASE
        if not file.is_file() and not (database or beside).is_file():
            raise InputError(
                f'the folder "{path}" holds neither {STUDY_FILE} nor {DATABASE}; name the study file or the '
                "database, or begin one with `replay study init`"
            )
        return FoundStudy(file=file if file.is_file() else None, database=database or beside)
    if not path.is_file():
        raise InputError(
            f'there is no "{path}"; STUDY is a study file, its folder or its database (`replay study init` '
            "writes a study file)"
        )
    with path.open("rb") as opened:
        is_database = opened.read(len(_SQLITE)) == _SQLITE
    if is_database and database is not None:
        raise InputError(f'"{path}" is a database itself; leave --db out, or name the study file')
    if is_database:
        return FoundStudy(file=None, database=path)
    return FoundStudy(file=path, database=database or path.resolve().parent / DATABASE)
