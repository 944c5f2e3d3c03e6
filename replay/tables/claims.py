"""
The claims of a row: those of the response file, recomputed, or those that a judge is asked to list.

Lists win over counts: a judge that is asked to count is often off by one.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replay.core.errors import InputError
from replay.scorers.judges.claims import (
    LISTS as FOUND,
    ClaimCounts,
    ClaimsJudge,
    claims_in,
    count_claims,
    unsupported_claims,
)
from replay.scorers.judges.judge import Case
from replay.scorers.judges.panel import Panel, Verdict
from replay.scorers.scorer import Unscored
from replay.tables.joining import JoinedRow, JoinResult
from replay.tables.rating_files import JUDGED_COLUMNS
from replay.tables.responses import PanelVerdicts, dialogue_case

COUNTS = ("Golden Response Claim Count", "Candidate Response Claim Count", "Common Claim Count")
LISTS = ("Golden Response Claims", "Candidate Response Claims", "Common Claims")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowClaims:
    """What is known of one row's claims."""

    counts: ClaimCounts | Unscored
    lists: Mapping[str, Any]
    """The cells with the lists, as they were."""
    miscounted: bool = False
    """The counts given are not those of the lists."""
    invented: int = 0
    """Common claims that stand in neither of the other lists."""

    def scores(self) -> dict[str, float | Unscored]:
        """Return recall, precision and F1 in [0, 1], by the names of ``JUDGED_COLUMNS``."""
        if isinstance(self.counts, Unscored):
            return dict.fromkeys(JUDGED_COLUMNS, self.counts)
        values = (self.counts.recall, self.counts.precision, self.counts.f1)
        none = Unscored(reason="no golden claims")
        return {name: none if v is None else v for name, v in zip(JUDGED_COLUMNS, values, strict=True)}


def row_claims(row: JoinedRow, asked: Mapping[str, Any] | None = None) -> RowClaims:
    """Return the claims in the row's response, if there are any, or in what a judge was *asked*."""
    response = row.response if asked is None else asked
    lists = {name: response[name] for name in LISTS if response.get(name) is not None}
    given = _given_counts(response)
    if len(lists) == len(LISTS):
        claims = [_claims(lists[name]) for name in LISTS]
        if any(one is None for one in claims):
            return RowClaims(counts=given or Unscored(reason="the claims are no list"), lists=lists)
        golden, candidate, common = (one or [] for one in claims)
        counts = count_claims(golden, candidate, common)
        return RowClaims(
            counts=counts,
            lists=lists,
            miscounted=given is not None and given != counts,
            invented=len(unsupported_claims(golden, candidate, common)),
        )
    reason = "not answered" if row.candidate is None else "no claims or counts in the response file"
    return RowClaims(counts=given or Unscored(reason=reason), lists=lists)


def _given_counts(response: Mapping[str, Any]) -> ClaimCounts | None:
    values = []
    for name in COUNTS:
        try:
            value = float(response[name])
        except (KeyError, TypeError, ValueError):
            return None
        if value < 0 or not value.is_integer():
            return None
        values.append(int(value))
    return ClaimCounts(golden=values[0], candidate=values[1], common=values[2])


def _claims(cell: Any) -> list[str] | None:
    """
    Return the claims in a cell, or in the JSON or Python text that it holds; None where there is no list.
    """
    try:
        if isinstance(cell, str):
            try:
                cell = json.loads(cell)
            except ValueError:
                cell = ast.literal_eval(cell)
        return claims_in(cell)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


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
    """Return a case for each row that has a response, in a conversation named by the row's number, from 1."""
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
    """
    Return the claims that the judge found in each row, in the order of the rows.

    A row without claims says why there are none.
    """
    return [_judged_claims(row, found.verdicts.get(str(number))) for number, row in enumerate(joined.rows, 1)]


def _judged_claims(row: JoinedRow, verdict: Verdict | None) -> RowClaims:
    if verdict is None:
        return RowClaims(counts=Unscored(reason="not answered"), lists={})
    evidence: Mapping[str, Any] = verdict.repeats[0].votes[0].evidence if verdict.repeats else {}
    lists: Sequence[Any] = [evidence.get(name) for name in FOUND]
    if any(one is None for one in lists):
        why = next(value for value in verdict.values.values() if isinstance(value, Unscored))
        return RowClaims(counts=why, lists={})
    return row_claims(row, dict(zip(LISTS, lists, strict=True)))
