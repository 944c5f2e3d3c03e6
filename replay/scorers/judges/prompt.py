"""
Prompt files of judges, ours in ``prompts/`` or the user's own in their place; what a prompt may say of a
case (the table in docs/judges.md lists the same); the parameters that go with an ask, a judge's defaults,
changed by the user; and the frame of judges that put one prompt.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from replay.core.asking.prompt import Prompt
from replay.core.history import Exchange
from replay.scorers.judges.judge import Case, Level, Output, PlannedAsk

VARIABLES = (
    "question",
    "asked",
    "standalone",
    "gold",
    "golds",
    "predicted",
    "response",
    "history",
    "context",
    "dialogue",
    "fact",
    "passages",
    "conversation",
    "depth",
)


def case_variables(case: Case) -> dict[str, Any]:
    """Return the values of ``VARIABLES`` for *case*; texts are empty if unknown."""
    record, turn, conversation = case.record, case.turn, case.conversation
    history = case.history
    predicted = record.answer or ""
    return {
        "question": record.recorded,
        "asked": record.asked,
        "standalone": turn.standalone or "",
        "gold": record.gold_answers[0] if record.gold_answers else "",
        "golds": list(record.gold_answers),
        "predicted": predicted,
        "response": predicted,
        "history": [{"question": e.question, "answer": e.answer} for e in history],
        "context": "\n".join([*_lines(history), *([f"User: {record.asked}"] if record.asked else [])]),
        "dialogue": "\n".join(_lines(case.exchanges(case.records))),
        "fact": fact_of(case),
        "passages": [{"id": p.id, "title": p.title, "text": p.text} for p in record.passages],
        "conversation": {
            "id": conversation.id,
            "title": conversation.title,
            "section": conversation.section,
            "background": conversation.background,
            "metadata": dict(conversation.metadata),
        },
        "depth": record.depth,
    }


def fact_of(case: Case) -> str:
    """
    Return the text that a grounded answer should rest on: the turn's fact, or else its gold passages.

    Empty if the data has neither.
    """
    if case.turn.fact:
        return case.turn.fact
    gold = set(case.turn.gold_passages)
    return "\n\n".join(p.text for p in case.conversation.passages if p.id in gold)


def dialogue_fact(case: Case) -> str:
    """Return the facts of all of the case's turns, each once."""
    cases = [replace(case, records=case.records[: n + 1]) for n in range(len(case.records))]
    return "\n\n".join(dict.fromkeys(fact for one in cases if (fact := fact_of(one))))


def _lines(exchanges: Sequence[Exchange]) -> list[str]:
    spoken = [(who, text) for e in exchanges for who, text in (("User", e.question), ("System", e.answer))]
    return [f"{who}: {text}" for who, text in spoken if text]  # a recorded dialogue may begin with the system


FOLDER = Path(__file__).resolve().parent / "prompts"


def judge_prompt(
    name: str, own: Path | None = None, *, extra: Iterable[str] = (), needs: Iterable[str] = ()
) -> Prompt:
    """
    Return the template in *own*, or else the shipped one called *name*.

    It may use the variables of a case and *extra*, and has to use one of *needs*, if there are any.

    Raises:
        ValueError: the file can't be read, is no template, or uses other variables.
    """
    return Prompt(own or FOLDER / f"{name}.txt", (*VARIABLES, *extra), needs=tuple(needs))


def merge_parameters(defaults: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return *own* over *defaults*; a parameter that is None is left out."""
    return {name: value for name, value in {**defaults, **own}.items() if value is not None}


def sent_parameter_names(own: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of those that the user wants sent."""
    return tuple(name for name, value in own.items() if value is not None)


def signature_text(parameters: Mapping[str, Any]) -> str:
    """Return *parameters* as one word for a signature: ``max_tokens=16,temperature=0``."""
    if not parameters:
        return "no-parameters"
    return ",".join(f"{name}={_word(value)}" for name, value in sorted(parameters.items()))


def _word(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).replace(" ", "_")


@dataclass(kw_only=True)
class PromptedJudge:
    """A judge that puts one prompt, about a case once or with several things to judge in it."""

    prompt: Path | None = None
    """A prompt file instead of ours."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """Parameters of the model, over the judge's own; one that is null isn't sent."""

    kind: ClassVar[str]
    """The judge's name, which is that of its prompt and step too."""
    defaults: ClassVar[Mapping[str, Any]] = {"temperature": 0, "max_tokens": 120}
    completion_tokens: ClassVar[int] = 40
    needs: ClassVar[Sequence[str]] = ("predicted", "response")
    """Variables of which a prompt has to use one."""
    extra: ClassVar[Sequence[str]] = ()
    """Variables beside every judge's."""
    level: ClassVar[Level] = "turn"
    outputs: ClassVar[Sequence[Output]] = (Output(voting="majority"),)

    def __post_init__(self) -> None:
        self._prompt = judge_prompt(self.kind, self.prompt, extra=self.extra, needs=self.needs)
        self._parameters = merge_parameters(self.defaults, self.parameters)

    @property
    def needed_parameters(self) -> Sequence[str]:
        return sent_parameter_names(self.parameters)

    def questions(self, case: Case) -> Sequence[str]:
        """Return the prompts to be put about *case*."""
        return [self._prompt.render(case_variables(case))]

    def plan(self, case: Case) -> Sequence[PlannedAsk]:
        return [
            PlannedAsk(prompt=one, parameters=self._parameters, completion_tokens=self.completion_tokens)
            for one in self.questions(case)
        ]

    @property
    def signature(self) -> str:
        return f"{self.kind}:prompt={self._prompt.hash}|{signature_text(self._parameters)}"
