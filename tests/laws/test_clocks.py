"""
Tests wait for conditions, never for a while; and nothing may be said of how fast the machine is.

Read from the tests' own syntax, so far as that tells: where seconds come from elsewhere, it doesn't.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
HELPERS = {
    "waiting.py": "the helpers that wait",
    "virtual_time.py": "a clock of the tests' own",
    "testing/test_fake_clock.py": "sleeps on the clock of the kit",
}
CLOCKS = {"monotonic", "perf_counter", "time", "monotonic_ns", "perf_counter_ns", "time_ns"}
NO_GUARDS = {"WebSocketResponse"}
"""What has a ``timeout`` that means something else: how long it waits for the other side's good-bye."""
LEAST_S = 60
"""Shorter guards against hanging for ever are bounds on how long something may take."""


def complaints(source: str) -> list[str]:
    """What *source* does that depends on how fast a machine is, each with its line."""
    if not re.search(r"sleep|timeout|wait_for|\btime\b|perf_counter|monotonic", source):
        return []
    tree = ast.parse(source)
    return [f"{line}: {what}" for line, what in sorted(_found(tree))]


def _found(tree: ast.Module) -> Iterator[tuple[int, str]]:
    expected = set(_where_a_timeout_is_the_claim(tree))
    durations = {name for node in ast.walk(tree) for name in _names_of_durations(node)}
    for node in _in_real_time(tree):
        if isinstance(node, ast.Call):
            name = _name(node.func)
            if name == "sleep" and not _is_number(node.args[0], 0):
                yield node.lineno, "sleeps; wait for a condition (tests/waiting.py)"
            guards = [*node.args[-1:]] if name in ("timeout", "wait_for") else []
            if name not in NO_GUARDS:
                guards += [keyword.value for keyword in node.keywords if keyword.arg == "timeout"]
            for guard in guards:
                short = isinstance(guard, ast.Constant) and isinstance(guard.value, int | float)
                if short and guard.value < LEAST_S and node.lineno not in expected:
                    yield node.lineno, f"gives up before {LEAST_S} s; take PATIENCE_S (tests/waiting.py)"
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
                less = left if isinstance(operator, ast.Lt | ast.LtE) else right
                if isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE) and _lasted(less, durations):
                    yield node.lineno, "bounds how long something may take; count, or use virtual_time.py"


def _in_real_time(tree: ast.Module) -> Iterator[ast.AST]:
    """All nodes, without functions that a clock of the tests' own is given."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        if "in_virtual_time" not in map(_name, getattr(node, "decorator_list", [])):
            yield node
            left.extend(ast.iter_child_nodes(node))


def _where_a_timeout_is_the_claim(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.With | ast.AsyncWith):
            raised = [ast.unparse(item.context_expr) for item in node.items]
            if any(text.startswith("pytest.raises(TimeoutError") for text in raised):
                yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _names_of_durations(node: ast.AST) -> Iterator[str]:
    """Names that are given the difference of two readings of a clock."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and _reads_clock(node.value):
        yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _lasted(node: ast.expr, durations: set[str]) -> bool:
    return _reads_clock(node) or (isinstance(node, ast.Name) and node.id in durations)


def _reads_clock(node: ast.expr) -> bool:
    return any(isinstance(one, ast.Call) and _name(one.func) in CLOCKS for one in ast.walk(node))


def _name(function: ast.expr) -> str:
    return getattr(function, "attr", None) or getattr(function, "id", "")


def _is_number(node: ast.expr, value: float) -> bool:
    return isinstance(node, ast.Constant) and node.value == value


@pytest.mark.parametrize(
    "line",
    [
        "time.sleep(0.1)",
        "await asyncio.sleep(delay_s)",
        "await sleep(1)",
        "asyncio.timeout(5)",
        "asyncio.wait_for(x, 30)",
        "process.wait(timeout=10)",
        "assert perf_counter() - begun < 5",
        "assert 5 > loop.time() - begun",
        "took = time.monotonic() - begun\nassert took <= 5",
    ],
)
def test_each_of_these_is_noticed(line):
    assert len(complaints(line)) == 1


@pytest.mark.parametrize(
    "line",
    [
        "await asyncio.sleep(0)",
        "asyncio.timeout(60)",
        "process.wait(timeout=PATIENCE_S)",
        "assert time.monotonic() - begun >= 5",
        "assert took < 5",
        "with pytest.raises(TimeoutError):\n    asyncio.timeout(0.01)",
        "@in_virtual_time\nasync def test():\n    await asyncio.sleep(1)",
        "web.WebSocketResponse(timeout=0.1)",
    ],
)
def test_none_of_these_is(line):
    assert complaints(line) == []


def test_no_test_sleeps_or_says_how_fast_a_machine_is():
    found = {
        str(path.relative_to(TESTS)): wrong
        for path in sorted(TESTS.rglob("*.py"))
        if str(path.relative_to(TESTS)) not in HELPERS and (wrong := complaints(path.read_text("utf-8")))
    }
    assert found == {}
