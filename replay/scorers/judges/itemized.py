"""
The frame of judges that give a verdict on each of several items: statements of an answer, passages, turns.

The model replies with a JSON list; counting is ours. Each verdict names its evidence, a passage or turn by
its number or a quote, and that is held against what the model was shown. Where something is wrong, the model
is asked again with the reply and what is wrong with it; after the last try, items without sound evidence are
left out of the share and flagged. They may all be of one verdict, so that leaving them out moves the share:
with more than a third of them there is no number. Neither is there with nothing to judge: never a silent 0, 1
or NaN.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from replay.core.asking.prompt import NO_OBJECT, first_object, json_problem
from replay.core.conversation import Passage
from replay.core.errors import AdapterError
from replay.core.history import Exchange
from replay.core.record import TurnRecord
from replay.scorers.judges.judge import AskJudge, Case, Level, Opinion, Output, PlannedAsk, Value, ask_failure
from replay.scorers.judges.prompt import (
    case_variables,
    fact_of,
    judge_prompt,
    merge_parameters,
    sent_parameter_names,
    signature_text,
)
from replay.scorers.judges.reading import read_truth
from replay.scorers.scorer import Unscored

Source = Literal["passages", "answer", "user", "system"]
"""Whose words are quoted."""
ContextOrigin = Literal["retrieved", "data"]
"""``retrieved``: the passages that the system reports, best first, and what its tools returned. ``data``: the
turn's fact, or else its gold passages, or else all passages of the conversation, or else its background."""

_WORD = re.compile(r"\w+")
_GAP = re.compile(r"\[?(?:\.\.\.|…)\]?")


def occurs(quote: str, texts: Iterable[str]) -> bool:
    """
    Return whether one of *texts* has the words of *quote*, in their order.

    Case, punctuation and spaces don't count; of a quote with gaps ("...") each piece has to be there.
    """
    pieces = [words for piece in _GAP.split(quote) if (words := _words(piece))]
    return bool(pieces) and any(all(piece in text for piece in pieces) for text in map(_words, texts))


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def context_passages(case: Case, origin: ContextOrigin) -> list[Passage]:
    """Return what the answer of *case* could rest on, best first."""
    if origin == "retrieved":
        results = [step for step in case.record.steps if step.role == "tool" and step.text.strip()]
        tools = [Passage(id=f"tool {number}", text=step.text) for number, step in enumerate(results, 1)]
        return [*case.record.passages, *tools]
    if fact := fact_of(case):
        return [Passage(id="fact", text=fact)]
    text = case.conversation.background
    return list(case.conversation.passages) or [Passage(id="background", text=text)] * bool(text)


def numbered_turns(case: Case) -> list[dict[str, Any]]:
    """
    Return the turns of *case* as prompts show them: ``number`` (the depth) and ``lines``, one a message.

    A turn that was not asked is left out; where no answer came, a line says so.
    """
    return [
        {
            "number": record.depth,
            "lines": [
                f"{who}: {text}"
                for exchange in _exchanges(case, record)
                for who, text in (("User", exchange.question), ("System", exchange.answer))
                if text
            ]
            + ["(The system gave no answer.)"] * record.failed,
        }
        for record in case.records
        if record.outcome != "skipped"
    ]


def texts_of_turns(case: Case) -> dict[Source, dict[int, str]]:
    """Return the words of the user and of the system, by depth; nothing for turns that were not asked."""
    spoken: dict[Source, dict[int, str]] = {"user": {}, "system": {}}
    for record in case.records:
        if record.outcome != "skipped":
            exchanges = _exchanges(case, record)
            spoken["user"][record.depth] = "\n".join(one.question for one in exchanges)
            spoken["system"][record.depth] = "\n".join(one.answer for one in exchanges)
    return spoken


def _exchanges(case: Case, record: TurnRecord) -> Sequence[Exchange]:
    """Return what was said in a turn; never, as ``Case.exchanges`` has, a gold answer in place of none."""
    if record.failed:
        return (Exchange(question=record.asked, answer=""),)
    return case.exchanges((record,))


def role_of(case: Case) -> str:
    """
    Return the system's role as the data says it: ``role`` of the metadata, or else recorded instructions.

    Empty if the data says none.
    """
    stated = case.conversation.metadata.get("role")
    if isinstance(stated, str) and stated.strip():
        return stated.strip()
    messages = [message for turn in case.conversation.turns for message in turn.asked_with]
    return "\n".join(dict.fromkeys(m.text for m in messages if m.role in ("system", "developer") and m.text))


DEFAULTS: Mapping[str, Any] = {"temperature": 0}
ITEM_TOKENS = 40
"""About how long the verdict on one item is."""
SOUND_TO_UNSOUND = 2
"""So many times as many sound items as unsound ones, and there is a number."""
UNREADABLE = Unscored(reason="the judge's verdicts can't be read as JSON")
UNSOUND = Unscored(reason="the judge's evidence isn't in what it was shown")
LEFT_OUT = "an item whose evidence isn't in what the judge was shown, left out"
NO_VERDICT = Unscored(reason="the judge gave no verdict on any item")

