"""
What a prompt may say of a case; the table in docs/judges.md lists the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from replay.core.history import Exchange
from replay.scorers.judges.judge import Case

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
