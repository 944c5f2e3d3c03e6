"""
The claims that a judge is asked to list, row by row, in the place of those in the response file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from replay.core.errors import InputError
from replay.scorers.judges.claims import LISTS as FOUND, ClaimsJudge
from replay.scorers.judges.judge import Case
from replay.scorers.judges.panel import Panel, Verdict
from replay.scorers.scorer import Unscored
from replay.tables.scoring.claims import LISTS, RowClaims, row_claims
from replay.tables.scoring.joining import JoinedRow, JoinResult
from replay.tables.scoring.judged_file import PanelVerdicts
from replay.tables.scoring.recorded import dialogue_case


def check_panel(panel: Panel) -> None:
    """
    Make sure that *panel* lists claims, and gives one list for each row.

    Raises:
        InputError: it is another judge, or there are several voters or repeats.
    """
    if not isinstance(panel.judge, ClaimsJudge):
        raise InputError(
            f'--judge "{panel.name}": only the judge claims fills an evaluation file\'s columns; '
            "`replay judge-file` writes a table of any judge's numbers"
        )
    if len(panel.voters) > 1 or panel.repeats > 1:
        raise InputError(
            f'--judge "{panel.name}": an evaluation file has room for one list of claims; '
            "give one adapter, and no repeats"
        )


def row_cases(joined: JoinResult) -> list[Case]:
    """A case for each row that has a response, in a conversation named by the row's number, from 1."""
    return [
        dialogue_case(
            str(number),
            [("User", row.question)],
            row.candidate,
            gold_answers=tuple(text for text in row.golden if text.strip()),
            fact=row.context or None,
        )
        for number, row in enumerate(joined.rows, 1)
        if row.candidate is not None
    ]


def asked_claims(joined: JoinResult, found: PanelVerdicts) -> list[RowClaims]:
    """What the judge found about each row, or why there is nothing."""
    return [_asked(row, found.verdicts.get(str(number))) for number, row in enumerate(joined.rows, 1)]


def _asked(row: JoinedRow, verdict: Verdict | None) -> RowClaims:
    if verdict is None:
        return RowClaims(counts=Unscored(reason="not answered"), lists={})
    evidence: Mapping[str, Any] = verdict.repeats[0].votes[0].evidence if verdict.repeats else {}
    lists: Sequence[Any] = [evidence.get(name) for name in FOUND]
    if any(one is None for one in lists):
        why = next(value for value in verdict.values.values() if isinstance(value, Unscored))
        return RowClaims(counts=why, lists={})
    return row_claims(row, dict(zip(LISTS, lists, strict=True)))
