"""What became of checks, kept in a run's database and read again."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from replay.results.run import Run
from replay.statistics.checks import count_checks
from replay.store.page_queries import RunBrowser
from replay.store.store import RunStore
from tests.report.sample_checks import check
from tests.viewer.runs import make_run, record, talk

PASSED = check("c1", 2, "+", system="s", value=["a", "é"], evidence="found a", asked=None, answer=None)
UNREACHED = replace(PASSED, depth=3, called="half \ud800", passed=None, reason="never reached", evidence=None)


def test_checks_come_back_as_they_were_and_a_later_one_takes_its_place(tmp_path: Path) -> None:
    with_facts = RunStore.create(tmp_path / "run", {})
    with_facts.add_checks([UNREACHED, PASSED])
    with_facts.add_checks([replace(PASSED, passed=False, evidence="only b")])
    with_facts.settle()

    assert list(with_facts.checks()) == [replace(PASSED, passed=False, evidence="only b"), UNREACHED]
    with_facts.close()


def test_checks_come_with_the_turns_that_they_were_made_of(tmp_path: Path) -> None:
    """In the data's order; a turn that was never reached has no texts."""
    later = replace(PASSED, conversation="b", depth=1)
    folder = make_run(
        tmp_path / "run",
        [talk("c1"), talk("b")],
        [record("c1", 2, "pred", answer="é", system="s"), record("b", 1, "pred", system="s")],
        {},
    )
    store = RunStore(folder, write=True)
    store.add_checks([later, UNREACHED, PASSED])
    store.settle()
    store.close()
    browser = RunBrowser(folder)
    found = Run(folder).checks()

    assert [(one.conversation, one.depth, one.asked, one.answer) for one in found] == [
        ("c1", 2, "Question 2?", "é"),
        ("c1", 3, None, None),
        ("b", 1, "Question 1?", "Yes."),
    ]
    assert [one.verdict for one in found] == ["passed", "not looked at", "passed"]
    assert found[1].columns == ["check", "check.contains", "check.half \ud800"]
    assert browser.checks("b") == found[2:]
    assert Run(folder).report(resamples=10).checks == count_checks(found)
    browser.close()
