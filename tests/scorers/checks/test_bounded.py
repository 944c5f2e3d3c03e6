"""What a check may take of time and memory, and what comes of one that would take more."""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
from typing import Any

import pytest

from replay.scorers.checks import json_answers, texts
from replay.scorers.checks.bounded import BoundedProcess, FailedCallError
from replay.scorers.checks.kinds import BadExpectationError
from tests.scorers.checks.looking import look

LIMIT_S = 0.3
"""Less than a user has, so that the tests are quick."""

DEEP = 200_000


@pytest.fixture
def process(monkeypatch):
    process = BoundedProcess(LIMIT_S)
    for module in (json_answers, texts):
        monkeypatch.setattr(module, "bounded", process.call)
    yield process
    process.end()


def doubling(keyword: str, times: int) -> dict[str, Any]:
    """A schema that says the same twice, each of which says the same twice, ..."""
    definitions: dict[str, Any] = {
        f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(times)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{times}": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("kind", "value", "answer"),
    [
        ("json_schema", doubling("allOf", 45), "1"),
        ("jmespath", "|".join(["[@, @]"] * 45), "1"),
        ("regex", "[ab]*a[ab]{3000}c", "".join(random.Random(1).choices("ab", k=100_000))),
    ],
    ids=["definitions", "expression", "pattern"],
)
def test_a_check_that_would_never_end_is_not_looked_at(process, kind, value, answer):
    with pytest.raises(FailedCallError, match=r"^needs more than 0\.3 s of computing or 1 GiB of memory$"):
        look(kind, value, answer)
    assert look("jmespath", "@", "1").passed  # the next is


def test_a_schema_that_can_not_even_be_read_in_that_time_is_a_fault_of_the_data(process):
    with pytest.raises(BadExpectationError, match=r"can't be used, since it needs more than 0\.3 s"):
        look("json_schema", {**doubling("allOf", 24), "unevaluatedProperties": False}, "1")


def test_memory_is_bounded(process):
    with pytest.raises(FailedCallError, match="1 GiB"):
        process.call(bytes, 2**31)


def test_what_a_library_raises_is_told_and_the_process_goes_on(process):
    with pytest.raises(FailedCallError) as caught:
        process.call(math.floor, 1e400)
    assert (caught.value.reason, caught.value.message) == (
        "fails with OverflowError",
        "cannot convert float infinity to integer",
    )
    before = process._process
    assert process.call(math.gcd, 12, 18) == 6
    assert process._process is before


@pytest.mark.parametrize(
    "answer", ["[" * DEEP + "]" * DEEP, '{"a":' * DEEP + "1" + "}" * DEEP], ids=["lists", "objects"]
)
def test_an_answer_that_is_nested_too_deeply_is_not_called_no_json(process, answer):
    with pytest.raises(FailedCallError, match="RecursionError"):
        look("json_schema", True, answer)


def test_at_a_conversations_end_another_answer_may_pass(process):
    huge = '{"items": [{"price": 1e308}, {"price": 1e308}]}'
    expression = {"expression": "floor(sum(items[].price))", "equals": 3}

    assert look("jmespath", expression, huge, '{"items": [{"price": 3}]}').passed
    with pytest.raises(FailedCallError, match="OverflowError"):
        look("jmespath", expression, huge, '{"items": [{"price": 4}]}')


def test_a_call_that_was_interrupted_leaves_no_result_to_the_next(process, monkeypatch):
    def interrupted(asked: bytes) -> bytes:
        answered(asked)
        raise KeyboardInterrupt

    answered = process._answer
    with monkeypatch.context() as patched:
        patched.setattr(process, "_answer", interrupted)
        with pytest.raises(KeyboardInterrupt):
            process.call(math.gcd, 2, 4)
    assert process.call(math.gcd, 9, 6) == 3


def test_a_process_that_can_not_be_started_is_told_as_that(process, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", "/bin/false")
        with pytest.raises(
            FailedCallError, match=r"^has no process to be tried in: it ended with 1 as it began"
        ):
            process.call(math.gcd, 2, 4)
        patched.setattr(sys, "executable", "/no/such/python")
        with pytest.raises(FailedCallError, match=r"^has no process to be tried in: .*No such file"):
            process.call(math.gcd, 2, 4)
    assert process.call(math.gcd, 9, 6) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_fork_has_a_process_of_its_own():
    """With its parent's it would get its parent's results."""
    program = """
import math, os
from replay.scorers.checks.bounded import _PROCESS
_PROCESS.call(math.gcd, 2, 4)
before = _PROCESS._process.pid
if os.fork() == 0:
    print(_PROCESS.call(math.gcd, 9, 6), _PROCESS._process.pid != before, flush=True)
    _PROCESS.end()
    os._exit(0)
os.wait()
print(_PROCESS.call(math.gcd, 8, 4), _PROCESS._process.pid == before)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["3", "True", "4", "True"]


def test_a_module_of_the_working_directory_is_not_imported(tmp_path):
    """Else whoever looks at data in a folder that was sent would run what lies there."""
    (tmp_path / "json.py").write_text("raise SystemExit('imported')")
    program = f"""
import os
from replay.scorers.checks.bounded import bounded
from math import gcd
os.chdir({json.dumps(str(tmp_path))})
print(bounded(gcd, 9, 6))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "3\n"
