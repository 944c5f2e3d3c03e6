"""
What a judge's evidence is checked against: the texts that it was shown, by their numbers, and whether its
quotes occur in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from replay.core.conversation import Passage
from replay.core.history import Exchange
from replay.core.record import TurnRecord
from replay.scorers.judges.judge import Case
from replay.scorers.judges.prompt import fact_of

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
