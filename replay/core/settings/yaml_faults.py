"""
What is wrong in a text that is no YAML, in words for people who never read YAML's grammar.

PyYAML says what its parser met ("expected <block end>, but found '<scalar>'"). From that, from where it stood
and from the lines around it, the mistake that was most likely made is named with what to write in its place.
Values are not quoted: they may be secrets.
"""

from __future__ import annotations

import re

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
        return number, _misplaced(lines, opened, mark)
    for pattern, sentence in _SENTENCES:
        if found := re.search(pattern, problem):
            return number, sentence.format(**found.groupdict())
    return number, problem


def _second_colon(lines: list[str], mark: yaml.Mark) -> tuple[int, str]:
    """Of ``a: b: c``, of a key indented below a value, and of a key below a line that is none."""
    line, number = lines[mark.line], mark.line + 1
    if (key := _key(line)) and line.index(key) + len(key) < mark.column:
        return number, f'the value of "{key}" has a colon and a space in it, as only keys have; {_QUOTE}'
    above = _line_above(lines, mark)
    if above is None:
        return number, f"a colon and a space stand where no key can; {_QUOTE}"
    if _key(lines[above]) is None:
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


def _misplaced(lines: list[str], opened: yaml.Mark, mark: yaml.Mark) -> str:
    """Of what can't stand behind a value, or in its column."""
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


def _key(line: str) -> str | None:
    """Return the key that *line* begins with, if it does."""
    found = _KEY.match(line.lstrip(" -"))
    return found[0] if found else None


def _column_of_key(line: str) -> int:
    return len(line) - len(line.lstrip(" -"))


def _says_something(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _spaces(count: int) -> str:
    return f"{count} space{'s' * (count != 1)}"