Sources = Mapping[Source, Mapping[int, str]]
"""The texts that may be quoted, by whose they are and their numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuoteRule:
    """A quote that an item has to have."""

    key: str
    source: Source
    verdict: bool | None = None
    """The verdict that needs it; None for both."""
    place: Literal["at", "until", "from"] = "at"
    """Which texts may be quoted: the one with the item's number, those up to it, or those from it on."""

    def texts(self, sources: Sources, number: int | None) -> list[str]:
        """Return the texts in which the quote may stand; all of the source for an item without a number."""
        fits = {"at": operator.eq, "until": operator.le, "from": operator.ge}[self.place]
        return [text for at, text in sources[self.source].items() if number is None or fits(at, number)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemVerdict:
    """One item with its verdict, None where the judge says that there is none to give."""

    number: int | None
    verdict: bool | None
    kept: Mapping[str, Any]
    """As the judge wrote it."""


class _UnsoundItem(ValueError):
    """What is wrong with an item, in words for the judge."""


@dataclass(kw_only=True)
class ItemizedJudge:
    """Share of items with the verdict true, in [0, 1]; each kind of judge says what its items are."""

    tries: int = 2
    """Replies that are read at most: after one with faults, the judge is shown it and what is wrong."""
    prompt: Path | None = None
    """A prompt file instead of ours."""
    retry_prompt: Path | None = None
    """The same for what follows a reply with faults."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """Parameters of the model, over ``DEFAULTS``; one that is null isn't sent."""

    kind: ClassVar[str]
    """The judge's name, which is that of its prompt and step too."""
    level: ClassVar[Level] = "turn"
    items: ClassVar[str]
    """The key of the list in the reply."""
    verdict: ClassVar[str]
    """The key of an item's verdict."""
    number: ClassVar[str | None] = None
    """The key of an item's number: of a passage or turn."""
    every: ClassVar[bool] = False
    """Each number that may be judged has to be, once; otherwise the judge finds the items itself."""
    quotes: ClassVar[Sequence[QuoteRule]] = ()
    none_found: ClassVar[Unscored] = NO_VERDICT
    """Why there is no number where there is no item, or none with a verdict."""
    needs: ClassVar[Sequence[str]] = ("dialogue", "turns")
    """Variables of which a prompt has to use one."""
    extra: ClassVar[Sequence[str]] = ("turns",)
    """Variables beside every judge's."""
    less_is_better: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise ValueError(f"tries {self.tries} is not a positive whole number")
        self._first = judge_prompt(self.kind, self.prompt, extra=self.extra, needs=self.needs)
        self._again = judge_prompt(
            "items_retry", self.retry_prompt, extra=("prompt", "reply", "error", "items"), needs=("prompt",)
        )
        self._parameters = merge_parameters(DEFAULTS, self.parameters)

    @property
    def outputs(self) -> Sequence[Output]:
        return (Output(voting="mean", lower_is_better=self.less_is_better),)

    @property
    def needed_parameters(self) -> Sequence[str]:
        return sent_parameter_names(self.parameters)

    def why_not(self, case: Case) -> Unscored | None:
        raise NotImplementedError

    def numbers(self, case: Case) -> Collection[int]:
        """Return the numbers of passages or turns that may be judged."""
        return ()

    def sources(self, case: Case) -> Sources:
        """Return the texts that may be quoted."""
        raise NotImplementedError

    def variables(self, case: Case) -> Mapping[str, Any]:
        """Return the values of ``extra``."""
        return {}

    def score(self, case: Case, verdicts: Sequence[ItemVerdict]) -> float:
        """Return the number for *verdicts*, of which there is one at least; none of them is None."""
        return sum(one.verdict is True for one in verdicts) / len(verdicts)

    def explain(self, case: Case, one: ItemVerdict) -> dict[str, Any]:
        """Return the item as the evidence has it."""
        return dict(one.kept)

    @property
    def settings(self) -> str:
        """Return the judge's further settings for the signature."""
        return ""

    @property
    def signature(self) -> str:
        return (
            f"{self.kind}:{self.settings}tries={self.tries}|prompt={self._first.hash}+{self._again.hash}"
            f"|{signature_text(self._parameters)}"
        )

    def plan(self, case: Case) -> Sequence[PlannedAsk]:
        prompt = self._question(case)
        about = len(self.numbers(case)) if self.every else 4
        return tuple(
            PlannedAsk(
                prompt=prompt,
                parameters=self._parameters,
                sample=number,
                completion_tokens=ITEM_TOKENS * about,
                certain=number == 0,
            )
            for number in range(self.tries)
        )

    async def opinion(self, case: Case, ask: AskJudge) -> Opinion:
        first = prompt = self._question(case)
        problems: list[str] = []
        best: tuple[list[ItemVerdict], list[str]] | None = None
        for number in range(self.tries):
            step = self.kind if number == 0 else f"{self.kind}.retry"
            try:
                text = (await ask(step, prompt, parameters=self._parameters, sample=number)).text
            except AdapterError as error:
                if best is None:
                    return Opinion(values={"": ask_failure(error)}, evidence={"problems": problems})
                break
            found = first_object(text, (self.items,))
            raw = found.get(self.items) if found else None
            if isinstance(raw, list):
                sound, faults = self._sound(raw, case)
                # An empty list has no faults either, and is no better than what it takes back.
                if best is None or len(sound) - len(faults) >= len(best[0]) - len(best[1]):
                    best = sound, faults
                if not faults:
                    break
            elif found and self.items in found:
                faults = [f'"{self.items}" is no list']
            else:  # what was found may be an item of a list that breaks off
                problem = json_problem(text)
                faults = [f'"{self.items}" is missing' if found and problem == NO_OBJECT else problem]
            problems += faults
            error_text = "; ".join(faults)
            more = {"prompt": first, "reply": text, "error": error_text, "items": self.items}
            prompt = self._again.render({**case_variables(case), **more})
        if best is None:
            return Opinion(values={"": UNREADABLE}, evidence={"problems": problems})
        return self._opinion(case, *best, problems)

    def _opinion(
        self, case: Case, sound: Sequence[ItemVerdict], faults: Sequence[str], problems: Sequence[str]
    ) -> Opinion:
        judged = [one for one in sound if one.verdict is not None]
        value: Value
        if len(sound) < SOUND_TO_UNSOUND * len(faults):
            value = UNSOUND
        else:
            value = self.score(case, judged) if judged else self.none_found
        evidence = {self.items: [self.explain(case, one) for one in sound], "problems": list(problems)}
        flags = () if isinstance(value, Unscored) else (LEFT_OUT,) * len(faults)
        return Opinion(values={"": value}, evidence=evidence, flags=flags)

    def _question(self, case: Case) -> str:
        return self._first.render({**case_variables(case), **self.variables(case)})

    def _sound(self, raw: Sequence[Any], case: Case) -> tuple[list[ItemVerdict], list[str]]:
        """Return the items of a reply that hold, and what is wrong with the others, one text for each."""
        numbers, sources = self.numbers(case), self.sources(case)
        sound: list[ItemVerdict] = []
        faults: list[str] = []
        seen: set[int | None] = set()
        for position, item in enumerate(raw, 1):
            try:
                one = self._item(item, numbers, sources)
                if self.every and one.number in seen:
                    raise _UnsoundItem(f"{self.number} {one.number} is there twice")
            except _UnsoundItem as error:
                faults.append(f"item {position}: {error}")
                continue
            seen.add(one.number)
            sound.append(one)
        missing = [number for number in numbers if number not in seen] if self.every else []
        named = {_number(item, self.number) for item in raw}
        faults += [f"{self.number} {number} has no verdict" for number in missing if number not in named]
        return sound, faults

    def _item(self, item: Any, numbers: Collection[int], sources: Sources) -> ItemVerdict:
        if not isinstance(item, Mapping) or self.verdict not in item:
            raise _UnsoundItem(f'is no object with "{self.verdict}"')
        said = item[self.verdict]
        verdict = None if said is None else _truth(said)
        if said is not None and verdict is None:
            raise _UnsoundItem(f'"{self.verdict}" is neither true nor false')
        number = _number(item, self.number)
        if self.number and number not in numbers:
            raise _UnsoundItem(f"there is no {self.number} {str(item.get(self.number))[:20]} to judge")
        for rule in self.quotes if verdict is not None else ():
            if rule.verdict in (None, verdict):
                self._check_quote(rule, item, number, sources)
        return ItemVerdict(number=number, verdict=verdict, kept=item)

    def _check_quote(
        self, rule: QuoteRule, item: Mapping[str, Any], number: int | None, sources: Sources
    ) -> None:
        quote = item.get(rule.key)
        if not isinstance(quote, str) or not quote.strip():
            raise _UnsoundItem(f'"{rule.key}" is missing')
        if not occurs(quote, rule.texts(sources, number)):
            at = "" if number is None else f" {rule.place} {self.number} {number}"
            raise _UnsoundItem(f'"{rule.key}" isn\'t in the words of the {rule.source}{at}: {quote[:80]}')


def _truth(value: object) -> bool | None:
    said = {"yes": True, "no": False}.get(str(value).strip().lower())
    return read_truth(value) if said is None else said


def _number(item: Any, key: str | None) -> int | None:
    """Return the item's number: 3 for 3, "3" or "turn 3"; None if it has none."""
    value = item.get(key) if isinstance(item, Mapping) and key else None
    digits = str(value).lower().removeprefix(key or "").strip(" #[]")
    return int(digits) if not isinstance(value, bool) and digits.isdecimal() and len(digits) < 10 else None
