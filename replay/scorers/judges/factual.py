"""
``factual``: does the answer state the facts of the gold answer? 1 factually matching, 0 contradicting.

A fuzzy match of the gold answer in the predicted one comes first, with its figures, names, negation and
direction compared; a model then judges by five criteria (key topics, central fact, no contradiction, figures,
direction of indicators). Where the two disagree, a second prompt that sees both decides. Every step is kept
with the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from replay.core.asking.prompt import first_object
from replay.core.errors import AdapterError
from replay.scorers.answer_text import (
    DECLINING_PATTERNS,
    check_patterns,
    patterns_signature,
    quac_references,
)
from replay.scorers.fuzzy import THRESHOLD, fuzzy_match
from replay.scorers.judges.judge import AskJudge, Case, Level, Opinion, Output, PlannedAsk, Value, ask_failure
from replay.scorers.judges.prompt import (
    case_variables,
    judge_prompt,
    merge_parameters,
    sent_parameter_names,
    signature_text,
)
from replay.scorers.judges.reading import read_match, read_truth
from replay.scorers.reference_score import declined_score, why_unscored
from replay.scorers.scorer import Unscored

DEFAULTS: Mapping[str, Any] = {"temperature": 0, "max_tokens": 400}
COMPLETION_TOKENS = 120
UNREADABLE = Unscored(reason="the judge's verdict can't be read")
UNREADABLE_CHECK = Unscored(reason="the judge's verification can't be read")
ONE_UNMET = "verdict 1 beside a criterion that is false"
ALL_MET = "verdict 0 beside criteria that are all true"


@dataclass(kw_only=True)
class FactualJudge:
    """Share of answers that match the gold answer's facts, in [0, 1]."""

    threshold: float = THRESHOLD
    """Partial ratio in [0, 1] from which on the gold answer counts as found in the predicted one, if both
    can state the same facts."""
    ask: Literal["always", "unmatched"] = "always"
    """``always``: the model judges every answer, and is checked where it contradicts a fuzzy match.
    ``unmatched``: a fuzzy match settles it without asking."""
    prompt: Path | None = None
    """A prompt file instead of ours."""
    verification_prompt: Path | None = None
    """The same for the check of a doubtful verdict."""
    declining: tuple[str, ...] = DECLINING_PATTERNS
    """Regular expressions of whole answers that count as CANNOTANSWER; nothing else matches that."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """Parameters of the model, over ``DEFAULTS``; one that is null isn't sent."""

    level: ClassVar[Level] = "turn"
    outputs: ClassVar[Sequence[Output]] = (Output(voting="majority"),)

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"threshold: {self.threshold:g} is not between 0 and 1")
        check_patterns(self.declining)
        needs, extra = ("predicted", "response"), ("first", "fuzzy")
        self._first = judge_prompt("factual", self.prompt, needs=needs)
        self._second = judge_prompt(
            "factual_verification", self.verification_prompt, extra=extra, needs=needs
        )
        self._parameters = merge_parameters(DEFAULTS, self.parameters)

    @property
    def needed_parameters(self) -> Sequence[str]:
        return sent_parameter_names(self.parameters)

    def why_not(self, case: Case) -> Unscored | None:
        return why_unscored(case.record)

    def plan(self, case: Case) -> Sequence[PlannedAsk]:
        fuzzy = self._fuzzy(case)
        if fuzzy["matching"] and self.ask == "unmatched":
            return ()
        first = self._first.render(case_variables(case))
        second = self._second.render(
            self._variables_of_check(case, fuzzy, said=not fuzzy["matching"], text="")
        )
        return tuple(
            PlannedAsk(
                prompt=prompt,
                parameters=self._parameters,
                completion_tokens=COMPLETION_TOKENS,
                certain=certain,
            )
            for prompt, certain in ((first, True), (second, False))
        )

    async def opinion(self, case: Case, ask: AskJudge) -> Opinion:
        evidence: dict[str, Any] = {
            "fuzzy": self._fuzzy(case),
            "first": None,
            "verification": None,
            "disagreement": False,
        }
        try:
            value = await self._value(case, ask, evidence)
        except AdapterError as error:
            value = ask_failure(error)
        flags = _contradictions(evidence["first"], evidence["verification"])
        return Opinion(values={"": value}, evidence=evidence, flags=flags)

    async def _value(self, case: Case, ask: AskJudge, evidence: dict[str, Any]) -> Value:
        """Return the verdict, step by step; *evidence* learns of each."""
        matched: bool = evidence["fuzzy"]["matching"]
        if matched and self.ask == "unmatched":
            return 1.0
        prompt = self._first.render(case_variables(case))
        text = (await ask("factual", prompt, parameters=self._parameters)).text
        said = read_match(text)
        evidence["first"] = _read(text, said)
        if said is None:
            return UNREADABLE
        if said == matched:
            return float(said)
        evidence["disagreement"] = True
        check = self._second.render(self._variables_of_check(case, evidence["fuzzy"], said=said, text=text))
        text = (await ask("factual.verification", check, parameters=self._parameters)).text
        decided = read_match(text)
        evidence["verification"] = _read(text, decided)
        return UNREADABLE_CHECK if decided is None else float(decided)

    @property
    def signature(self) -> str:
        return (
            f"factual:fuzzy>={self.threshold:g}+ends+facts+ask={self.ask}|declining:{patterns_signature(self.declining)}"
            f"|prompt={self._first.hash}+{self._second.hash}|{signature_text(self._parameters)}"
        )

    def _fuzzy(self, case: Case) -> dict[str, Any]:
        """Return the best match with any gold answer, by the rule of the scorer ``fuzzy``."""
        answer = case.record.answer or ""
        references = quac_references(case.record.gold_answers, self.declining)
        if (decided := declined_score(answer, references, self.declining)) is not None:
            return {"ratio": decided, "matching": decided == 1.0, "differs": None, "shortened": False}
        matches = [fuzzy_match(answer, reference, compare_from=self.threshold) for reference in references]
        best = max(matches, key=lambda match: (match.reaches(self.threshold), match.ratio))
        return {
            "ratio": best.ratio,
            "matching": best.reaches(self.threshold),
            "differs": best.differs,
            "shortened": best.shortened,
        }

    def _variables_of_check(
        self, case: Case, fuzzy: Mapping[str, Any], *, said: bool, text: str
    ) -> dict[str, Any]:
        return {
            **case_variables(case),
            "fuzzy": {**fuzzy, "threshold": self.threshold},
            "first": {"matching": said, "text": text},
        }


def _read(text: str, said: bool | None) -> dict[str, Any]:
    """Return the verdict read from a reply, with the criteria and reason that the judge gave."""
    found = first_object(text, ("verdict",)) or {}
    kept: dict[str, Any] = {key: found[key] for key in ("criteria", "reason") if key in found}
    return {"matching": said, **kept}


def _contradictions(*replies: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return a flag for each of *replies* whose verdict contradicts its own criteria."""
    flags = []
    for read in replies:
        criteria = read.get("criteria") if read else None
        met = [read_truth(one) for one in criteria.values()] if isinstance(criteria, Mapping) else []
        if read and read["matching"] and False in met:
            flags.append(ONE_UNMET)
        elif read and read["matching"] is False and met and all(met):
            flags.append(ALL_MET)
    return tuple(flags)
