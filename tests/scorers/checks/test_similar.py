"""``similar``, with a made-up model: loading a real one takes longer than all other tests of checks."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

import pytest

from replay.core.errors import PluginError
from replay.core.expectation import Expectation
from replay.scorers.checks import texts
from replay.scorers.checks.kinds import BadExpectationError, check_of
from replay.scorers.scorer import CheckedScorer
from replay.testing.turns import turn
from tests.data_tables import from_table
from tests.scorers.checks.looking import look, look_at


class SharedLetters:
    def cosines(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [len(set(one) & set(other)) / len(set(one) | set(other)) for one, other in pairs]


@pytest.fixture
def model(monkeypatch):
    monkeypatch.setattr(texts, "sentence_model", lambda place, device: SharedLetters())
    monkeypatch.setattr(texts.Similar, "check_installed", lambda self: None)


@pytest.mark.usefixtures("model")
@from_table
def test_the_best_text_counts_and_the_gold_answer_where_none_is_named(value, passed, evidence):
    found = look_at("similar", value, turn("abc", "xyz", "ab", "abcdef"))
    assert (found.passed, found.evidence) == (passed, evidence)


@pytest.mark.usefixtures("model")
def test_without_any_text_to_compare_with_nothing_is_passed():
    found = look("similar", 0.5, "abc")
    assert (found.passed, found.reason) == (None, "no gold answer")


def test_without_the_extra_it_says_so_before_a_run_and_passes_nothing_after_one(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    check = check_of(Expectation(kind="similar", value={"to": "a", "at_least": 0.5}))

    assert isinstance(check, CheckedScorer)
    with pytest.raises(PluginError, match="torch"):
        check.check_installed()
    found = look("similar", {"to": "a", "at_least": 0.5}, "a")
    assert (found.passed, found.reason) == (None, "no sentence model")
    assert 'pip install "convreplay[neural]"' in str(found.evidence)


def test_no_cosine_is_above_1():
    with pytest.raises(BadExpectationError, match="5 is not less than or equal to 1"):
        check_of(Expectation(kind="similar", value=5))
