"""Cases and panels that judges are tried with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from replay.core.asking.costs import AskTally
from replay.core.settings.choice import Choice
from replay.scenario.judge_section import build_panel
from replay.scenario.part_builder import PartBuilder
from replay.scorers.judges.judge import Case
from replay.scorers.judges.judging import judge_all, ready_cases
from replay.scorers.judges.panel import Panel, Verdict
from replay.testing.cases import ANSWERS, TALK, case, records

__all__ = ["ANSWERS", "TALK", "case", "judge", "panel", "records"]


def panel(kind: str, folder: Path = Path(), **settings: Any) -> Panel:
    """A panel as a scenario would have it; quick to give up, and without the user's cache."""
    quick = {"backoff_s": 0.0, "cache": False}
    builder = PartBuilder(folder)
    built = build_panel(builder, Choice(name=kind, settings={**quick, **settings}), "judges[0]")
    assert built, builder.faults
    return built


async def judge(built: Panel, cases: Sequence[Case], **more: Any) -> tuple[list[Verdict], AskTally]:
    """The panel's verdicts on *cases*, in their order, and what they took."""
    tally = more.pop("tally", AskTally())
    ready, verdicts = ready_cases(built, cases)
    await judge_all(built, ready, tally=tally, keep=verdicts.append, **more)
    return sorted(verdicts, key=lambda verdict: cases.index(verdict.case)), tally
