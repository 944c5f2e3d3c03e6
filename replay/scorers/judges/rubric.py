"""
``rubric``: does an answer, or a whole conversation, do what the data's rubric says? Yes is 1, no is 0.

It judges the turns whose data has the check ``rubric``, and at a conversation's last turn also the rubrics
for its end. The judge's own column is 1 where all of a turn's rubrics are met; what became of each is in the
evidence, where the check finds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from replay.core.errors import AdapterError
from replay.core.expectation import Expectation
from replay.scorers.checks.kinds import check_of
from replay.scorers.checks.known import Rubric
from replay.scorers.judges.judge import AskJudge, Case, Opinion, Value, ask_failure
from replay.scorers.judges.prompt import case_variables
from replay.scorers.judges.yes_no import YesNoJudge
from replay.scorers.reference_score import why_unanswered
from replay.scorers.scorer import Unscored

SIGNATURE = "rubric:"
"""What its signatures begin with."""
EVIDENCE = "rubrics"
"""Under which evidence holds what became of each rubric."""
NO_RUBRIC = Unscored(reason="no rubric here")


class _RubricQuestion(NamedTuple):
    """One rubric of a case."""

    at_end: bool
    position: int
    text: str


@dataclass(kw_only=True)
class RubricJudge(YesNoJudge):
    """Share of turns that meet all of their rubrics, in [0, 1]."""

    prompt: Path | None = None
    """A prompt file instead of ours; it may use ``rubric`` and ``at_end`` beside what every judge's may."""
    panel_name: str = "rubric"
    """Its name in the scenario, which a rubric may ask for."""

    kind: ClassVar[str] = "rubric"
    needs: ClassVar[Sequence[str]] = ("rubric",)
    extra: ClassVar[Sequence[str]] = ("rubric", "at_end")

    def why_not(self, case: Case) -> Unscored | None:
        return None if self._rubrics(case) else why_unanswered(case.record) or NO_RUBRIC

    def questions(self, case: Case) -> Sequence[str]:
        variables = case_variables(case)
        return [
            self._prompt.render({**variables, "rubric": one.text, "at_end": one.at_end})
            for one in self._rubrics(case)
        ]

    async def opinion(self, case: Case, ask: AskJudge) -> Opinion:
        values: list[Value] = []
        evidence: list[dict[str, Any]] = []
        flags: list[str] = []
        for one, question in zip(self._rubrics(case), self.questions(case), strict=True):
            text = ""
            try:
                text = (await ask(self.kind, question, parameters=self._parameters)).text
            except AdapterError as error:
                met: Value = ask_failure(error)
            else:
                met, said_both = self.read(text)
                flags += said_both
            values.append(met)
            evidence.append({"at_end": one.at_end, "position": one.position, "met": met, "reply": text})
        return Opinion(values={"": _all_of(values)}, evidence={EVIDENCE: evidence}, flags=tuple(flags))

    def _rubrics(self, case: Case) -> list[_RubricQuestion]:
        """Return the rubrics for this judge: of an answered turn, and at its end of the conversation."""
        found = []
        if case.record.answer is not None:
            found += [_RubricQuestion(False, *one) for one in self._addressed(case.turn.expect)]
        # A last turn that a policy skipped is an end as well; one that failed is none.
        if case.record.depth == len(case.conversation.turns) and not case.record.failed:
            found += [_RubricQuestion(True, *one) for one in self._addressed(case.conversation.expect)]
        return found

    def _addressed(self, expected: Sequence[Expectation]) -> Iterator[tuple[int, str]]:
        for position, one in enumerate(expected):
            check = check_of(one) if one.kind == "rubric" else None
            if isinstance(check, Rubric) and check.judge in (None, self.panel_name):
                yield position, check.text


def _all_of(values: Sequence[Value]) -> Value:
    """Return 1 if all are met; one that isn't is enough for 0, whatever the others are."""
    if 0.0 in values:
        return 0.0
    return next((value for value in values if isinstance(value, Unscored)), 1.0)
