"""
The files that it takes to play a scenario elsewhere: its own code, and what its settings name.

Conversations are none of them: whoever plays is given them. A file that an absolute path names is each
machine's own.

The Python files that a program's own code imports: its neighbours, not what is installed.

Read off the code without running it, so what is imported by a name that is made up at run time isn't found.
"""

from __future__ import annotations

import ast
import re
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from glob import glob
from os.path import abspath
from pathlib import Path
from typing import Any

from replay.core.errors import Fault, ScenarioError
from replay.scenario.reading import ScenarioFile, add_lines

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
