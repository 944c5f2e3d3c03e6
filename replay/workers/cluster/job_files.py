"""
What goes to the nodes with a run: the scenario's files and the environment variables that it names.

Files go through Ray's object store, once to each node, and not as a ``runtime_env``: that is for a program's
connection with the cluster, so that one which is connected already could send nothing, and its packages stay
with the cluster's head. Variables go with the call that begins an actor, which Ray neither keeps nor shows
(a ``runtime_env`` is on its dashboard).
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

from replay.core.errors import InputError
from replay.scenario.assembly import Assembly
from replay.scenario.named_files import NamedFiles, named_files
from replay.scenario.reading import ScenarioFile
from replay.scenario.side_effects import side_effects

MOST_BYTES = 200_000_000
"""Of all files together: they are in memory here and on each node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The scenario's folder and all that lies about it, as far as it is needed."""

    folder: str
    """The scenario's, relative to that of all."""
    contents: Mapping[str, tuple[int, bytes]]
    """Mode and content by path, relative to that of all."""
    search: Sequence[str]
    """Where modules among them are to be looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variables:
    """Environment variables; in no text that is made of them."""

    values: Mapping[str, str] = field(repr=False)
    files: Mapping[str, str] = field(repr=False)
    """The content of the file that a variable names."""


def files_of(file: ScenarioFile) -> Files:
    """
    Return the contents of the files that a node needs to play *file*, with paths relative to one root.

    Raises:
        InputError: they are too large, or one can't be read.
    """
    named = named_files(file)
    _check_size(named)
    root = os.path.commonpath([file.folder, *named.files, *named.search])
    contents = {}
    for path in named.files:
        try:
            contents[os.path.relpath(path, root)] = (path.stat().st_mode & 0o777, path.read_bytes())
        except OSError as error:
            raise InputError(f'cluster: "{path}" can\'t be read: {error.strerror}') from error
    return Files(
        folder=os.path.relpath(file.folder, root),
        contents=contents,
        search=[os.path.relpath(place, root) for place in named.search],
    )


def _check_size(named: NamedFiles) -> None:
    sizes = {path: path.stat().st_size for path in named.files}
    if (total := sum(sizes.values())) > MOST_BYTES:
        largest = max(sizes, key=sizes.__getitem__)
        raise InputError(
            f"cluster: the files that the nodes need have {total / 1e6:,.0f} MB, of which {largest} has "
            f"{sizes[largest] / 1e6:,.0f}; at most {MOST_BYTES / 1e6:,.0f} MB are sent: put large ones on "
            "each node, and name them by an absolute path"
        )


def variables_of(assembly: Assembly) -> Variables:
    """
    Return the environment variables that *assembly*'s scenario names and that are set here.

    Of a variable that names a file (``*_FILE``) the file's content is returned too. Those of judges and
    scorers are left out: they are called from this machine.
    """
    sends = [one for one in side_effects(assembly).sends if not one.at.startswith(("judges", "scorers"))]
    values = {one.variable: os.environ[one.variable] for one in sends if one.variable in os.environ}
    named = {name: Path(path.strip()) for name, path in values.items() if name.endswith("_FILE")}
    return Variables(
        values={name: value for name, value in values.items() if name not in named},
        files={name: path.read_text("utf-8") for name, path in named.items()},
    )


@contextmanager
def unpacked_job_files(files: Files, variables: Variables) -> Iterator[Path]:
    """
    The scenario's folder on this machine, for as long as the block lasts: its files are there, its modules
    can be imported, its variables are set.
    """
    root = Path(mkdtemp(prefix="convreplay-")).resolve()
    search = [str((root / "files" / place).resolve()) for place in files.search]
    before = dict(os.environ)
    try:
        folder = root / "files" / files.folder
        folder.mkdir(parents=True)
        for name, (mode, content) in files.contents.items():
            _write(root / "files" / name, content, mode)
        sys.path[:0] = search
        os.environ.update(variables.values)
        for name, text in variables.files.items():
            _write(root / "variables" / name, text.encode(), 0o600)
            os.environ[name] = str(root / "variables" / name)
        yield folder
    finally:
        sys.path[:] = [place for place in sys.path if place not in search]
        for name in (*variables.values, *variables.files):
            os.environ.pop(name, None)
            os.environ.update({name: before[name]} if name in before else {})
        shutil.rmtree(root, ignore_errors=True)


def _write(path: Path, content: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
        stream.write(content)
