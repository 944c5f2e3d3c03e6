"""No number of ours moves under the version that it had: `tests/golden/numbers` has them all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replay.core.settings.plugins import available
from tests.golden import write
from tests.golden.corner_cases import documents
from tests.golden.golden_file import DIGITS, FOLDER, TOLERANCE, Golden, kept, moved, plain, silent, told
from tests.golden.shipped_numbers import FILES, SAMPLED, WEIGHED, content, questions

WRITE = "the numbers are of another version; `python -m tests.golden.write`, and read the difference in git"


EVERY = 3
"""Of corner cases and conversations, one in so many is read without --long: of each question and of each
history some."""


@pytest.mark.parametrize("name", FILES)
def test_no_number_moves_without_a_new_version(name, long):
    before = kept(name)
    if name in SAMPLED and not long:
        found, raise_what = content(name, every=EVERY)
        whole = dict(documents()) if name == "corner-cases" else {at for at, _, _ in questions()}
        assert before.rows.keys() == set(whole), WRITE
        before = replace(before, rows={at: before.rows[at] for at in found.rows})
    else:
        found, raise_what = content(name)
    changes = silent(before, found)
    assert not changes, told(name, changes, raise_what)
    assert (before.of, before.versions) == (found.of, found.versions), WRITE
    assert not list(moved(before, found)), WRITE


def test_every_number_has_a_file():
    assert {path.stem for path in FOLDER.glob("*.jsonl")} == FILES.keys()
    scored = {label.partition("(")[0] for label in kept("scores").versions}
    assert scored == set(available("scorers")) - WEIGHED, "scenarios/metrics.yaml has all scorers"


def scores(value: object, *, version: str = "f1-1", of: str = "x") -> Golden:
    return Golden(of=of, versions={"f1": version}, rows={"a#1": {"f1": value}, "a#2": {"f1": [1.0, "yes"]}})


BEFORE = scores([0.5, "no"])


def test_a_difference_that_processors_make_is_none():
    assert silent(BEFORE, scores([0.5 + TOLERANCE / 2, "no"])) == []
    assert plain({"a": (1 / 3, True)}) == {"a": [round(1 / 3, DIGITS), True]}


@pytest.mark.parametrize("value", [[0.5 + 2 * TOLERANCE, "no"], [0.5, "yes"], [0.5], "0.5", None])
def test_any_other_difference_is_told_with_its_place_and_what_to_raise(value):
    (one,) = changes = silent(BEFORE, scores(value))
    assert (one.at, one.column) == ("a#1", "f1")
    words = told("scores", changes, {"f1": "raise it"})
    assert 'a#1 f1\n    was [0.5, "no"]' in words
    assert "f1: raise it" in words


def test_a_place_that_went_or_came_is_a_difference():
    less = Golden(of="x", versions=BEFORE.versions, rows={"a#1": BEFORE.rows["a#1"]})
    assert [(one.at, one.now) for one in silent(BEFORE, less)] == [("a#2", None)]
    assert [(one.at, one.before) for one in silent(less, BEFORE)] == [("a#2", None)]


@pytest.mark.parametrize("now", [scores([0.4, "no"], version="f1-2"), scores([0.4, "no"], of="y")])
def test_a_new_version_and_new_data_may_change_everything(now):
    assert silent(BEFORE, now) == []
    assert len(list(moved(BEFORE, now))) == 1


def test_a_number_that_moved_silently_is_not_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tests.golden.golden_file.FOLDER", tmp_path)
    monkeypatch.setattr(write, "FOLDER", tmp_path)
    what = {"f1": "raise VERSION"}
    assert write.write("scores", BEFORE, what)
    assert kept("scores") == BEFORE
    assert not write.write("scores", scores([0.4, "no"]), what)
    assert kept("scores") == BEFORE
    assert "raise VERSION" in capsys.readouterr().err
    assert write.write("scores", scores([0.4, "no"], version="f1-2"), what)
    assert kept("scores").rows["a#1"]["f1"] == [0.4, "no"]
