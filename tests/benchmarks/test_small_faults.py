"""Which faults are put into the code, where, and that each leaves the rest as it was."""

from __future__ import annotations

import pytest

from tests.benchmarks.programs import load_program


@pytest.fixture(scope="module")
def benchmark():
    return load_program("small_faults")


def found(benchmark, source: str) -> list[tuple[str, int, str, str]]:
    return [(m.scope, m.first_line, m.before, m.after) for m in benchmark.Walk("x.py", source).found]


@pytest.mark.parametrize(
    ("source", "faults"),
    [
        ("a < b", [("a < b", "a <= b")]),
        ("a is b", [("a is b", "a is not b")]),
        ("a and b", [("a and b", "a or b")]),
        ("a - b", [("a - b", "a + b")]),
        ("a += b", [("a += b", "a -= b")]),
        ("x = -a", [("-a", "a")]),
        ("x = not a", [("not a", "a")]),
        ("x = 3", [("3", "4")]),
        ("x = True", [("True", "False")]),
        ("x = a if b else c", [("a if b else c", "c if b else a")]),
        ("if a: x", [("if a:", "if not a:")]),
        ("x = [a for a in b if c]", [("for a in b if c", "for a in b")]),
        ("f(a)", [("f(a)", "pass")]),
        ("raise a", [("raise a", "pass")]),
        ("min(a, b)", [("min(a, b)", "pass"), ("min", "max")]),
        ("zip(a, b, strict=True)", [("zip(a, b, strict=True)", "pass")]),
        ("x: list[3]", []),
        ('x = "text"', []),
        ("if TYPE_CHECKING: f()", []),
        ("class A(Protocol):\n    x = 3", []),
    ],
)
def test_each_fault_stands_in_one_place(benchmark, source, faults):
    assert [(before.strip(), after.strip()) for _, _, before, after in found(benchmark, source)] == faults


def test_each_is_named_by_where_it_is(benchmark):
    source = "LIMIT = 1\n\n\nclass A:\n    b = 2\n\n    def c(self, d=3):\n        return 4\n"
    assert [(scope, line, before) for scope, line, before, _ in found(benchmark, source)] == [
        ("", 1, "1"),
        ("A", 5, "2"),
        ("A.c(defaults)", 7, "3"),
        ("A.c()", 8, "return 4"),
        ("A.c()", 8, "4"),
    ]


def test_a_mutant_has_its_fault_and_no_other(benchmark):
    source = "a = 1\nb = 1\n"
    mutants = benchmark.Walk("x.py", source).found
    assert [m.source for m in mutants] == ["a = 2\nb = 1", "a = 1\nb = 2"]
    assert [m.key for m in mutants] == ["x.py |  | 1 -> 2"] * 2
