"""
Judges that are answered with yes, which is 1, or no, which is 0.

``correctness``: is the predicted answer correct, given the gold answer? The judge of a thesis on
conversational QA (accuracy by an LLM, compared there with human raters who mark an answer 1 if it covers
the gold answer's information).

``goal_reached``: did the user get what they wanted of the conversation? Asked of conversations with a goal
in the place of recorded questions, once for each, about all that was said. The user who ends a conversation
has a view of their own (``replay.statistics.users``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from replay.core.conversation import UserGoal
from replay.core.errors import AdapterError
from replay.scorers.judges.geval import NO_ANSWER
from replay.scorers.judges.judge import AskJudge, Case, Level, Opinion, Value, ask_failure
from replay.scorers.judges.prompt import PromptedJudge, case_variables
from replay.scorers.judges.reading import read_yes_no, says_both
from replay.scorers.reference_score import why_unscored
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
