"""
``similar``: the answer means about what a text says, by the cosine of their sentence embeddings, as the
scorer ``similarity`` has it (all-MiniLM-L6-v2). Needs the extra ``neural``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from replay.core.errors import PluginError
from replay.scorers.checks.check import CheckInput, CheckOutcome
from replay.scorers.checks.texts import Texts, as_tuple
from replay.scorers.neural_extra import MINILM, check_neural, model_place
from replay.scorers.similarity import sentence_model

Cosine = Annotated[float, Field(ge=-1, le=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Similar:
    """The answer is as similar as that to one of the texts, or to one of its gold answers."""

    at_least: float
    to: Texts | None

    def check_installed(self) -> None:
        """
        Return if what embeds sentences is there; imports nothing itself.

        Raises:
            PluginError: it is not installed.
        """
        check_neural(("torch", "sentence_transformers"), "similar")

    def look(self, seen: CheckInput) -> CheckOutcome:
        pairs = [
            (record.answer or "", text)
            for record in seen.records
            for text in (record.gold_answers if self.to is None else as_tuple(self.to))
        ]
        if not pairs:
            return CheckOutcome(passed=None, reason="no gold answer")
        try:
            self.check_installed()
            best = max(sentence_model(model_place(MINILM, Path()), None).cosines(pairs))
        except PluginError as error:
            return CheckOutcome(passed=None, reason="no sentence model", evidence=str(error))
        expected = "" if best >= self.at_least else f"; expected at least {self.at_least:g}"
        evidence = f"similarity {best:.3f}{expected}"
        return CheckOutcome(passed=not expected, evidence=evidence, lacking=bool(expected))


def similar(at_least: Cosine, to: Texts | None = None) -> Similar:
    """``similar``: at least so similar to a text, in [-1, 1]; to a gold answer where there is none."""
    return Similar(at_least=at_least, to=to)
