from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from replay.core.drift_evidence import Reading
from replay.coreference.mentions import find_mentions

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
    examples = benchmark.read_examples([data])
    corrupted = benchmark.corrupt(examples)

    assert {c.anaphoric for c in corrupted if c.example == 1 and c.invalid} == {True}
    assert {c.anaphoric for c in corrupted if c.example == 2 and c.invalid} == {False}
    assert benchmark.corrupt(examples) == corrupted


@pytest.mark.parametrize("resolver", ["copy", "title", "rules", "embedded"])
def test_the_report_has_all_its_lines(benchmark, data, resolver):
    examples = benchmark.read_examples([data])
    lines = list(benchmark.report(resolver, examples, benchmark.reader(resolver), thresholds=True))

    assert lines[0].startswith(f"{resolver}: 3 questions")
    assert sum(line.startswith("  mentions") for line in lines) == 1
    assert sum(line.startswith("  rewriting") for line in lines) == 1
    assert sum(line.startswith("  drift") for line in lines) == 6
    assert sum(line.startswith("  threshold") for line in lines) == len(benchmark.THRESHOLDS) + 1


def test_cross_validation_never_reads_what_it_learned_from(benchmark, data, monkeypatch):
    from replay.coreference.training import train

    seen = []
    monkeypatch.setattr(train, "train", lambda examples, settings: seen.append(examples))
    examples = benchmark.read_examples([data])
    benchmark.cross_validated(examples, networks=1)

    assert [len(learned) for learned in seen] == [0 if e == examples[0].fold else 3 for e in range(5)]


def test_examples_can_be_shown_with_less(benchmark, data):
    examples = benchmark.read_examples([data])
    (*_, last) = benchmark.shown_as(examples, without_title=True, window=1)

    assert (last.document.title, last.document.section, len(last.document.turns)) == ("", "", 1)
    assert last.fold == examples[-1].fold
    assert benchmark.shown_as(examples, without_title=False, window=None) == examples


def test_the_table_names_who_is_left_out(benchmark, data, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["drift.py", "--data", str(data), "--resolver", "copy", "fastcoref"])
    monkeypatch.setattr(benchmark, "reader", no_fastcoref(benchmark.reader))
    benchmark.main()

    printed = capsys.readouterr().out
    assert "copy: 3 questions" in printed
    assert "fastcoref: left out: no weights" in printed


def no_fastcoref(reader):
    def read(name):
        if name == "fastcoref":
            raise RuntimeError("no weights")
        return reader(name)

    return read
