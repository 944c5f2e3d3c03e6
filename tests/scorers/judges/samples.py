"""Cases and panels that judges are tried with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from replay.core.conversation import Conversation, Passage, Turn
from replay.core.record import TurnRecord
from replay.core.settings.choice import Choice
from replay.scenario.judge_section import build_panel
from replay.scenario.part_builder import PartBuilder
from replay.scorers.judges.judge import Case
from replay.scorers.judges.judging import judge_all, ready_cases
from replay.scorers.judges.panel import Panel, Verdict
from replay.scorers.judges.tally import Tally
from tests.scorers.turns import turn

TALK = Conversation(
    id="c1",
    title="Stone Garden",
    passages=(Passage(id="p1", text="Alice Okafor wrote it in 1987."),),
    turns=(
        Turn(id="t1", question="Who wrote it?", gold_answers=("Alice Okafor",), gold_passages=("p1",)),
        Turn(
            id="t2",
            question="When was she born?",
            gold_answers=("In 1950.", "1950"),
            standalone="When was Alice Okafor born?",
            fact="Okafor was born in 1950.",
        ),
        Turn(id="t3", question="Why?", gold_answers=("CANNOTANSWER",)),
    ),
)
ANSWERS = ("It was Alice Okafor.", "She was born in 1951.", "I don't know.")


def records(*answers: str | None) -> tuple[TurnRecord, ...]:
    """The turns of TALK with these answers."""
    return tuple(
        turn(
            answer,
            *asked.gold_answers,
            depth=depth,
            turn=asked.id,
            recorded=asked.question,
            asked=asked.question,
        )
        for depth, (asked, answer) in enumerate(zip(TALK.turns, answers, strict=False), 1)
    )


def case(depth: int = 1, *answers: str | None, **changes: Any) -> Case:
    """The turn of TALK at *depth*, answered as ANSWERS has it, or as told."""
    return Case(conversation=TALK, records=records(*(answers or ANSWERS))[:depth], **changes)


def panel(kind: str, folder: Path = Path(), **settings: Any) -> Panel:
    """A panel as a scenario would have it; quick to give up, and without the user's cache."""
    quick = {"backoff_s": 0.0, "cache": False}
    builder = PartBuilder(folder)
    built = build_panel(builder, Choice(name=kind, settings={**quick, **settings}), "judges[0]")
    assert built, builder.faults
    return built


async def judge(built: Panel, cases: Sequence[Case], **more: Any) -> tuple[list[Verdict], Tally]:
    """The panel's verdicts on *cases*, in their order, and what they took."""
    tally = more.pop("tally", Tally())
    ready, verdicts = ready_cases(built, cases)
    await judge_all(built, ready, tally=tally, keep=verdicts.append, **more)
    return sorted(verdicts, key=lambda verdict: cases.index(verdict.case)), tally
