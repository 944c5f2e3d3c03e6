"""
Turns of a run for ``mlflow.genai.evaluate``, and our scorers beside MLflow's own judges there.

Imports the package ``mlflow`` (extra ``mlflow``), so nothing else of ours imports this.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlflow.entities import Feedback
from mlflow.genai.scorers import Scorer, scorer

from replay.core.errors import InputError
from replay.core.record import TurnRecord
from replay.report.findings import why_invalid
from replay.results.run import Run
from replay.runs.driver import made_scorers
from replay.scorers.judges.judge import Case
from replay.scorers.scorer import Unscored
from replay.statistics.score_column import ScoreColumn, score_columns

PLACE = ("system", "policy", "conversation", "depth")


def eval_rows(run: Run | str | Path) -> list[dict[str, Any]]:
    """
    Return one row for each asked turn of the run, or of the run in a folder, as ``evaluate`` takes them.

    ``inputs`` hold the ``question`` as it was asked, the ``history`` that was shown with it, and which turn
    it is (``PLACE``); ``outputs`` is the answer, empty where none came; ``expectations`` hold the
    ``gold_answers``, the first of them as ``expected_response``.

    Raises:
        RunError: there is no such run.
    """
    run = run if isinstance(run, Run) else Run(run)
    return [_row(case) for case in run.cases() if case.record.outcome != "skipped"]


def _row(case: Case) -> dict[str, Any]:
    record, gold = case.record, [_text(one) for one in case.record.gold_answers]
    return {
        "inputs": {
            "question": _text(record.asked),
            "history": [[_text(one.question), _text(one.answer)] for one in case.history],
            **{name: getattr(record, name) for name in PLACE},
        },
        "outputs": _text(record.answer),
        "expectations": {"expected_response": gold[0], "gold_answers": gold} if gold else {},
    }


def _text(text: str | None) -> str:
    """Return *text* without halves of surrogate pairs, which MLflow can't keep."""
    return (text or "").encode("utf-8", "backslashreplace").decode()


def reference_scorer(name: str) -> Scorer:
    """
    Return our scorer *name* (``em``, ``f1``, ``rouge_l``, ...) for anybody's rows: it compares ``outputs``
    with the ``gold_answers`` among the ``expectations``, or with ``expected_response``. A row without has no
    score.

    Raises:
        ScenarioError: there is no such scorer, or it misses something.
    """
    made = made_scorers([name])

    def score(outputs: Any = None, expectations: Mapping[str, Any] | None = None) -> Feedback | None:
        known = expectations or {}
        gold = known.get("gold_answers") or [known.get("expected_response")]
        record = TurnRecord(
            system="system",
            policy="pred",
            conversation="row",
            depth=1,
            turn="1",
            recorded="",
            asked="",
            edit="kept",
            drift=None,
            outcome="answered" if outputs else "bad-reply",
            answer=str(outputs) if outputs else None,
            gold_answers=tuple(str(one) for one in gold if one is not None),
        )
        (column,) = score_columns([record], made).values()
        return _feedback(record, column, 0)

    return scorer(score, name=name)


def run_scorers(run: Run | str | Path) -> list[Scorer]:
    """
    Return a scorer for each column of the run (scores, checks, judges) and one for ``drift``, which give its
    ``eval_rows`` what the run has: nothing is scored anew.

    Raises:
        RunError: there is no such run.
        InputError: in ``evaluate``, of a row that is none of the run's.
    """
    run = run if isinstance(run, Run) else Run(run)
    records, columns = run.scored()
    places = {tuple(getattr(one, name) for name in PLACE): at for at, one in enumerate(records)}

    def place(inputs: Mapping[str, Any]) -> int:
        try:
            return places[tuple(inputs[name] for name in PLACE)]
        except KeyError as error:
            raise InputError(
                f"a row is no turn of {run.folder}; evaluate eval_rows of the same run"
            ) from error

    def column_scorer(name: str, column: ScoreColumn) -> Scorer:
        def score(inputs: Mapping[str, Any]) -> Feedback | None:
            at = place(inputs)
            return _feedback(records[at], column, at)

        return scorer(score, name=name)

    def drift(inputs: Mapping[str, Any]) -> Feedback | None:
        found = records[place(inputs)].drift
        if found is None or found.valid is None:
            return None
        return Feedback(value=found.valid, rationale=why_invalid(found) or None)

    return [*(column_scorer(name, column) for name, column in columns.items()), scorer(drift, name="drift")]


def _feedback(record: TurnRecord, column: ScoreColumn, at: int) -> Feedback | None:
    """
    Return the score that *column* has for *record*, at position *at*, as feedback; None without a score.
    """
    value = None if isinstance(column.observed[at], Unscored) else column.value([at])
    if value is None:
        return None
    expected = f'expected "{record.gold_answers[0]}"' if record.gold_answers else None
    return Feedback(value=value, rationale=expected)
