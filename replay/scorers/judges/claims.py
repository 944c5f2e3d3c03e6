"""
``claims``: which of the gold answer's claims the answer makes, and which of its own are in the gold one.

The judge of the Dataworkz evaluation framework: it lists the claims of both answers, leaves out those that
follow from the question alone, and lists the common ones, figures, names and dates being equal only if they
are exactly so. It answers with JSON lists; what the lists hold is counted here, and counts that the judge
reports are kept as evidence but never used.

Recall = common / golden, precision = common / candidate, F1 their harmonic mean; more common claims than
candidate ones mean that there were at least as many candidate claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from replay.core.asking.prompt import first_object, json_problem
from replay.core.conversation import CANNOT_ANSWER
from replay.core.errors import AdapterError
from replay.scorers.judges.judge import AskJudge, Case, Level, Opinion, Output, PlannedAsk, Value, ask_failure
from replay.scorers.judges.prompt import (
    case_variables,
    judge_prompt,
    merge_parameters,
    sent_parameter_names,
    signature_text,
)
from replay.scorers.reference_score import why_unscored
from replay.scorers.scorer import Unscored


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimCounts:
    """Claims of the gold answer, of the candidate answer, and those that both make."""

    golden: int
    candidate: int
    common: int

    @property
    def recall(self) -> float | None:
        """In [0, 1]; None without a golden claim. More common claims than golden ones count as all."""
        return min(self.common / self.golden, 1.0) if self.golden else None

    @property
    def precision(self) -> float | None:
        """In [0, 1]; 0 without a candidate claim, as in the framework. None without a golden claim."""
        if not self.golden:
            return None
        candidate = max(self.candidate, self.common)
        return self.common / candidate if candidate else 0.0

    @property
    def f1(self) -> float | None:
        """In [0, 1]; 0 where nothing is common. None without a golden claim."""
        if self.recall is None or self.precision is None:
            return None
        if not self.precision:
            return 0.0
        return 2 * self.recall * self.precision / (self.recall + self.precision)


def count_claims(golden: Iterable[str], candidate: Iterable[str], common: Iterable[str]) -> ClaimCounts:
    """Return the counts of three lists; a repeated claim, ignoring case and spaces, counts once."""
    return ClaimCounts(
        golden=len(distinct(golden)), candidate=len(distinct(candidate)), common=len(distinct(common))
    )


def claims_in(value: object) -> list[str]:
    """
    Return the claims in a list, or in an object that numbers them.

    Raises:
        ValueError: *value* is neither, or holds something else than texts; in words for a judge.
    """
    claims = list(value.values()) if isinstance(value, Mapping) else value
    if not isinstance(claims, list):
        raise ValueError("is not a list")
    for claim in claims:
        if not isinstance(claim, str):
            raise ValueError(f"holds something that is not a text: {str(claim)[:60]}")
    return claims


def unsupported_claims(golden: Iterable[str], candidate: Iterable[str], common: Iterable[str]) -> list[str]:
    """
    Return those of *common* that are in neither *golden* nor *candidate*, each once.

    Case, spaces and a full stop are ignored.
    """
    listed = {_key(claim) for claim in (*golden, *candidate)}
    return [claim for claim in distinct(common) if _key(claim) not in listed]


def distinct(claims: Iterable[str]) -> Sequence[str]:
    """Return *claims* without empty and repeated ones, in order."""
    kept: dict[str, str] = {}
    for claim in claims:
        if key := _key(claim):
            kept.setdefault(key, claim)
    return tuple(kept.values())


def _key(claim: str) -> str:
    return " ".join(claim.casefold().split()).rstrip(" .")


DEFAULTS: Mapping[str, Any] = {"temperature": 0}
LISTS = ("golden_claims", "candidate_claims", "common_claims")
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {name: {"type": "array", "items": {"type": "string"}} for name in LISTS},
    "required": list(LISTS),
    "additionalProperties": False,
}
COMPLETION_TOKENS = 200
NO_GOLDEN = Unscored(reason="no claims in the gold answer")
IN_NEITHER = "a common claim that stands in neither list"
NUMBERED = "claims numbered in an object in the place of a list"
NO_CANDIDATE = "no claims in the answer, so its precision counts as 0"
INVALID = Unscored(reason="the judge's claims can't be read as JSON")


@dataclass(kw_only=True)
class ClaimsJudge:
    """Recall, precision and F1 of claims, each in [0, 1]; of many turns, the mean."""

    response_format: Literal["none", "json_object", "json_schema"] = "none"
    """Ask the endpoint to keep to JSON, where it can; ``none`` finds the object among other text."""
    tries: int = 3
    """Replies that are read at most: after one that can't be, the judge is shown it and the error."""
    prompt: Path | None = None
    """A prompt file instead of ours."""
    retry_prompt: Path | None = None
    """The same for what follows a reply that could not be read."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """Parameters of the model, over ``DEFAULTS``; one that is null isn't sent."""

    level: ClassVar[Level] = "turn"
    outputs: ClassVar[Sequence[Output]] = tuple(
        Output(name=n, voting="mean") for n in ("recall", "precision", "f1")
    )

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise ValueError(f"tries {self.tries} is not a positive whole number")
        self._first = judge_prompt("claims", self.prompt, needs=("predicted", "response"))
        self._again = judge_prompt("claims_retry", self.retry_prompt, extra=("prompt", "reply", "error"))
        self._parameters = merge_parameters(DEFAULTS, self.parameters)
        if self.response_format == "json_object":
            self._parameters["response_format"] = {"type": "json_object"}
        elif self.response_format == "json_schema":
            named = {"name": "claims", "strict": True, "schema": dict(SCHEMA)}
            self._parameters["response_format"] = {"type": "json_schema", "json_schema": named}

    @property
    def needed_parameters(self) -> Sequence[str]:
        formatted = ("response_format",) if self.response_format != "none" else ()
        return (*sent_parameter_names(self.parameters), *formatted)

    def why_not(self, case: Case) -> Unscored | None:
        why = why_unscored(case.record)
        return NO_GOLDEN if why is None and case.record.gold_answers[0] == CANNOT_ANSWER else why

    def plan(self, case: Case) -> Sequence[PlannedAsk]:
        prompt = self._first.render(case_variables(case))
        return tuple(
            PlannedAsk(
                prompt=prompt,
                parameters=self._parameters,
                sample=number,
                completion_tokens=COMPLETION_TOKENS,
                certain=number == 0,
            )
            for number in range(self.tries)
        )

    async def opinion(self, case: Case, ask: AskJudge) -> Opinion:
        variables = case_variables(case)
        first = prompt = self._first.render(variables)
        problems: list[str] = []
        for number in range(self.tries):
            step = "claims" if number == 0 else "claims.retry"
            try:
                text = (await ask(step, prompt, parameters=self._parameters, sample=number)).text
            except AdapterError as error:
                return _same(ask_failure(error), {"problems": problems})
            try:
                return self._opinion(text, problems)
            except _UnreadableClaims as error:
                problems.append(str(error))
            prompt = self._again.render({**variables, "prompt": first, "reply": text, "error": problems[-1]})
        return _same(INVALID, {"problems": problems})

    @property
    def signature(self) -> str:
        return (
            f"claims:format={self.response_format}+tries={self.tries}"
            f"|prompt={self._first.hash}+{self._again.hash}"
            f"|{signature_text(merge_parameters(DEFAULTS, self.parameters))}"
        )

    def _opinion(self, text: str, problems: Sequence[str]) -> Opinion:
        found = first_object(text, LISTS)
        if found is None:
            raise _UnreadableClaims(json_problem(text))
        golden, candidate, common = (_claims(found, name) for name in LISTS)
        unlisted = unsupported_claims(golden, candidate, common)
        counts = count_claims(golden, candidate, common)
        evidence = {
            **dict(zip(LISTS, (golden, candidate, common), strict=True)),
            "counts": {"golden": counts.golden, "candidate": counts.candidate, "common": counts.common},
            "in_neither_list": unlisted,
            "clamped": counts.common > min(counts.golden, counts.candidate),
            "reported": {k: v for k, v in found.items() if k not in LISTS},
            "problems": list(problems),
        }
        flags = [IN_NEITHER] * len(unlisted)
        flags += [NUMBERED] * any(isinstance(found[name], Mapping) for name in LISTS)
        flags += [NO_CANDIDATE] * (counts.golden > 0 and not candidate and not common)
        return Opinion(values=_values(counts), evidence=evidence, flags=tuple(flags))


class _UnreadableClaims(ValueError):
    """Why a reply holds no claim lists, in words for the judge."""


def _claims(found: Mapping[str, Any], name: str) -> list[str]:
    if name not in found:
        raise _UnreadableClaims(f'"{name}" is missing')
    try:
        return claims_in(found[name])
    except ValueError as error:
        raise _UnreadableClaims(f'"{name}" {error}') from error


def _values(counts: ClaimCounts) -> dict[str, Value]:
    values = {"recall": counts.recall, "precision": counts.precision, "f1": counts.f1}
    return {name: NO_GOLDEN if value is None else value for name, value in values.items()}


def _same(why: Unscored, evidence: Mapping[str, Any]) -> Opinion:
    return Opinion(values={"recall": why, "precision": why, "f1": why}, evidence=evidence)
