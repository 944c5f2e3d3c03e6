"""
The Python files that a program's own code imports: its neighbours, not what is installed.

Read off the code without running it, so what is imported by a name that is made up at run time isn't found.
"""

from __future__ import annotations

import ast
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

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
