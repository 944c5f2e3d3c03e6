from __future__ import annotations

import json
import sys

import pytest

from tests.benchmarks.programs import load_program


@pytest.fixture(scope="module")
def benchmark():
    return load_program("dialogues")


@pytest.fixture
def judged(benchmark):
    def make(
        changed, invalid, probability, asked="Is she well?", refers_by="pronoun", names=("Ann Lee",), **more
    ):
        return benchmark.Judged(
            place="d 2",
            refers_by=refers_by,
            question="Is she well?",
            changed=changed,
            names=names if changed else (),
            invalid=invalid,
            probability=probability,
            asked=asked,
            **more,
        )

    return make


@pytest.fixture
def five(judged):
    return [
        judged(True, True, 0.9, "Is ANN LEE well?"),
        judged(True, True, 1.0, "Is Bob Ray well?"),
        judged(True, False, 0.0, names=("she",)),
        judged(True, False, 0.04),
        judged(False, True, 0.92, "Is Ann Lee well?", refers_by="nothing"),
    ]


def test_verdicts_and_rewrites_are_counted(benchmark, five):
    lines = list(benchmark.report(five))

    assert lines[1].split() == ["nothing", "0", "0", "1", "1", "0.0", "-", "0.0"]
    assert lines[2].split() == ["pronoun", "4", "2", "0", "0", "100.0", "50.0", "66.7"]
    assert lines[3].split() == ["all", "4", "2", "1", "1", "66.7", "50.0", "57.1"]
    assert lines[4:7] == [
        "rewritten 3 of 5, right 1",
        "  33.3 % of these, 25.0 % of the 4 changed",
        "  harmful 2, 40.0 % of all questions",
    ]
    # Of the changed ones at .9, 1, 0 and .04, one ranks before the other at .92; all are of as many words.
    assert lines[7] == "ranking: AUC 0.250, of the fewer words 0.500"


def test_a_wrong_rewrite_is_harmful_where_it_says_what_people_would_not(judged):
    """Not the right name, but a word of the question's standalone form does no harm."""
    asked = "Is Ann's sister well?"
    assert judged(True, True, 0.9, asked, standalone="").is_harmful
    assert judged(False, True, 0.9, asked, standalone="Is Mia well?").is_harmful
    assert not judged(False, True, 0.9, asked, standalone="Is Ann's sister Mia well?").is_harmful
    assert not judged(True, True, 0.9, asked, names=("sister",)).is_harmful
    assert not judged(False, True, 0.9).is_harmful


@pytest.mark.parametrize(
    ("found", "area"),
    [
        ([(0.9, True), (0.1, False)], 1.0),
        ([(0.1, True), (0.9, False)], 0.0),
        ([(0.5, True), (0.5, False), (0.4, False)], 0.75),
        ([(0.9, True)], 0.5),
        ([], 0.5),
    ],
)
def test_a_ranking_is_how_often_a_yes_stands_before_a_no(benchmark, found, area):
    assert benchmark.ranking(found) == pytest.approx(area)


def test_wrong_ones_are_shown_on_demand(benchmark, five):
    shown = [line for line in benchmark.report(five, show=True) if line not in set(benchmark.report(five))]

    assert [line.split(":")[0] for line in shown] == [
        "wrong rewrite",
        "changed, not seen (pronoun, 0.00)",
        "changed, not seen (pronoun, 0.04)",
        "same, flagged (nothing, 0.92)",
        "wrong rewrite",
    ]


def test_the_calibration_error_weighs_the_bins_by_their_questions(benchmark, five):
    assert [(b, n) for b, n, _, _ in benchmark.reliability(five)] == [(0, 2), (9, 3)]
    # Two questions at .02 on average that changed; three at .94, of which two changed.
    assert benchmark.calibration_error(five) == pytest.approx((2 * 0.98 + 3 * (0.94 - 2 / 3)) / 5)


def test_the_halves_of_a_file_share_nothing(benchmark):
    train, held_out = (list(range(5))[benchmark.HALVES[half]] for half in ("train", "held-out"))

    assert (train, held_out) == ([0, 2, 4], [1, 3])


def test_a_file_is_played_through(benchmark, tmp_path, monkeypatch, capsys):
    """Equal histories are valid by law; with the singer gone, "she" is nobody."""

    def dialogue(own_answer, same):
        first = {"gold_answer": "Ann Lee did.", "own_answer": own_answer, "means_the_same": None}
        then = {"gold_answer": "Yes.", "own_answer": "Yes.", "means_the_same": same}
        names = {"rewrite_names": None if same else ["Ann Lee"], "refers_by": "pronoun"}
        return {
            "id": own_answer,
            "turns": [
                {"question": "Who sang it?", **first, **names},
                {"question": "Was she born in Rome?", **then, **names},
            ],
        }

    file = tmp_path / "d.json"
    file.write_text(
        json.dumps(
            [
                dialogue("Ann Lee did.", True),
                dialogue("Left out.", True),
                dialogue("I don't know.", False),
            ]
        )
    )
    monkeypatch.setattr(sys, "argv", ["dialogues.py", str(file), "--half", "train"])
    benchmark.main()

    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "2 dialogues (train) of d.json"
    assert printed[2].split() == ["pronoun", "1", "1", "1", "0", "100.0", "100.0", "100.0"]
    assert printed[4:6] == ["rewritten 1 of 2, right 1", "  100.0 % of these, 100.0 % of the 1 changed"]
