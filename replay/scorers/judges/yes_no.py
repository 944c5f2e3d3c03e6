"""
Judges that are answered with yes, which is 1, or no, which is 0.

``correctness``: is the predicted answer correct, given the gold answer? The judge of a thesis on
conversational QA (accuracy by an LLM, compared there with human raters who mark an answer 1 if it covers
the gold answer's information).

``goal_reached``: did the user get what they wanted of the conversation? Asked of conversations with a goal
in the place of recorded questions, once for each, about all that was said. The user who ends a conversation
has a view of their own (``replay.statistics.users``).

``rubric``: does an answer, or a whole conversation, do what the data's rubric says? It judges the turns whose
data has the check ``rubric``, and at a conversation's last turn also the rubrics for its end. The judge's own
column is 1 where all of a turn's rubrics are met; what became of each is in the evidence, where the check
finds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from replay.core.conversation import UserGoal
from replay.core.errors import AdapterError
from replay.core.expectation import Expectation
from replay.scorers.checks.kinds import check_of
from replay.scorers.checks.known import Rubric
from replay.scorers.judges.geval import NO_ANSWER
from replay.scorers.judges.judge import AskJudge, Case, Level, Opinion, Value, ask_failure
from replay.scorers.judges.prompt import PromptedJudge, case_variables
from replay.scorers.judges.reading import read_yes_no, says_both
from replay.scorers.reference_score import why_unanswered, why_unscored
from replay.scorers.scorer import Unscored

UNREADABLE = Unscored(reason="the judge said neither yes nor no")
SAYS_BOTH = 'a reply with both "yes" and "no"'
NO_GOAL = Unscored(reason="no goal in the data")


@dataclass(kw_only=True)
class YesNoJudge(PromptedJudge):
    """Reads yes or no, the first of both that a reply gives as an answer."""

    async def opinion(self, case: Case, ask: AskJudge) -> Opinion:
        (question,) = self.questions(case)
        try:
            reply = await ask(self.kind, question, parameters=self._parameters)
        except AdapterError as error:
            return Opinion(values={"": ask_failure(error)})
        value, flags = self.read(reply.text)
        return Opinion(values={"": value}, flags=flags)

    def read(self, text: str) -> tuple[Value, tuple[str, ...]]:
        """Return the verdict in a reply, and a flag where it says both and is unclear."""
        said = read_yes_no(text)
        flags = (SAYS_BOTH,) if said is None and says_both(text) else ()
        return UNREADABLE if said is None else float(said), flags


@dataclass(kw_only=True)
class CorrectnessJudge(YesNoJudge):
    """Share of answers that the judge calls correct, in [0, 1]."""

    kind: ClassVar[str] = "correctness"
    defaults: ClassVar[Mapping[str, Any]] = {"temperature": 0, "max_tokens": 16}
    completion_tokens: ClassVar[int] = 1

    def why_not(self, case: Case) -> Unscored | None:
        return why_unscored(case.record)

    def read(self, text: str) -> tuple[Value, tuple[str, ...]]:
        """Return the verdict, flagged wherever a reply says both: its first word may be a rhetorical one."""
        value, _ = super().read(text)
        return value, (SAYS_BOTH,) if says_both(text) else ()


@dataclass(kw_only=True)
class GoalReachedJudge(YesNoJudge):
    """Share of conversations in which the user's goal was reached, in [0, 1]."""

    prompt: Path | None = None
    """A prompt file instead of ours; it may use ``goal`` and ``reached_when`` beside every judge's."""

    kind: ClassVar[str] = "goal_reached"
    needs: ClassVar[Sequence[str]] = ("dialogue",)
    extra: ClassVar[Sequence[str]] = ("goal", "reached_when")
    level: ClassVar[Level] = "dialogue"

    def why_not(self, case: Case) -> Unscored | None:
        if case.conversation.goal is None:
            return NO_GOAL
        return None if any(record.answer is not None for record in case.records) else NO_ANSWER

    def questions(self, case: Case) -> Sequence[str]:
        goal = case.conversation.goal or UserGoal(wants="")
        more = {"goal": goal.wants, "reached_when": goal.reached_when}
        return [self._prompt.render({**case_variables(case), **more})]


RUBRIC_SIGNATURE = "rubric:"
"""What its signatures begin with."""
RUBRIC_EVIDENCE = "rubrics"
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
        return Opinion(values={"": _all_of(values)}, evidence={RUBRIC_EVIDENCE: evidence}, flags=tuple(flags))

    def _rubrics(self, case: Case) -> list[_RubricQuestion]:
        """Return the rubrics for this judge: of an answered turn, and at its end of the conversation."""
        found = []
        if case.record.answer is not None:
            found += [_RubricQuestion(False, *one) for one in self._own_rubrics(case.turn.expect)]
        # A last turn that a policy skipped is an end as well; one that failed is none.
        if case.record.depth == len(case.conversation.turns) and not case.record.failed:
            found += [_RubricQuestion(True, *one) for one in self._own_rubrics(case.conversation.expect)]
        return found

    def _own_rubrics(self, expected: Sequence[Expectation]) -> Iterator[tuple[int, str]]:
        for position, one in enumerate(expected):
            check = check_of(one) if one.kind == "rubric" else None
            if isinstance(check, Rubric) and check.judge in (None, self.panel_name):
                yield position, check.text


def _all_of(values: Sequence[Value]) -> Value:
    """Return 1 if all are met; one that isn't is enough for 0, whatever the others are."""
    if 0.0 in values:
        return 0.0
    return next((value for value in values if isinstance(value, Unscored)), 1.0)
