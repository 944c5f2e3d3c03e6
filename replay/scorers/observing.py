"""
Asks a scorer, which may be anybody's, for observations and numbers, and says in a sentence what is wrong.

Nothing is lost by a mistake in a scorer: answers are in the run, which can be scored again once it is mended.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from replay.core.errors import PluginError, ReplayError
from replay.core.record import Timing, TurnRecord
from replay.core.settings.plugin_bugs import describe_error
from replay.scorers.scorer import CheckedScorer, ResampledScorer, Scorer, Unscored

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def smoke_test(name: str, scorer: Scorer[Any]) -> None:
    """
    Have *scorer* score four turns that are made up here, so that a mistake is found before a run is played.

    One with ``check_installed`` may need something that takes long to load: it sees those two of the turns
    that were not answered.

    Raises:
        PluginError: something is wrong with it.
    """
    turns = [
        _turn(1, None, outcome="timed-out", gold_answers=("One two.",)),
        _turn(2, None, outcome="skipped", gold_answers=("One two.",), edit="filtered", timing=None),
    ]
    if not isinstance(scorer, CheckedScorer):
        turns += [_turn(3, "Two three."), _turn(4, "Two three.", gold_answers=("One two.", "Two."))]
    try:
        scored = [one for one in observe(name, scorer, turns) if not isinstance(one, Unscored)]
        if scored:
            combine(scorer, scored)
    except PluginError as error:
        raise PluginError(
            f"{error} (tried with made-up turns; docs/plugins.md shows a whole scorer)"
        ) from error


def _turn(depth: int, answer: str | None, **fields: Any) -> TurnRecord:
    made_up = {
        "system": "made up",
        "policy": "made up",
        "conversation": "made up",
        "depth": depth,
        "turn": f"{depth}",
        "recorded": "How many?",
        "asked": "How many?",
        "edit": "kept",
        "drift": None,
        "outcome": "answered",
        "answer": answer,
        "timing": Timing(scheduled_s=0.0, sent_s=0.0, done_s=1.0),
    }
    return TurnRecord(**{**made_up, **fields})


def observe(name: str, scorer: Scorer[Any], records: Sequence[TurnRecord]) -> list[Any]:
    """
    Return the observations of *scorer* on *records*, one for each, in their order.

    Args:
        name: The scorer's name, for messages.
        scorer: The scorer.
        records: The turns to observe.

    Raises:
        PluginError: the scorer fails, returns too few or too many observations, or one that can't be stored;
            the message names the first turn concerned, if there is one.
    """
    try:
        observed = list(scorer.observe(records))
    except ReplayError:
        raise
    except Exception as error:
        raise PluginError(
            f'scorer "{name}" fails{_at_turn(scorer, records)}: {describe_error(error)}'
        ) from error
    if len(observed) != len(records):
        raise PluginError(
            f'scorer "{name}" gives {len(observed)} observations for {len(records)} turns; observe gives '
            "one for each, in their order, and replay.Unscored(reason=...) for a turn that has none"
        )
    for record, value in zip(records, observed, strict=True):
        if why := _unfit(value):
            raise PluginError(f'scorer "{name}" gives {_value_text(value)} for {_place(record)}; {why}')
    return observed


def combine(scorer: Scorer[Any], observed: Sequence[Any]) -> float:
    """
    Return the number that *scorer* makes of *observed*, not empty; NaN if it isn't defined for them.

    Raises:
        PluginError: it fails, or gives no such number.
    """
    try:
        value = scorer.combine(observed)
        number = float(value)
    except ReplayError:
        raise
    except Exception as error:
        raise PluginError(
            f'scorer "{scorer.signature}" fails to combine {_value_text(list(observed))}: '
            f"{describe_error(error)}"
        ) from error
    if math.isinf(number):
        raise PluginError(
            f'scorer "{scorer.signature}" combines {_value_text(list(observed))} to {number}; combine gives '
            "a finite number, or NaN where there is none"
        )
    return number


def combine_resampled(
    scorer: ResampledScorer[Any],
    observed: Sequence[Any],
    clusters: Sequence[int],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """
    Return the number of each resample, as ``ResampledScorer``.

    Raises:
        PluginError: it fails.
    """
    try:
        return scorer.combine_resampled(observed, clusters, weights)
    except ReplayError:
        raise
    except Exception as error:
        raise PluginError(
            f"scorer {type(scorer).__name__} fails to combine resamples of {_value_text(list(observed))}: "
            f"{describe_error(error)}"
        ) from error


def _at_turn(scorer: Scorer[Any], records: Sequence[TurnRecord]) -> str:
    """Return " at" the first of *records* on which the scorer fails alone; empty if there is none."""
    for record in records:
        try:
            scorer.observe([record])
        except Exception:  # noqa: BLE001 - the same one, or as bad
            return f" at {_place(record)}"
    return ""


def _place(record: TurnRecord) -> str:
    return (
        f'turn {record.depth} of conversation "{record.conversation}" (system "{record.system}", policy '
        f'"{record.policy}")'
    )


def _unfit(value: Any) -> str | None:
    """Return why *value* can't be stored with the run and combined later; None if it can."""
    if isinstance(value, Unscored | str | int):
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else "where there is no number, give replay.Unscored(reason=...)"
    if value is None:
        return "where there is no observation, give replay.Unscored(reason=...)"
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        return f"observations are kept as JSON: {error}"
    return None


def _value_text(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."
