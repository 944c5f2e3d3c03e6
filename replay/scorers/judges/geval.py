"""
``geval``: ratings by criteria, such as naturalness and coherence, of answers or of whole conversations.

G-Eval (Liu et al., *G-Eval: NLG Evaluation using GPT-4 with Better Human Alignment*, EMNLP 2023): the
judge gets a criterion with evaluation steps and fills in a form with the rating alone. How the rating is
taken is said by ``mode`` and never changes by itself: the probability-weighted mean over the scale's
tokens, the mean of n samples, or a single reply. Prompts, criteria and steps are ours, and each criterion
is rated by itself.

Criteria are the shipped ones, and those of a user's own file. Naturalness, coherence, engagingness and
groundedness are those of G-Eval on dialogue (Liu et al., 2023) after USR (Mehri & Eskenazi, 2020);
definitions and steps are in our own words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from replay.core.asking.prompt import short_hash
from replay.core.errors import AdapterError
from replay.scorers.judges.judge import (
    AskJudge,
    Case,
    Level,
    Opinion,
    Output,
    PlannedAsk,
    UnfitVoterError,
    Value,
    ask_failure,
)
from replay.scorers.judges.prompt import (
    FOLDER,
    case_variables,
    dialogue_fact,
    fact_of,
    judge_prompt,
    merge_parameters,
    sent_parameter_names,
    signature_text,
)
from replay.scorers.judges.reading import SampledRating, WeightedRating, read_rating, weighted_rating
from replay.scorers.reference_score import why_unscored
from replay.scorers.scorer import Unscored

BUILT_IN = FOLDER / "criteria.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCriterion:
    """One thing that is rated."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    name: str
    definition: str
    scale: tuple[int, int] = (1, 5)
    """Lowest and highest rating; 0 means "can't be evaluated"."""
    steps: tuple[str, ...] = ()
    """How to go about it; the judge is asked for steps once where there are none."""
    needs_fact: bool = False
    """Whether it can't be judged without the fact that the answer should rest on."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[\w-]+", self.name) or self.name == "mean":
            raise ValueError(
                f'"{self.name}" can\'t name a criterion: letters, digits, - and _, and not "mean"'
            )
        low, high = self.scale
        if not 0 < low < high:
            raise ValueError(f"scale [{low}, {high}] of {self.name} doesn't go up from 1 or more")


def read_criteria(path: Path) -> dict[str, JudgeCriterion]:
    """
    Return the criteria in the YAML file at *path*, a list of mappings, by name and in order.

    Raises:
        ValueError: the file can't be read, or has faults; the message names all of them.
    """
    from pydantic import TypeAdapter, ValidationError

    from replay.core.settings.yaml_lines import parse

    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ValueError(f'the criteria file "{path}" can\'t be read: {reason}') from error
    value, lines, faults = parse(text)
    if faults:
        raise ValueError(f'the criteria file "{path}", line {faults[0].line}: {faults[0].message}')
    try:
        found = TypeAdapter(tuple[JudgeCriterion, ...]).validate_python(value)
    except ValidationError as error:
        detail = error.errors(include_url=False)
        said = "; ".join(
            f"{_place(d['loc'], lines.of)}{d['msg'].removeprefix('Value error, ')}" for d in detail
        )
        raise ValueError(f'the criteria file "{path}": {said}') from error
    by_name = {criterion.name: criterion for criterion in found}
    if not found or len(by_name) < len(found):
        raise ValueError(
            f'the criteria file "{path}" names {"a criterion twice" if found else "no criterion"}'
        )
    return by_name


def _place(keys: Sequence[int | str], line_of: Any) -> str:
    path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    line = line_of(path)
    return f"{path.removeprefix('.')} (line {line}): " if line else f"{path}: "


def select_criteria(names: Sequence[str] | None, file: Path | None) -> tuple[JudgeCriterion, ...]:
    """
    Return the criteria called *names*, from *file* or ours; without names, all of them.

    Raises:
        ValueError: there is no such criterion, or *file* has faults.
    """
    from replay.core.settings.faults import nearest

    own = read_criteria(file) if file else {}
    known: Mapping[str, JudgeCriterion] = {**read_criteria(BUILT_IN), **own}
    for name in names or ():
        if name not in known:
            raise ValueError(
                f'criteria: "{name}" is not a criterion{nearest(name, known)} (known: {", ".join(known)})'
            )
    if names is not None and (not names or len(set(names)) < len(names)):
        raise ValueError(f"criteria: {'one is there twice' if names else 'none is named'}")
    return tuple(known[name] for name in (names or own or known))


Mode = Literal["logprobs", "samples", "single"]

DEFAULTS: Mapping[Mode, Mapping[str, Any]] = {
    "logprobs": {"temperature": 0, "max_tokens": 10, "logprobs": True, "top_logprobs": 20},
    "samples": {"temperature": 2, "top_p": 1, "max_tokens": 5},
    "single": {"temperature": 0, "max_tokens": 10},
}
STEPS_DEFAULTS: Mapping[str, Any] = {"temperature": 0, "max_tokens": 400}
STEPS_TOKENS = 120
NO_FACT = Unscored(reason="no fact to rest on in the data")
NO_ANSWER = Unscored(reason="no turn of the conversation was answered")
FAILED_SAMPLE = "a sample without a reply, left out of its rating"
UNREADABLE_SAMPLE = "a sample that holds no rating, left out of its rating"
NO_LOGPROBS = 'no log-probabilities in the reply; use mode "samples" or "single"'


@dataclass(kw_only=True)
class GEvalJudge:
    """A rating for each criterion, by default from 1 to 5, and ``mean`` where there are several."""

    mode: Mode
    """``logprobs``: one reply, weighted by the log-probabilities that come with it. ``samples``: the mean
    of several replies. ``single``: one reply, taken at its word."""
    level: Level = "turn"
    """``dialogue`` rates the whole conversation, once; the rating stands at its last turn."""
    criteria: tuple[str, ...] | None = None
    """Names of criteria; left out, all of the file's, or naturalness, coherence, engagingness and
    groundedness."""
    criteria_file: Path | None = None
    """YAML list with the name, definition, scale and steps of own criteria."""
    samples: int = 20
    """Replies per rating in mode ``samples``."""
    min_samples: int | None = None
    """Of those, so many must give a rating, or there is none; left out, half of them, rounded up."""
    prompt: Path | None = None
    """A prompt file instead of ours."""
    steps_prompt: Path | None = None
    """The same for the steps of own criteria."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """Parameters of the model, over the mode's ``DEFAULTS``; one that is null isn't sent."""

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise ValueError(f"samples {self.samples} is not a positive whole number")
        if self.min_samples is not None and not 1 <= self.min_samples <= self.samples:
            raise ValueError(f"min_samples {self.min_samples} is not between 1 and samples ({self.samples})")
        self._criteria = select_criteria(self.criteria, self.criteria_file)
        if self.mode == "logprobs":
            for one in self._criteria:
                if one.scale[1] > 9:
                    raise ValueError(
                        f"the scale of {one.name} ends at {one.scale[1]}; mode logprobs reads single digits, "
                        "so let it end at 9, or use mode samples or single"
                    )
        wanted = ("predicted", "response") if self.level == "turn" else ("dialogue",)
        extra = ("criterion", "level")
        self._prompt = judge_prompt(f"geval_{self.level}", self.prompt, extra=("criterion",), needs=wanted)
        self._steps = judge_prompt("geval_steps", self.steps_prompt, extra=extra, needs=("criterion",))
        self._asks = self.samples if self.mode == "samples" else 1
        self._needed = (self.min_samples or (self.samples + 1) // 2) if self.mode == "samples" else 1
        self._parameters = merge_parameters(DEFAULTS[self.mode], self.parameters)
        refused = {name: value for name, value in self.parameters.items() if value is None}
        self._steps_parameters = merge_parameters(STEPS_DEFAULTS, refused)

    @property
    def outputs(self) -> Sequence[Output]:
        names = [criterion.name for criterion in self._criteria]
        names += ["mean"] if len(names) > 1 else []
        return tuple(Output(name=name, voting="mean", unit="") for name in names)

    @property
    def needed_parameters(self) -> Sequence[str]:
        by_mode = {"logprobs": ("logprobs", "top_logprobs"), "samples": ("temperature",), "single": ()}
        needed = [name for name in by_mode[self.mode] if name in self._parameters]
        return tuple(dict.fromkeys([*needed, *sent_parameter_names(self.parameters)]))

    def why_not(self, case: Case) -> Unscored | None:
        if self.level == "dialogue":
            return None if any(r.answer is not None for r in case.records) else NO_ANSWER
        return why_unscored(case.record) if case.record.answer is None else None

    def plan(self, case: Case) -> Sequence[PlannedAsk]:
        planned = []
        for criterion in self._criteria:
            if criterion.needs_fact and not self._fact(case):
                continue
            if not criterion.steps:
                planned.append(
                    PlannedAsk(
                        prompt=self._steps_question(criterion),
                        parameters=self._steps_parameters,
                        completion_tokens=STEPS_TOKENS,
                        once=True,
                    )
                )
            prompt = self._question(case, criterion, criterion.steps)

            def after(reply: str, criterion: JudgeCriterion = criterion) -> str:
                return self._question(case, criterion, _steps_in(reply))

            planned += [
                PlannedAsk(
                    prompt=prompt,
                    parameters=self._parameters,
                    sample=number,
                    completion_tokens=3,
                    after=None if criterion.steps else after,
                )
                for number in range(self._asks)
            ]
        return planned

    async def opinion(self, case: Case, ask: AskJudge) -> Opinion:
        values: dict[str, Value] = {}
        evidence: dict[str, Any] = {}
        flags: list[str] = []
        for criterion in self._criteria:
            if criterion.needs_fact and not self._fact(case):
                values[criterion.name] = NO_FACT
                continue
            try:
                steps = criterion.steps or await self._generated_steps(criterion, ask)
                prompt = self._question(case, criterion, steps)
                values[criterion.name], how = await self._rate(criterion, prompt, ask)
            except AdapterError as error:
                values[criterion.name] = ask_failure(error)
                continue
            origin = "given" if criterion.steps else "generated"
            evidence[criterion.name] = {"steps": list(steps), "steps_origin": origin, **how}
            if self.mode == "samples" and not isinstance(values[criterion.name], Unscored):
                flags += [FAILED_SAMPLE] * how["failed"] + [UNREADABLE_SAMPLE] * how["unreadable"]
        if len(self._criteria) > 1:
            values["mean"] = _mean([values[criterion.name] for criterion in self._criteria])
        return Opinion(values=values, evidence=evidence, flags=tuple(flags))

    @property
    def signature(self) -> str:
        names = "+".join(criterion.name for criterion in self._criteria)
        content = repr([(c.name, c.definition, c.scale, c.steps) for c in self._criteria])
        generated = f"|steps=generated@{self._steps.hash}" if any(not c.steps for c in self._criteria) else ""
        n = f"|n={self.samples}+min={self._needed}" if self.mode == "samples" else ""
        return (
            f"geval:mode={self.mode}|level={self.level}|criteria={names}@{short_hash(content)}"
            f"|prompt={self._prompt.hash}{generated}{n}|{signature_text(self._parameters)}"
        )

    def _fact(self, case: Case) -> str:
        return dialogue_fact(case) if self.level == "dialogue" else fact_of(case)

    def _question(self, case: Case, criterion: JudgeCriterion, steps: Sequence[str]) -> str:
        described = {**_criterion_variables(criterion), "steps": list(steps)}
        return self._prompt.render({**case_variables(case), "fact": self._fact(case), "criterion": described})

    def _steps_question(self, criterion: JudgeCriterion) -> str:
        return self._steps.render({"criterion": _criterion_variables(criterion), "level": self.level})

    async def _generated_steps(self, criterion: JudgeCriterion, ask: AskJudge) -> tuple[str, ...]:
        step = f"geval.{criterion.name}.steps"
        reply = await ask(step, self._steps_question(criterion), parameters=self._steps_parameters, once=True)
        return _steps_in(reply.text)

    async def _rate(
        self, criterion: JudgeCriterion, prompt: str, ask: AskJudge
    ) -> tuple[Value, dict[str, Any]]:
        """Return the rating and its evidence."""
        step, (low, high) = f"geval.{criterion.name}", criterion.scale
        if self.mode == "logprobs":
            reply = await ask(step, prompt, parameters=self._parameters)
            if not reply.logprobs or not any(token.top for token in reply.logprobs):
                raise UnfitVoterError(NO_LOGPROBS)
            found = weighted_rating(reply.logprobs, low, high, label=criterion.name)
            if isinstance(found, WeightedRating):
                return found.value, {"probabilities": found.probabilities, "mass": found.mass}
            return found, {}
        ratings: list[float | None] = []
        failures: list[AdapterError] = []
        for number in range(self._asks):
            try:
                reply = await ask(step, prompt, parameters=self._parameters, sample=number)
            except AdapterError as error:
                failures.append(error)
                if len(failures) > self._asks - self._needed:
                    break  # the others would be paid for and give no mean any more
                continue
            read = read_rating(reply.text, low, high, label=criterion.name)
            ratings.append(None if read is None else read.value)
        sampled = SampledRating(ratings=tuple(ratings), failed=len(failures), needed=self._needed)
        nothing_read = sampled.unreadable == len(ratings)
        value = ask_failure(failures[0]) if failures and nothing_read else sampled.value
        counts = {name: getattr(sampled, name) for name in ("rated", "unreadable", "zeros", "failed")}
        return value, {"ratings": ratings, **counts}


def _steps_in(reply: str) -> tuple[str, ...]:
    lines = (re.sub(r"^\s*(?:[-*]|\d+[.)])\s*", "", line).strip() for line in reply.splitlines())
    return tuple(line for line in lines if line)


def _criterion_variables(criterion: JudgeCriterion) -> dict[str, Any]:
    return {
        "name": criterion.name,
        "definition": criterion.definition,
        "low": criterion.scale[0],
        "high": criterion.scale[1],
        "needs_fact": criterion.needs_fact,
    }


def _mean(values: Sequence[Value]) -> Value:
    """Return the mean of all criteria; unscored for the first reason if one has no rating."""
    missing = next((value for value in values if isinstance(value, Unscored)), None)
    if missing is not None:
        return missing
    return sum(value for value in values if not isinstance(value, Unscored)) / len(values)
