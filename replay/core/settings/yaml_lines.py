"""
YAML that remembers on which line each key stands, and refuses what YAML would silently accept.

What is wrong in a text that is no YAML, in words for people who never read YAML's grammar.

PyYAML says what its parser met ("expected <block end>, but found '<scalar>'"). From that, from where it stood
and from the lines around it, the mistake that was most likely made is named with what to write in its place.
Values are not quoted: they may be secrets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from replay.core.errors import Fault

_QUOTE = "put the value in quotes"
_KEY = re.compile(r"[^\s#'\"\[\]{},][^:#]*?(?=:(?:\s|\Z))")
_SENTENCES = (
    (r"found character '\\t'", "found a tab where YAML takes spaces alone; indent with spaces"),
    (
        r"found character (?P<what>.+) that cannot start",
        f"a value can't begin with {{what}} unless it is quoted; {_QUOTE}",
    ),
    (
        r"found undefined alias|expected alphabetic or numeric character",
        f'a value can\'t begin with "*" or "&", which name other parts of the file; {_QUOTE}',
    ),
    (
        r"could not determine a constructor for the tag|expected URI|expected ' '",
        f'a value can\'t begin with "!", which names a type; {_QUOTE}',
    ),
    (
        r"expected the node content, but found (?P<what>.+)",
        f'a value is missing before {{what}}; write one, or "" for an empty text, or {_QUOTE}',
    ),
    (
        r"found unknown escape character",
        r"within double quotes a backslash begins an escape as in \n, and this is none; use single quotes or "
        "write two backslashes",
    ),
    (
        r"expected a comment or a line break|expected chomping or indentation",
        f'"|" and ">" announce a text on the lines below, so nothing follows them here; {_QUOTE}',
    ),
    (
        r"sequence entries are not allowed here",
        'an item ("- ...") can\'t follow its key on one line; put each item on a line of its own',
    ),
    (r"mapping keys are not allowed here", f'a value can\'t begin with "?" and a space; {_QUOTE}'),
    (
        r"found unhashable key",
        f"a value that begins with a brace is a mapping and no text; {_QUOTE}, "
        'as in "{{{{ question }}}}"',
    ),
    (
        r"but found another document|expected '<document start>', but found '[{\[]'",
        "a further document begins here, and a file holds one; leave one of them out (JSON Lines are data, "
        "and are named under data.path)",
    ),
    (
        r"expected '<document start>', but found",
        "begins further to the left than the lines before it; let all keys of the file begin in the first "
        "column",
    ),
)
"""What PyYAML complains of, and what is said instead; ``format`` is applied to it."""


def yaml_fault(text: str, error: yaml.YAMLError) -> Fault:
    """Return what is wrong in *text*, which PyYAML refuses with *error*, with its line and what to write."""
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
        what = f"has a character that can't be seen ({ord(text[error.position]):#06x}); remove it"
    elif isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        line, what = _mistake(text.split("\n"), error, error.problem_mark)
    else:
        return Fault(path="", message=f"not valid YAML: {error}")
    return Fault(path="", message=f"not valid YAML: {what}", line=line)


def _mistake(lines: list[str], error: yaml.MarkedYAMLError, mark: yaml.Mark) -> tuple[int, str]:
    """Return the line, from 1, and the sentence."""
    problem, opened, number = error.problem or "can't be read", error.context_mark, mark.line + 1
    if problem == "mapping values are not allowed here":
        return _second_colon(lines, mark)
    if opened is not None and problem == "could not find expected ':'":
        return opened.line + 1, _without_colon(lines[opened.line])
    if opened is not None and "unexpected end of stream" in problem:
        return opened.line + 1, "the quote that opens here is never closed; close it"
    if opened is not None and problem.startswith("expected ',' or "):
        return _open_bracket(lines, opened, mark)
    if opened is not None and problem.startswith("expected <block end>"):
        return number, _wrong_place(lines, opened, mark)
    for pattern, sentence in _SENTENCES:
        if found := re.search(pattern, problem):
            return number, sentence.format(**found.groupdict())
    return number, problem


def _second_colon(lines: list[str], mark: yaml.Mark) -> tuple[int, str]:
    """Of ``a: b: c``, of a key indented below a value, and of a key below a line that is none."""
    line, number = lines[mark.line], mark.line + 1
    if (key := _key_on(line)) and line.index(key) + len(key) < mark.column:
        return number, f'the value of "{key}" has a colon and a space in it, as only keys have; {_QUOTE}'
    above = _line_above(lines, mark)
    if above is None:
        return number, f"a colon and a space stand where no key can; {_QUOTE}"
    if _key_on(lines[above]) is None:
        return above + 1, _without_colon(lines[above])
    return number, (
        f"is indented by {_spaces(_column_of_key(line))}, and line {above + 1} above it, whose key has a "
        f"value already, by {_column_of_key(lines[above])}; let both begin in the same column"
    )


def _without_colon(line: str) -> str:
    """Of a line that is no key, though one was expected."""
    if re.match(r"\s*(?:- )?[\w-]+:\S", line):
        return "has no space behind its colon; write KEY: VALUE"
    return "has no colon behind a key; write KEY: VALUE, or KEY: with what belongs to it below"


def _open_bracket(lines: list[str], opened: yaml.Mark, mark: yaml.Mark) -> tuple[int, str]:
    """Of a list or mapping in brackets that goes on where it can't."""
    bracket = lines[opened.line][opened.column]
    close = f'close it with "{"]" if bracket == "[" else "}"}", or {_QUOTE} if it is a text'
    if not any(_says_something(line) for line in lines[mark.line :]):  # the file's end
        return opened.line + 1, f'the "{bracket}" that opens here is not closed; {close}'
    return mark.line + 1, (
        f'the "{bracket}" that opens on line {opened.line + 1} is not closed, or a comma is missing before '
        f"this; {close}"
    )


def _wrong_place(lines: list[str], opened: yaml.Mark, mark: yaml.Mark) -> str:
    """Return the sentence about what can't stand behind a value, or in its column."""
    line, begins = lines[mark.line], opened.line + 1
    if line[: mark.column].strip(" -"):
        return "something follows a value that its closing quote or brace has ended; put all of it in quotes"
    if lines[opened.line][opened.column : opened.column + 1] == "-" and mark.column == opened.column:
        return (
            f'stands in the column of the list that begins on line {begins}, where only items ("- ...") can; '
            "begin it further to the left, or two columns further to the right if it belongs to the item"
        )
    if line[mark.column : mark.column + 2] == "- " and mark.column == opened.column:
        return f'an item ("- ...") stands among the keys from line {begins} on; indent it below its key'
    above = _line_above(lines, mark) or opened.line
    return (
        f"is indented by {_spaces(mark.column)}, line {above + 1} above it by {_column_of_key(lines[above])} "
        f"and what they belong to by {opened.column}; use one of the two, so that what belongs together "
        "begins in one column"
    )


def _line_above(lines: list[str], mark: yaml.Mark) -> int | None:
    return next((n for n in range(mark.line - 1, -1, -1) if _says_something(lines[n])), None)


def _key_on(line: str) -> str | None:
    """Return the key that *line* begins with, if it does."""
    found = _KEY.match(line.lstrip(" -"))
    return found[0] if found else None


def _column_of_key(line: str) -> int:
    return len(line) - len(line.lstrip(" -"))


def _says_something(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _spaces(count: int) -> str:
    return f"{count} space{'s' * (count != 1)}"


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
