"""
``goal_reached``: did the user get what they wanted of the conversation? Yes is 1, no is 0.

Asked of conversations with a goal in the place of recorded questions, once for each, about all that was said.
The user who ends a conversation has a view of their own (``replay.statistics.users``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from replay.core.conversation import UserGoal
from replay.core.errors import AdapterError
from replay.scorers.judges.correctness import SAYS_BOTH, UNREADABLE
from replay.scorers.judges.geval import NO_ANSWER
from replay.scorers.judges.judge import AskJudge, Case, Level, Opinion, Output, PlannedAsk, ask_failure
from replay.scorers.judges.parameters import merge_parameters, sent_parameter_names, signature_text
from replay.scorers.judges.prompt import judge_prompt
from replay.scorers.judges.reading import read_yes_no, says_both
from replay.scorers.judges.variables import case_variables
from replay.scorers.scorer import Unscored

DEFAULTS: Mapping[str, Any] = {"temperature": 0, "max_tokens": 120}
NO_GOAL = Unscored(reason="no goal in the data")


@dataclass(kw_only=True)
class GoalReachedJudge:
    """Share of conversations in which the user's goal was reached, in [0, 1]."""

    prompt: Path | None = None
    """A prompt file instead of ours; it may use ``goal`` and ``reached_when`` beside every judge's."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """Parameters of the model, over ``DEFAULTS``; one that is null isn't sent."""

    level: ClassVar[Level] = "dialogue"
    outputs: ClassVar[Sequence[Output]] = (Output(voting="majority"),)

    def __post_init__(self) -> None:
        extra = ("goal", "reached_when")
        self._prompt = judge_prompt("goal_reached", self.prompt, extra=extra, needs=("dialogue",))
        self._parameters = merge_parameters(DEFAULTS, self.parameters)

    @property
    def needed_parameters(self) -> Sequence[str]:
        return sent_parameter_names(self.parameters)

    def why_not(self, case: Case) -> Unscored | None:
        if case.conversation.goal is None:
            return NO_GOAL
        return None if any(record.answer is not None for record in case.records) else NO_ANSWER

    def plan(self, case: Case) -> Sequence[PlannedAsk]:
        return (PlannedAsk(prompt=self._question(case), parameters=self._parameters, completion_tokens=40),)

    async def opinion(self, case: Case, ask: AskJudge) -> Opinion:
        try:
            reply = await ask("goal_reached", self._question(case), parameters=self._parameters)
        except AdapterError as error:
            return Opinion(values={"": ask_failure(error)})
        said = read_yes_no(reply.text)
        flags = (SAYS_BOTH,) if said is None and says_both(reply.text) else ()
        return Opinion(values={"": UNREADABLE if said is None else float(said)}, flags=flags)

    @property
    def signature(self) -> str:
        return f"goal_reached:prompt={self._prompt.hash}|{signature_text(self._parameters)}"

    def _question(self, case: Case) -> str:
        goal = case.conversation.goal or UserGoal(wants="")
        more = {"goal": goal.wants, "reached_when": goal.reached_when}
        return self._prompt.render({**case_variables(case), **more})
