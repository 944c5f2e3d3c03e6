"""Lines of keys in YAML."""

from __future__ import annotations

import re

from replay.core.settings.yaml_lines import parse
from tests.data_tables import from_table


def test_every_key_has_its_line():
    _, lines, faults = parse("a: 1\nb:\n  - c: 2\n    d: 3\n")
    assert not faults
    assert [lines.of(path) for path in ("a", "b", "b[0].c", "b[0].d")] == [1, 2, 3, 4]


def test_a_missing_key_is_located_at_what_should_hold_it():
    _, lines, _ = parse("a: 1\nb:\n  - c: 2\n")
    assert lines.of("b[0].nope") == 3
    assert lines.of("b[7].nope") == 2


def test_a_key_given_twice_is_a_fault():
    _, _, faults = parse("a: 1\nb: 2\na: 3\n")
    assert [(f.path, f.line) for f in faults] == [("a", 3)]
    assert "line 1" in faults[0].message


def test_broken_yaml_is_a_fault_with_its_line():
    _, _, faults = parse("a: 1\nb: [1, 2\n")
    assert len(faults) == 1
    assert faults[0].line == 2


@from_table
def test_a_mistake_is_named_with_what_to_write_instead(text: str, line: int, expected: str):
    _, _, [fault] = parse(text)

    assert fault.line == line
    assert re.search(f"^not valid YAML: .*{expected}", fault.message)
    assert not re.search("mapping values|block end|unhashable|token|flow|scalar|stream", fault.message)
