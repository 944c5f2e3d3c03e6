"""
``correctness``: is the predicted answer correct, given the gold answer? Yes is 1, no is 0.

The judge of a thesis on conversational QA (accuracy by an LLM, compared there with human raters who mark
an answer 1 if it covers the gold answer's information).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from replay.core.errors import AdapterError
from replay.scorers.judges.judge import AskJudge, Case, Level, Opinion, Output, PlannedAsk, ask_failure
from replay.scorers.judges.prompt import (
    case_variables,
    judge_prompt,
    merge_parameters,
    sent_parameter_names,
    signature_text,
)
from replay.scorers.judges.reading import read_yes_no, says_both
from replay.scorers.reference_score import why_unscored
from replay.scorers.scorer import Unscored

DEFAULTS: Mapping[str, Any] = {"temperature": 0, "max_tokens": 16}
UNREADABLE = Unscored(reason="the judge said neither yes nor no")
SAYS_BOTH = 'a reply with both "yes" and "no"'


@dataclass(kw_only=True)
class CorrectnessJudge:
    """Share of answers that the judge calls correct, in [0, 1]."""

    prompt: Path | None = None
    """A prompt file instead of ours."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """Parameters of the model, over ``DEFAULTS``; one that is null isn't sent."""

    level: ClassVar[Level] = "turn"
    outputs: ClassVar[Sequence[Output]] = (Output(voting="majority"),)

    def __post_init__(self) -> None:
        self._prompt = judge_prompt("correctness", self.prompt, needs=("predicted", "response"))
        self._parameters = merge_parameters(DEFAULTS, self.parameters)

    @property
    def needed_parameters(self) -> Sequence[str]:
        return sent_parameter_names(self.parameters)

    def why_not(self, case: Case) -> Unscored | None:
        return why_unscored(case.record)

    def plan(self, case: Case) -> Sequence[PlannedAsk]:
        return (PlannedAsk(prompt=self._question(case), parameters=self._parameters, completion_tokens=1),)

    async def opinion(self, case: Case, ask: AskJudge) -> Opinion:
        try:
            reply = await ask("correctness", self._question(case), parameters=self._parameters)
        except AdapterError as error:
            return Opinion(values={"": ask_failure(error)})
        said = read_yes_no(reply.text)
        flags = (SAYS_BOTH,) if says_both(reply.text) else ()
        return Opinion(values={"": UNREADABLE if said is None else float(said)}, flags=flags)

    @property
    def signature(self) -> str:
        return f"correctness:prompt={self._prompt.hash}|{signature_text(self._parameters)}"

    def _question(self, case: Case) -> str:
        return self._prompt.render(case_variables(case))
