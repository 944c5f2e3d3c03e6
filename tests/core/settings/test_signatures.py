"""Parameters of callables whose annotations can't be read."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from replay.core.settings.plugin_bugs import signature_of
from replay_adapters.local.python import ARGUMENTS, _accepted

LAZY = "async def answer(question, more: OnlyForTypeCheckers = None): return question"


@pytest.mark.skipif(sys.version_info < (3, 14), reason="the definition itself fails")
def test_an_annotation_of_what_is_not_there_hides_no_parameter() -> None:
    names: dict[str, Any] = {}
    exec(compile(LAZY, "mine.py", "exec", dont_inherit=True), names)

    assert list(signature_of(names["answer"]).parameters) == ["question", "more"]
    assert _accepted(names["answer"], ARGUMENTS, "mine.py:answer") == ("question",)


def test_a_signature_has_the_parameters() -> None:
    def answer(question: str, depth: int = 1) -> str:
        return question * depth

    assert list(signature_of(answer).parameters) == ["question", "depth"]
