"""``drifts``: the verdict on a question, where it is known whether it still means the same."""

from __future__ import annotations

from dataclasses import dataclass

from replay.scorers.checks.check import CheckInput, CheckOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Drifts:
    """Some question was found to have lost its meaning, or none was."""

    wanted: bool

    def look(self, seen: CheckInput) -> CheckOutcome:
        verdicts = [record.drift.valid if record.drift is not None else None for record in seen.records]
        if None in verdicts:
            return CheckOutcome(passed=None, reason="drift was not judged")
        drifted = False in verdicts
        found = "no longer means" if drifted else "still means"
        return CheckOutcome(passed=drifted is self.wanted, evidence=f"the question {found} the same")


def drifts(wanted: bool) -> Drifts:
    """``drifts``: true where the question should be found to mean something else, false where the same."""
    return Drifts(wanted=wanted)
