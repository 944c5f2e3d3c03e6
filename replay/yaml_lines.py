"""YAML that remembers on which line each key stands, and refuses what YAML would silently accept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from replay.errors import Fault


class Lines:
    """Key path -> line number (1-based)."""

    def __init__(self, lines: Mapping[str, int]) -> None:
        self._lines = lines

    def of(self, path: str) -> int | None:
        """The line of *path*, or of the nearest thing around it that is in the file."""
        while path and path not in self._lines:
            path = re.sub(r"(\.?[^.\[\]]+|\[\d+\])\Z", "", path)
        return self._lines.get(path)


def parse(text: str) -> tuple[Any, Lines, list[Fault]]:
    """
    The document in *text*, the lines of its keys, and what is wrong with it as YAML.

    A key given twice is a fault: YAML readers keep the last and lose the first without a word.
    """
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        value = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        problem = error.problem or "can't be read"
        return None, Lines({}), [Fault(path="", message=f"not valid YAML: {problem}", line=line)]
    except yaml.YAMLError as error:
        return None, Lines({}), [Fault(path="", message=f"not valid YAML: {error}")]
    lines: dict[str, int] = {}
    faults: list[Fault] = []
    if node is not None:
        _walk(node, "", lines, faults)
    return value, Lines(lines), faults


def _walk(node: yaml.Node, path: str, lines: dict[str, int], faults: list[Fault]) -> None:
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            below = f"{path}.{key.value}" if path else str(key.value)
            line = key.start_mark.line + 1
            if below in lines:
                faults.append(
                    Fault(path=below, message=f"is given twice (first on line {lines[below]})", line=line)
                )
            lines[below] = line
            _walk(value, below, lines, faults)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _walk(item, f"{path}[{index}]", lines, faults)
