"""Lines of keys in YAML."""

from __future__ import annotations

import re

import pytest

from replay.core.settings.yaml_lines import parse


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


MISTAKES = {
    "data:\n  path: a.jsonl\n   format: chat\n": (3, "by 3 spaces, and line 2 .* by 2; let both begin"),
    "systems:\n  - name: a\n   adapter: http\n": (3, "by 3 spaces, line 2 above it by 4 .* to by 2; use one"),
    "data:\n\tpath: a.jsonl\n": (2, "found a tab .* indent with spaces"),
    "systems:\n  - name: a\n  policies: [gold]\n": (3, "the list that begins on line 2.*further to the left"),
    "  name: a\ndata: b\n": (2, "further to the left .* first column"),
    "body: {{ question }}\n": (1, r'put the value in quotes, as in "{{ question }}"'),
    'body: {"q": {{question}}}\n': (1, "put the value in quotes"),
    "body: {{ question }} and more\n": (1, "something follows a value.* quotes"),
    "say: 'it's late'\n": (1, "something follows a value.* quotes"),
    "policies: [gold, pred\nname: a\n": (2, r'the "\[" that opens on line 1 is not closed.* with "\]"'),
    "policies: [gold, pred\n": (1, r'the "\[" that opens here is not closed'),
    "name: my bot: the best\n": (1, 'value of "name" has a colon and a space.* quotes'),
    "name:x\ndata: b\n": (1, "no space behind its colon; write KEY: VALUE"),
    "name: x\ndata\n  path: c\n": (2, "no colon behind a key; write KEY: VALUE"),
    'name: "x\ndata: b\n': (1, "the quote that opens here is never closed"),
    "name: @bot\n": (1, "can't begin with '@' unless it is quoted"),
    "path: *.jsonl\n": (1, r'can\'t begin with "\*".* quotes'),
    "name: !bot\n": (1, 'can\'t begin with "!".* quotes'),
    'pattern: "\\d+"\n': (1, "use single quotes or write two backslashes"),
    "policies: - gold\n": (1, "each item on a line of its own"),
    "policies: [gold, , pred]\n": (1, "a value is missing before ','"),
    '{"a": 1}\n{"a": 2}\n': (2, "a file holds one.*JSON Lines are data"),
    "name: a\n---\nname: b\n": (2, "a file holds one"),
    "name: \x01\n": (1, r"can't be seen \(0x0001\); remove it"),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_named_with_what_to_write_instead(text: str):
    line, expected = MISTAKES[text]

    _, _, [fault] = parse(text)

    assert fault.line == line
    assert re.search(f"^not valid YAML: .*{expected}", fault.message)
    assert not re.search("mapping values|block end|unhashable|token|flow|scalar|stream", fault.message)
