"""
What goes to the nodes with a run: the scenario's files and the environment variables that it names.

Files are the scenario's own code, what its settings name, and what a program's own code imports of its
neighbours, not what is installed. That is read off the code without running it, so what is imported by a name
that is made up at run time isn't found. Conversations are none of them: whoever plays is given them. A file
that an absolute path names is each machine's own.

They go through Ray's object store, once to each node, and not as a ``runtime_env``: that is for a program's
connection with the cluster, so that one which is connected already could send nothing, and its packages stay
with the cluster's head. Variables go with the call that begins an actor, which Ray neither keeps nor shows
(a ``runtime_env`` is on its dashboard).
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from glob import glob
from os.path import abspath
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from replay.core.errors import Fault, InputError, ScenarioError
from replay.scenario.assembly import Assembly
from replay.scenario.reading import ScenarioFile, add_lines
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


_OWN = frozenset({"replay", "replay_adapters"})
"""Installed wherever a run is played, in whichever way."""


class ImportedFiles:
    """What some Python files import, one through another."""

    def __init__(self) -> None:
        self.files: dict[Path, None] = {}
        """Those that were looked at, too."""
        self.search: dict[Path, None] = {}
        """The folders of the search path of modules that some of them were found in."""
        self._places = list(_own_places())

    def of_file(self, path: Path) -> None:
        """Take in *path*, and what it imports."""
        path = path.resolve()
        if path in self.files:
            return
        self.files[path] = None
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):  # whoever imports it will say so
            return
        for level, name in _module_names(tree):
            if level:
                self._find(name, path.parents[level - 1])
            else:
                # A program's own folder comes first where it is started, and counts for nothing elsewhere.
                self._find(name, path.parent)
                self.of_module(name)

    def of_module(self, name: str) -> None:
        """Take in the module of that *name*, where it is one of the program's own."""
        if name.partition(".")[0] in _OWN:
            return
        for place in self._places:
            if self._find(name, place):
                self.search[place] = None
                return

    def _find(self, name: str, place: Path) -> bool:
        """
        Add the files of module *name* in the folder *place*; return whether any part of the name was found
        there.
        """
        found = False
        for part in filter(None, name.split(".")):
            package, module = place / part, place / f"{part}.py"
            if (package / "__init__.py").is_file():
                self.of_file(package / "__init__.py")
            elif module.is_file():
                self.of_file(module)
                return True
            elif not package.is_dir():
                return found
            place, found = package, found or (package / "__init__.py").is_file()
        return found


def _module_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield each module that *tree* may import: how many dots are before its name, and that."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((0, one.name) for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            yield node.level, base
            yield from ((node.level, f"{base}.{one.name}".strip(".")) for one in node.names)


def _own_places() -> Iterator[Path]:
    """Yield the folders of the search path of modules that nothing is installed in."""
    paths = sysconfig.get_paths()
    installed = [paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    installed += [*site.getsitepackages(), site.getusersitepackages()]
    for entry in dict.fromkeys(sys.path):
        place = Path(entry or ".").resolve()
        if place.is_dir() and not _is_below(place, installed):
            yield place


def _is_below(place: Path, folders: Iterable[str]) -> bool:
    return any(place.is_relative_to(Path(folder).resolve()) for folder in folders)


_CODE = re.compile(r"([\w./\\-]*\w)\.py:[A-Za-z_][\w.]*")
_MODULE = re.compile(r"([A-Za-z_]\w*(?:\.\w+)*):[A-Za-z_][\w.]*")
_LONGEST = 1000
_FOLDERS = ("model", "path")
"""Under these keys a text may name a whole folder: a language model."""
_LEFT_OUT = frozenset({"__pycache__", "node_modules", "runs", "venv"})
"""Of a folder; and what begins with a dot: version control, environments, caches."""
_ELSEWHERE = {"name", "scorers", "judges", "assertions", "not_secret", "telemetry"}
"""Sections of a scenario whose files nobody needs who only plays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFiles:
    """What a scenario names, as absolute paths."""

    files: tuple[Path, ...]
    """In order."""
    search: tuple[Path, ...]
    """The folders that modules among them are imported from."""


def named_files(file: ScenarioFile) -> NamedFiles:
    """
    Return the files that *file* names, its own code and what that imports included.

    Raises:
        ScenarioError: ``cluster.files`` names what isn't there.
    """
    named, imported = dict.fromkeys(_cluster_files(file)), ImportedFiles()
    for key, text in _texts(_files_to_play(file), ""):
        if len(text) > _LONGEST or "\n" in text or "\0" in text:
            continue
        if module := _MODULE.fullmatch(text):
            imported.of_module(module[1])
        code = _CODE.fullmatch(text)
        place = file.folder / (f"{code[1]}.py" if code else text)
        if Path(text).is_absolute():
            continue
        if place.is_file():
            named[place] = None
        elif key in _FOLDERS and text and place.is_dir():
            named.update(dict.fromkeys(_inside(place)))
    for path in named:
        if path.suffix == ".py":
            imported.of_file(path)
    files = {*imported.files, *(Path(abspath(path)) for path in named)}
    return NamedFiles(files=tuple(sorted(files)), search=tuple(imported.search))


def _files_to_play(file: ScenarioFile) -> dict[str, Any]:
    """Return the content of *file* without the sections and paths that playing elsewhere doesn't need."""
    content = file.scenario.model_dump(exclude=_ELSEWHERE)
    content["data"].pop("path")
    content["play"].pop("cache")
    return content


def _texts(value: Any, key: str) -> Iterator[tuple[str, str]]:
    """
    Yield each text in *value*, a part of a scenario under *key*, after the key that it stands under itself.
    """
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _texts(item, str(name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item, key)
    elif isinstance(value, str | Path):
        yield key, str(value)


def _cluster_files(file: ScenarioFile) -> Iterator[Path]:
    """
    Yield the files that ``cluster.files`` names, those in folders included.

    Raises:
        ScenarioError: a pattern matches no file.
    """
    faults = []
    for index, pattern in enumerate(file.scenario.cluster.files if file.scenario.cluster else ()):
        places = sorted(Path(found) for found in glob(str(file.folder / pattern), recursive=True))
        files = [path for place in places for path in (_inside(place) if place.is_dir() else [place])]
        yield from files
        if not files:
            message = f'"{pattern}" names no file in {file.folder}; leave it out, or mend it'
            faults.append(Fault(path=f"cluster.files[{index}]", message=message))
    if faults:
        raise ScenarioError(file.source, add_lines(faults, file.lines))


def _inside(folder: Path) -> Iterator[Path]:
    """Yield the files in *folder* and below, in order."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name in _LEFT_OUT:
            continue
        if path.is_dir():
            yield from _inside(path)
        elif path.is_file():
            yield path
