"""The section ``recorded``: each answer held against the one that was recorded."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from replay.core.settings.choice import Section
from replay.core.settings.faults import nearest

if TYPE_CHECKING:
    from replay.scorers.judges.judge import Judge

SAME_FROM = 0.5
"""Chosen where `benchmarks/same_answers.py` tells answers that say the same from others well."""
BAD_ANSWERS = "bad_answers"
"""The key of a conversation's metadata with the depths of recorded answers that are known to be bad."""
BAD_CONVERSATION = "bad_conversation"
"""The key of a conversation's metadata with the reason why none of its recorded answers is a reference."""


class RecordedSection(Section):
    """Whether each answer is better or worse than the recorded one, or the same, or differs."""

    same_from: Annotated[float, Field(gt=0, le=1)] = SAME_FROM
    """Two answers whose figures, names and denials agree say the same from this F1 of other words on."""
    judge: str | None = None
    """The judge of the type ``pairwise`` that says which answer is better; the only one when left out."""
    score: Literal["f1", "rouge_l", "fuzzy"] | None = None
    """The score by which both answers are held against the turn's other gold answers; none when left out."""
    margin: Annotated[float, Field(gt=0, le=1)] = 0.3
    """By how much that score has to be higher for the better answer."""


def check_recorded(
    section: RecordedSection | None,
    pairwise: Sequence[str],
    judges: Collection[str],
    fault: Callable[[str, str], None],
) -> None:
    """
    Tell *fault* where *section* doesn't say which judge is meant.

    Args:
        section: None without one.
        pairwise: The names of the judges of that type.
        judges: The names of all.
        fault: Takes a key path and a message.
    """
    if section is None:
        return
    if section.judge is None and len(pairwise) > 1:
        fault("recorded.judge", f"say which of the pairwise judges counts ({', '.join(pairwise)})")
    elif section.judge is not None and section.judge not in pairwise:
        known = f"the scenario's: {', '.join(pairwise) or 'none'}"
        kind = "no judge of the type pairwise" if section.judge in judges else "no judge"
        fault("recorded.judge", f'"{section.judge}" is {kind}{nearest(section.judge, pairwise)} ({known})')


def is_pairwise(judge: Judge) -> bool:
    """Return whether *judge* compares two answers."""
    from replay.scorers.judges.pairwise import PairwiseJudge

    return isinstance(judge, PairwiseJudge)
