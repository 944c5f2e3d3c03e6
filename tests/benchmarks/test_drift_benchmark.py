from __future__ import annotations

import json
import sys

import pytest

from replay.core.drift_evidence import Reading
from replay.coreference.reading.mentions import find_mentions
from tests.benchmarks.programs import load_program


@pytest.fixture(scope="module")
def benchmark():
    return load_program("drift")


@pytest.fixture
def data(tmp_path):
    history = ["Ann Lee", "Early life"]
    rows = []
    for number, (question, rewritten, answer) in enumerate(
        [
            ("Who was her teacher?", "Who was Ann Lee's teacher?", "The pianist Bob Ray."),
            ("Did he like her?", "Did Bob Ray like Ann Lee?", "I don't know."),
            ("What else?", "Besides Bob Ray, what else?", "She sang."),
        ]
    ):
        rows.append(
            {
                "History": list(history),
                "QuAC_dialog_id": "d",
                "Question": question,
                "Question_no": number + 1,
                "Rewrite": rewritten,
            }
        )
        history += [question, answer]
    path = tmp_path / "canard.json"
    path.write_text(json.dumps(rows), "utf-8")
    return path


def test_an_antecedent_is_right_when_people_wrote_it_there(benchmark):
    (mention,) = find_mentions("Did she sing?")
    wanted = benchmark.RightReading(status="resolved", words=("ann", "lee"))

    def is_right(antecedent, source=""):
        reading = Reading(mention=mention, antecedent=antecedent, source=source)
        return benchmark.is_right(reading, wanted, "Did Ann Lee sing?")

    assert is_right("Ann Lee")
    assert is_right("Ann")
    assert not is_right("Ann Ray")
    assert is_right("the singer Ann Lee came", "clause")
    assert not is_right("Ann came", "clause")


def test_a_mention_is_classic_if_it_is_a_pronoun_a_demonstrative_or_a_general_noun(benchmark):
    asked = "Did she like that, that song, the band, the mill, the second one or it there?"

    assert [m.text for m in find_mentions(asked) if benchmark.is_classic(m)] == [
        "she", "that", "that song", "the band", "it",
    ]  # fmt: skip


def test_mentions_are_counted_by_kind_and_all_that_are_classic_together(benchmark, data):
    examples = benchmark.read_examples([data])
    read = [
        [Reading(mention=mention, antecedent="Ann Lee") for mention in find_mentions(e.document.question)]
        for e in examples
    ]
    counts = benchmark.score_mentions(examples, read)

    assert +counts["she"] == {"resolved": 2, "predicted": 2, "right": 2}
    assert +counts["he"] == {"resolved": 1, "predicted": 1}
    assert counts["all"] == counts["she"] + counts["he"]
    assert counts["ellipsis"]["resolved"] == 1


def test_drift_through_a_mention_is_told_from_drift_through_what_is_left_out(benchmark, data):
    found = list(benchmark.corrupt(benchmark.read_examples([data])))

    def through(question):
        chosen = [one for one in found if one.lost and one.example.document.question == question]
        return {benchmark._through_a_mention(one) for one in chosen}

    assert through("Did he like her?") == {True}
    assert through("What else?") == {False}


@pytest.mark.parametrize(
    ("found", "error"),
    [
        ([(0.05, False)] * 10, 0.05),
        ([(0.25, True)] + [(0.25, False)] * 3, 0.0),
        ([(1.0, True)] * 3 + [(0.0, True)], 0.25),
        ([], 0.0),
    ],
)
def test_calibration_compares_probabilities_with_shares(benchmark, found, error):
    assert benchmark.calibration(found)[0] == pytest.approx(error)


def test_calibration_says_what_is_in_each_bin(benchmark):
    _, bins = benchmark.calibration([(0.31, True), (0.39, False), (1.0, True)])

    assert bins == [(pytest.approx(0.35), 0.5, 2), (1.0, 1.0, 1)]


@pytest.mark.parametrize(
    ("right", "predicted", "resolved", "scores"),
    [(1, 2, 4, (50, 25, 100 / 3)), (0, 0, 4, (0, 0, 0)), (0, 3, 0, (0, 0, 0))],
)
def test_precision_recall_and_f(benchmark, right, predicted, resolved, scores):
    assert benchmark.f_score(right, predicted, resolved) == pytest.approx(scores)


def test_agreement_counts_what_both_say(benchmark):
    assert benchmark.agreement([True, True, False], [True, False, True]) == pytest.approx((50, 50, 50))


@pytest.mark.parametrize("resolver", ["copy", "title", "embedded"])
def test_the_report_has_all_its_lines(benchmark, data, resolver):
    examples = benchmark.read_examples([data])
    lines = list(benchmark.report(resolver, examples, benchmark.reader(resolver)))

    assert lines[0].startswith(f"{resolver}: 3 questions")
    for opening, count in (
        ("mentions", 1), ("rewriting", 1), ("edits", 1), ("drift", 4), ("ranking", 1),
        ("calibration", 1), ("threshold", len(benchmark.THRESHOLDS)),
    ):  # fmt: skip
        assert sum(line.startswith(f"  {opening}") for line in lines) == count, opening


def test_edits_are_for_the_better_where_they_come_closer_to_the_human_rewrite(benchmark, data):
    examples = benchmark.read_examples([data])
    lines = list(
        benchmark.rewriting_lines(
            examples, ["Who was Ann Lee's teacher?", "Did Rome hate her?", "What else?"]
        )
    )

    assert lines[1].startswith("  edits     2, for the better 50.0 %, worse 1; repaired 33.3 % of 3")


def test_examples_can_be_shown_with_less(benchmark, data):
    examples = benchmark.read_examples([data])
    (*_, last) = benchmark.shown_as(examples, without_title=True, window=1)

    assert (last.document.title, last.document.section, len(last.document.turns)) == ("", "", 1)
    assert (last.dialog, last.rewrite) == (examples[-1].dialog, examples[-1].rewrite)
    assert benchmark.shown_as(examples, without_title=False, window=None) == examples


def test_the_table_names_who_is_left_out(benchmark, data, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["drift.py", "--data", str(data), "--resolver", "copy", "fastcoref"])
    monkeypatch.setattr(benchmark, "reader", no_fastcoref(benchmark.reader))
    benchmark.main()

    printed = capsys.readouterr().out
    assert printed.startswith("canard:\n")
    assert "copy: 3 questions" in printed
    assert "fastcoref: left out: no weights" in printed


def test_what_something_was_fitted_to_can_be_left_out(benchmark, data, monkeypatch, capsys):
    """Of three questions, the first was learned from and the second is for the decisions."""
    asked = [example.document.question for example in benchmark.read_examples([data])]
    monkeypatch.setattr(benchmark, "is_held_out", lambda e: e.document.question != asked[0])
    monkeypatch.setattr(benchmark, "is_for_decisions", lambda e: e.document.question == asked[1])
    for arguments, count in (([], 3), (["--held-out"], 1)):
        monkeypatch.setattr(sys, "argv", ["drift.py", "--data", str(data), "--resolver", "copy", *arguments])
        benchmark.main()
        assert f"copy: {count} questions" in capsys.readouterr().out


def no_fastcoref(reader):
    def read(name):
        if name == "fastcoref":
            raise RuntimeError("no weights")
        return reader(name)

    return read
