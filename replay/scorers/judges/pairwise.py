"""
``pairwise``: is the answer better than the recorded one? 1 yes, 0 no, 0.5 neither.

Asked twice, with the two answers' places swapped, since models favour a place (Zheng et al., 2023, *Judging
LLM-as-a-Judge*, section 3.4). As there, a better answer is one that is preferred in both orders; unlike
there, preferring the same place twice is no tie but no verdict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from replay.core.errors import AdapterError
from replay.scorers.answer_text import normalize
from replay.scorers.judges.judge import AskJudge, Case, Opinion, Output, Value, ask_failure
from replay.scorers.judges.prompt import PromptedJudge, case_variables, signature_text
from replay.scorers.reference_score import why_unscored
from replay.scorers.scorer import Unscored

SIGNATURE = "pairwise:"
"""What its signatures begin with."""
UNREADABLE = Unscored(reason="the judge named neither answer")
CONTRADICTS = Unscored(reason="the judge prefers one place, whichever answer stands there")
WORD_FOR_WORD = Unscored(reason="word for word the recorded answer")

_ALONE = re.compile(r"\W*(?:answer\s+)?\W*(a|b|tie|equal|neither|both)\W*", re.IGNORECASE)
_LABELLED = re.compile(
    r"(?:\b(?:verdict|better(?: answer)?|winner|choice)\b[\s\"'*_`]*(?:\bis\b|:|=)|\[\[)[\s\"'*_`]*"
    r"(?:answer\s+)?[\s\"'*_`]*(a|b|tie|equal|neither|both)\b",
    re.IGNORECASE,
)


def read_choice(text: str) -> str | None:
    """
    Return ``a``, ``b`` or ``tie`` out of a reply: alone on its last line, or behind "verdict:".

    None if it is unclear.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    found = _ALONE.fullmatch(lines[-1]) if lines else None
    labelled = _LABELLED.findall(text)
    said = found[1] if found else labelled[-1] if labelled else None
    return None if said is None else said.lower() if said.lower() in "ab" else "tie"


@dataclass(kw_only=True)
class PairwiseJudge(PromptedJudge):
    """Share of answers that are better than the recorded one, in [0, 1]; one as good counts half."""

    prompt: Path | None = None
    """A prompt file instead of ours; it has to use ``first`` and ``second``."""

    kind: ClassVar[str] = "pairwise"
    needs: ClassVar[Sequence[str]] = ("first", "second")
    extra: ClassVar[Sequence[str]] = ("first", "second")
    outputs: ClassVar[Sequence[Output]] = (Output(voting="mean"),)

    def why_not(self, case: Case) -> Unscored | None:
        if why := why_unscored(case.record):
            return why
        recorded, now = case.record.gold_answers[0], case.record.answer or ""
        return WORD_FOR_WORD if normalize(recorded) == normalize(now) else None

    async def opinion(self, case: Case, ask: AskJudge) -> Opinion:
        said: list[str | None] = []
        for order, question in enumerate(self.questions(case), 1):
            try:
                reply = await ask(f"pairwise.order-{order}", question, parameters=self._parameters)
            except AdapterError as error:
                return Opinion(values={"": ask_failure(error)}, evidence={"said": said})
            said.append(read_choice(reply.text))
        value = _value(said)
        flags = (CONTRADICTS.reason,) if value == CONTRADICTS else ()
        return Opinion(values={"": value}, evidence={"said": said}, flags=flags)

    @property
    def signature(self) -> str:
        return f"{SIGNATURE}both-orders|prompt={self._prompt.hash}|{signature_text(self._parameters)}"

    def questions(self, case: Case) -> list[str]:
        """Return the prompt with the recorded answer first, then with the new one first."""
        variables = case_variables(case)
        recorded, now = case.record.gold_answers[0], case.record.answer or ""
        pairs = ((recorded, now), (now, recorded))
        return [self._prompt.render({**variables, "first": one, "second": two}) for one, two in pairs]


def _value(said: Sequence[str | None]) -> Value:
    """Return the verdict of both orders; the new answer is B in the first and A in the second."""
    if None in said:
        return UNREADABLE
    if said[0] == said[1] != "tie":
        return CONTRADICTS
    return {("b", "a"): 1.0, ("a", "b"): 0.0}.get((said[0], said[1]), 0.5)  # type: ignore[arg-type]
