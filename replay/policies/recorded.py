"""
Policies that ask in the data's own words: ``gold``, ``pred``, ``replace`` and ``filter`` (Li et al., ACL
2022).

``gold`` (Auto-Gold, section 3): the recorded question after the gold history, as conversations are commonly
evaluated; no predicted answer is ever shown to the system. With ``question: standalone`` each turn is asked
in the data set's standalone form, after the same history: what better wording does where nothing can drift,
which ``replace: {always: true}`` is held against.

``pred`` (Auto-Pred, section 4): the recorded question after the system's own answers. Nothing is mended,
but drift is measured: how many recorded questions no longer make sense is the figure that this policy is
run for (23 % in the paper, table 4). Nothing asked depends on it, so that runs measure it after the turns
(``replay.results.late_drift``).

``replace`` (Auto-Replace, section 5): an invalid question gives way to the data set's standalone form.
Those are written by people (CANARD for QuAC), so this is the upper bound for what rewriting can mend. Where
the data set has none, the question is asked as recorded and marked ``not-found``, as in the published
program.

``filter``: an invalid question is not asked, only counted. The published program's default
(princeton-nlp/EvalConvQA), described nowhere in the paper. A skipped turn leaves no trace in the system's
history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from replay.core.conversation import Conversation, Turn
from replay.core.history import PlayedTurn, gold_history, own_history
from replay.core.record import Edit
from replay.coreference.drift import DriftDetector
from replay.policies.policy import PlannedTurn


def standalone_question(turn: Turn) -> tuple[str, Edit]:
    """
    Return the standalone question to ask in place of *turn*'s question, and the kind of edit.

    Returns:
        The question as recorded and ``not-found`` if the data set has no standalone question, as in the
        published program; otherwise the standalone question, with ``kept`` if it equals the recorded one and
        ``replaced`` if not.
    """
    if turn.standalone is None:
        return turn.question, "not-found"
    return turn.standalone, "kept" if turn.standalone == turn.question else "replaced"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldPolicy:
    """Gold answers in the history; questions as recorded, or standalone."""

    history: ClassVar[Literal["gold"]] = "gold"
    question: Literal["recorded", "standalone"] = "recorded"
    """The history holds the recorded questions in either case."""

    @property
    def signature(self) -> str:
        return "gold" if self.question == "recorded" else "gold+standalone"

    async def plan(self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn]) -> PlannedTurn:
        turn = conversation.turns[depth - 1]
        history = gold_history(conversation, depth)
        if self.question == "recorded":
            return PlannedTurn(question=turn.question, history=history, edit="kept")
        question, edit = standalone_question(turn)
        return PlannedTurn(question=question, history=history, edit=edit)


@dataclass(frozen=True, slots=True, kw_only=True)
class PredPolicy:
    """Own answers in the history, questions as recorded."""

    history: ClassVar[Literal["own"]] = "own"
    detector: DriftDetector
    detect: bool = True
    """Whether drift is measured; without it a stress test spends nothing on coreference."""

    @property
    def signature(self) -> str:
        return f"pred|{self.detector.signature}" if self.detect else "pred"

    @property
    def without_drift(self) -> PredPolicy | None:
        """Return this policy without drift detection; None if it has none."""
        return replace(self, detect=False) if self.detect else None

    async def plan(self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn]) -> PlannedTurn:
        assessment = await self.detector.assess(conversation, depth, played) if self.detect else None
        return PlannedTurn(
            question=conversation.turns[depth - 1].question,
            history=own_history(played),
            edit="kept",
            drift=assessment.drift if assessment else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacePolicy:
    """Own answers in the history; an invalid question is replaced by its standalone form."""

    history: ClassVar[Literal["own"]] = "own"
    detector: DriftDetector
    always: bool = False
    """Replace every question, valid or not."""

    @property
    def signature(self) -> str:
        return f"replace{'+always' if self.always else ''}|{self.detector.signature}"

    async def plan(self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn]) -> PlannedTurn:
        turn = conversation.turns[depth - 1]
        drift = (await self.detector.assess(conversation, depth, played)).drift
        is_replaced = self.always or drift.invalid
        question, edit = standalone_question(turn) if is_replaced else (turn.question, "kept")
        return PlannedTurn(question=question, history=own_history(played), edit=edit, drift=drift)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterPolicy:
    """Own answers in the history; an invalid question is skipped."""

    history: ClassVar[Literal["own"]] = "own"
    detector: DriftDetector

    @property
    def signature(self) -> str:
        return f"filter|{self.detector.signature}"

    async def plan(self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn]) -> PlannedTurn:
        drift = (await self.detector.assess(conversation, depth, played)).drift
        return PlannedTurn(
            question=conversation.turns[depth - 1].question,
            history=own_history(played),
            edit="filtered" if drift.invalid else "kept",
            drift=drift,
        )
