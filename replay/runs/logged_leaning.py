"""
What the questions of logs lean on, and which would mean something else if an earlier answer were wrong.

Nothing is asked, and no gold answers are needed: the recorded history is read, and read again without the
answers that a question leans on (``replay.coreference.leaning``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replay.core.conversation import Conversation
from replay.core.errors import Fault, ScenarioError
from replay.core.safety.consent import code_may_run
from replay.coreference.leaning import QuestionLeaning, find_leaning
from replay.coreference.reading.verdict import STRICT, STRICT_VERSION, THRESHOLD
from replay.coreference.service.worker import ResolverChoice
from replay.report.numbers import count_text
from replay.runs.driver import drift_section
from replay.runs.logged_drift import logged_conversations
from replay.statistics.estimate import NumberWithInterval, by_depth, no_number, number, resample, resampling
from replay.statistics.interval import UndefinedNumber

if TYPE_CHECKING:
    import pandas as pd

_SETTINGS = ("resolver", "settings", "window", "background", "threshold")
NOT_READ = UndefinedNumber(reason="no question could be read")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaningRow:
    """The questions of one depth, or of all."""

    depth: int | None
    """None for all depths together."""
    questions: int
    judged: int
    lean_on_answer: int
    """Questions that lean on an earlier answer."""
    at_risk: int
    """Those that would mean something else if it were wrong."""
    at_risk_share: NumberWithInterval
    """Of the judged ones, with the interval of a bootstrap over conversations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedLeaning:
    """What every question of the logs leans on, in their order."""

    questions: tuple[tuple[Conversation, QuestionLeaning], ...]
    signature: str
    """How questions were read and judged."""

    def rows(self) -> Iterator[dict[str, Any]]:
        """
        Yield one row per question, with JSON values.

        ``conversation``, ``depth``, ``turn``, ``question``; ``leans_on`` (``answer``, ``question``,
        ``background``, ``nothing``; null where it was not judged, and ``not_judged`` says why), ``mention``
        (the question's words that lean, empty for what it leaves out), ``words`` (what it leans on, quoted),
        ``turns_back`` (1 is the turn before), ``probability`` that it means something else if the answer is
        wrong, and ``at_risk``.
        """
        for conversation, one in self.questions:
            yield {
                "conversation": conversation.id,
                "depth": one.depth,
                "turn": conversation.turns[one.depth - 1].id,
                "question": one.question,
                "leans_on": one.leans_on,
                "mention": one.mention,
                "words": one.words,
                "turns_back": one.turns_back,
                "probability": one.probability,
                "at_risk": one.at_risk,
                "not_judged": one.not_judged,
            }

    def to_frame(self) -> pd.DataFrame:
        """Return the ``rows`` as a table; ``turns_back`` may be missing."""
        import pandas as pd

        frame = pd.DataFrame(self.rows())
        return frame.astype({"turns_back": "Int64"}) if len(frame) else frame

    def by_depth(self) -> tuple[LeaningRow, ...]:
        """Return the numbers at each turn depth, then in total; the same questions give the same numbers."""
        drawn = resampling([conversation.id for conversation, _ in self.questions], resamples=1000, seed=0)
        found = []
        for depth, cell in by_depth([one.depth for _, one in self.questions]).items():
            read = [place for place in cell if self.questions[place][1].leans_on is not None]
            leaning = [self.questions[place][1] for place in read]
            features = np.array([(one.at_risk, 1) for one in leaning], dtype=np.float64).reshape(-1, 2)
            share = no_number(NOT_READ)
            if read:
                values = resample(features, read, drawn, lambda sums: sums[:, 0] / sums[:, 1])
                share = number(values, read, drawn, scale="share", undefined=NOT_READ)
            found.append(
                LeaningRow(
                    depth=depth,
                    questions=len(cell),
                    judged=len(read),
                    lean_on_answer=sum(one.leans_on == "answer" for one in leaning),
                    at_risk=sum(one.at_risk for one in leaning),
                    at_risk_share=share,
                )
            )
        return tuple(found)

    def count_unjudged(self) -> Mapping[str, int]:
        """Return how many questions were not judged, by reason."""
        reasons = (one.not_judged for _, one in self.questions if one.not_judged)
        return dict(sorted(Counter(reason.partition(": ")[0] for reason in reasons).items()))

    def summary(self) -> str:
        """Return the numbers of all questions in a sentence or two."""
        *depths, total = self.by_depth()
        if not total.judged:
            return "No question could be read."
        leaning = [one for _, one in self.questions if one.leans_on == "answer"]
        text = (
            f"{len(leaning):,} of {count_text(total.judged, 'question')} "
            f"({_percent(len(leaning), total.judged)}) {'leans' if len(leaning) == 1 else 'lean'} on an "
            "earlier answer"
        )
        if not leaning:
            return f"{text}."
        before = sum(one.turns_back == 1 for one in leaning)
        text += f", {before:,} of them on the one just before"
        if not total.at_risk:
            return f"{text}; none would mean something else if it were wrong."
        at = max(depths, key=lambda row: row.at_risk)
        return (
            f"{text}; {total.at_risk:,} ({_percent(total.at_risk, total.judged)}) would mean something else "
            f"if it were wrong, most at depth {at.depth} ({at.at_risk:,} of {at.judged:,})."
        )


def leaning(
    logs: Any,
    *,
    drift: Mapping[str, Any] | None = None,
    on_progress: Callable[[int, int], None] = lambda done, of: None,
) -> LoggedLeaning:
    """
    Say what the questions of conversations lean on, from their recorded history alone.

    Args:
        logs: A file or glob pattern in any format that can be read, conversations, or a DataFrame with the
            columns of the ``csv`` reader (``conversation``, ``question``, ``answer``, ...).
        drift: ``resolver``, ``settings``, ``window``, ``background`` and ``threshold``, as in a scenario.
        on_progress: Told after each conversation how many are read, and of how many.

    Returns:
        What each question leans on, and counts by turn depth.

    Raises:
        InputError: the logs can't be read.
        ScenarioError: *drift* has faults.
        ResolverError: the resolver failed.
    """
    section = drift_section(drift or {})
    unfit = [key for key in (drift or {}) if key not in _SETTINGS]
    if unfit:
        message = f"compares two histories, and there is one alone (usable: {', '.join(_SETTINGS)})"
        raise ScenarioError("leaning", [Fault(path=f"drift.{key}", message=message) for key in unfit])
    choice = ResolverChoice(name=section.resolver, settings=section.settings, folder=Path())
    with code_may_run():
        resolver = choice.build()
    threshold = THRESHOLD if section.threshold is None else section.threshold
    conversations = list(logged_conversations(logs, "logs"))
    questions: list[tuple[Conversation, QuestionLeaning]] = []
    for done, conversation in enumerate(conversations, 1):
        found = find_leaning(
            conversation,
            resolver,
            window=section.window,
            background=section.background,
            threshold=threshold,
        )
        questions += [(conversation, one) for one in found]
        on_progress(done, len(conversations))
    return LoggedLeaning(
        questions=tuple(questions),
        signature=f"coref:{resolver.signature}|leaning:{STRICT}-{STRICT_VERSION}"
        f"|window:{'all' if section.window is None else section.window}|threshold:{threshold:g}",
    )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %"
