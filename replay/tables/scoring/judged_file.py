"""From recorded responses to a table of judges' numbers: what ``replay judge-file`` does."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from replay.core.asking.estimate import CostEstimate
from replay.core.asking.tally import AskTally
from replay.core.errors import InputError
from replay.scorers.judges.dry_run import estimate
from replay.scorers.judges.judge import Case
from replay.scorers.judges.judging import judge_all, ready_cases
from replay.scorers.judges.panel import Panel, Verdict
from replay.scorers.scorer import Unscored
from replay.tables.scoring.recorded import RecordedResponse

DIGITS = 6


@dataclass(slots=True, kw_only=True)
class PanelVerdicts:
    """What a panel found, by the case's conversation, and what it took."""

    panel: Panel
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    tally: AskTally = field(default_factory=AskTally)


async def judge_cases(
    panel: Panel, cases: Sequence[Case], told: Callable[[str, int, int], None] | None = None
) -> PanelVerdicts:
    """
    The panel's verdicts on *cases*, each in a conversation of its own.

    *told* learns how far the judge is: its name, cases done, cases in all.

    Raises:
        PluginError, RunStoppedError: as for ``judge_all``.
    """
    found = PanelVerdicts(panel=panel)

    def keep(verdict: Verdict) -> None:
        found.verdicts[verdict.case.record.conversation] = verdict

    ready, settled = ready_cases(panel, cases)
    for verdict in settled:
        keep(verdict)
    count = (lambda done: told(panel.name, done, len(ready))) if told else None
    await judge_all(panel, ready, tally=found.tally, keep=keep, told=count)
    return found


def estimate_cases(panel: Panel, cases: Sequence[Case]) -> CostEstimate:
    """What judging *cases* would take; nothing is asked."""
    ready, settled = ready_cases(panel, cases)
    return estimate(panel, ready, settled=len(settled))


def cases_for(panel: Panel, responses: Sequence[RecordedResponse]) -> list[Case]:
    """
    Those of *responses* that *panel* judges: responses, or whole dialogues.

    Raises:
        InputError: there is none.
    """
    cases = [one.case for one in responses if one.level == panel.judge.level]
    if not cases:
        other = "turn" if panel.judge.level == "dialogue" else "dialogue"
        raise InputError(
            f'judge "{panel.name}" is about items of level {panel.judge.level}, and the file has none; '
            f"let it judge those that it has (level: {other}), where it can"
        )
    return cases


def judged_rows(
    responses: Sequence[RecordedResponse], judged: Sequence[PanelVerdicts]
) -> tuple[list[str], list[dict[str, Any]]]:
    """
    The table's columns and rows: those of *responses* that a panel judged, in their order.

    ``replay agree`` reads it; ``Unscored`` is there where a number is missing, and says why.
    """
    rows = []
    for one in responses:
        row: dict[str, Any] = {"id": one.id, "system": one.system, "level": one.level}
        reasons: dict[str, str] = {}
        verdicts = [(found.panel, found.verdicts.get(one.id)) for found in judged]
        for panel, verdict in verdicts:
            for column, output in panel.columns.items() if verdict else ():
                value = verdict.values[output.name] if verdict else None
                if isinstance(value, Unscored):
                    reasons[column] = value.reason
                elif value is not None:
                    row[column] = round(value, DIGITS)
        if any(verdict for _, verdict in verdicts):
            rows.append({**row, "Unscored": json.dumps(reasons, ensure_ascii=False)} if reasons else row)
    columns = ["id", "system", "level", *(column for found in judged for column in found.panel.columns)]
    return columns + (["Unscored"] if any("Unscored" in row for row in rows) else []), rows
