"""What became of checks, kept in a run's database and read again."""

from __future__ import annotations

from pathlib import Path

from replay.store.store import RunStore
from replay.store.stored import StoredCheck

PASSED = StoredCheck("c1", "s", "pred", 2, False, 0, "contains", None, ["a", "é"], True, None, "found a")
UNREACHED = PASSED._replace(depth=3, called="half \ud800", passed=None, reason="never reached", evidence=None)


def test_checks_come_back_as_they_were_and_a_later_one_takes_its_place(tmp_path: Path) -> None:
    with_facts = RunStore.create(tmp_path / "run", {})
    with_facts.add_checks([UNREACHED, PASSED])
    with_facts.add_checks([PASSED._replace(passed=False, evidence="only b")])
    with_facts.settle()

    assert list(with_facts.checks()) == [PASSED._replace(passed=False, evidence="only b"), UNREACHED]
    with_facts.close()
