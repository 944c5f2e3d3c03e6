"""YAML that remembers on which line each key stands, and refuses what YAML would silently accept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from replay.core.errors import Fault
from replay.core.settings.yaml_faults import yaml_fault


class Lines:
    """Key path -> line number (1-based)."""

    def __init__(self, lines: Mapping[str, int]) -> None:
        self._lines = lines

    def of(self, path: str) -> int | None:
        """Return the line of *path*, or of the nearest enclosing key that is in the file."""
        while path and path not in self._lines:
            path = re.sub(r"(\.?[^.\[\]]+|\[\d+\])\Z", "", path)
        return self._lines.get(path)


_DEEP = re.compile(r"(?:[\[{]\s*){100}")

LONGEST = 1_000_000
"""Characters at most; PyYAML reads a million in a second or two."""

LARGEST = 100_000
"""Values at most, each alias counted as what it stands for: a few lines of aliases can make billions."""


def parse(text: str) -> tuple[Any, Lines, list[Fault]]:
    """
    Return the document in *text*, the lines of its keys, and its YAML faults.

    A key given twice is a fault: YAML readers keep the last and lose the first without a word. So is
    what would have no end, or take all memory, if its aliases were followed.
    """
    if len(text) > LONGEST:
        message = f"has {len(text):,} characters, more than a scenario can have ({LONGEST:,})"
        return None, Lines({}), [Fault(path="", message=message)]
    lines: dict[str, int] = {}
    faults: list[Fault] = []
    try:
        if _DEEP.search(text):  # PyYAML takes seconds to find that out
            raise RecursionError
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            return None, Lines({}), []
        _check_size(node, {}, ())
        # Before values are made of it, which puts merged keys (<<) into it.
        _walk(node, "", lines, faults)
        value = loader.construct_document(node)
    except yaml.YAMLError as error:
        return None, Lines({}), [yaml_fault(text, error)]
    except RecursionError:
        return None, Lines({}), [Fault(path="", message="not valid YAML: it is nested too deeply")]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        # PyYAML lets out what its constructors raise: for 2024-02-31, a number of 5,000 digits, `!!int x`.
        message = f"not valid YAML: a value can't be read as what it looks like ({error}); put it in quotes"
        return None, Lines({}), [Fault(path="", message=message)]
    return value, Lines(lines), faults


def _check_size(node: yaml.Node, sizes: dict[int, int], around: tuple[int, ...]) -> int:
    """
    Return how many values *node* comes to once its aliases are followed.

    Raises:
        yaml.MarkedYAMLError: too many, or endlessly many.
    """
    name = id(node)
    if name in around:
        problem = "an alias stands within what it stands for, so that it would never end"
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
    if name not in sizes:
        within = (*around, name)
        parts: list[yaml.Node] = []
        if isinstance(node, yaml.MappingNode):
            parts = [part for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            parts = node.value
        sizes[name] = 1 + sum(_check_size(part, sizes, within) for part in parts)
    if sizes[name] > LARGEST:
        problem = f"holds more than {LARGEST:,} values, its aliases followed"
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
    return sizes[name]


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
