from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from replay.coreference.mentions import find_mentions
from replay.evidence import Reading

FILE = Path(__file__).parents[2] / "benchmarks" / "drift.py"


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("drift_benchmark", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


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


def right(benchmark, question, rewritten):
    found = benchmark.right_readings(question, rewritten, find_mentions(question))
    return [(reading.status, reading.words) for reading in found]


@pytest.mark.parametrize(
    ("question", "rewritten", "expected"),
    [
        ("Did she sing?", "Did Ann Lee sing?", [("resolved", ("ann", "lee"))]),
        ("Did she sing?", "Did she sing?", [("left", ())]),
        ("Did she like her song?", "Did Ann like her song?", [("resolved", ("ann",)), ("undecided", ())]),
        ("Was the album good?", "Was the album Blue good?", [("resolved", ("blue",))]),
        ("Did she sing?", "Did he sing?", [("undecided", ())]),
    ],
)
def test_right_readings_come_from_the_mentions_place(benchmark, question, rewritten, expected):
    assert right(benchmark, question, rewritten) == expected


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


def test_corruption_tells_ellipsis_from_anaphora(benchmark, data):
    examples = benchmark.load(data)
    corrupted = benchmark.corrupt(examples)

    assert {c.anaphoric for c in corrupted if c.example == 1 and c.invalid} == {True}
    assert {c.anaphoric for c in corrupted if c.example == 2 and c.invalid} == {False}
    assert benchmark.corrupt(examples) == corrupted


@pytest.mark.parametrize("resolver", ["copy", "title", "rules", "embedded"])
def test_the_report_has_all_its_lines(benchmark, data, resolver):
    lines = list(benchmark.report(resolver, benchmark.load(data), benchmark.reader(resolver)))

    assert lines[0].startswith(f"{resolver}: 3 questions")
    assert any(line.startswith("rewriting") for line in lines)
    assert sum(line.startswith("drift") for line in lines) == 2


def test_folds_part_the_articles(benchmark, data):
    sizes = [len(benchmark.load(data, frozenset({fold}))) for fold in range(5)]

    assert sorted(sizes) == [0, 0, 0, 0, 3]
