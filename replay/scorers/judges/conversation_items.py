"""
``completeness``, ``knowledge_retention``, ``role_adherence`` and ``user_frustration`` of whole conversations.

Definitions after DeepEval's conversational metrics: the share of the user's intentions that were satisfied,
of the answers that keep what the user had told, and of those that keep to the system's role. Frustration is
MLflow's question, whether a user shows annoyance with the system, counted by message. There is one ask for
each conversation, where DeepEval asks once or twice for each turn.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from replay.core.asking.prompt import short_hash
from replay.scorers.judges.geval import NO_ANSWER
from replay.scorers.judges.itemized import ItemizedJudge, QuoteRule, Sources
from replay.scorers.judges.judge import RECORDED, Case, Level
from replay.scorers.judges.sources import numbered_turns, role_of, texts_of_turns
from replay.scorers.scorer import Unscored

NO_INTENTIONS = Unscored(reason="the user wanted nothing that could be judged")
NOTHING_TOLD = Unscored(reason="the user told nothing that could be forgotten")
NO_ROLE = Unscored(reason="no role in the data or the settings")
ONE_MESSAGE = Unscored(reason="no message of the user after an answer")
RECORDED_USER = Unscored(reason="the user's words are recorded, so they say nothing of these answers")


@dataclass(kw_only=True)
class ConversationItemsJudge(ItemizedJudge):
    """Verdicts on each answer of a conversation."""

    level: ClassVar[Level] = "dialogue"
    items: ClassVar[str] = "turns"
    number: ClassVar[str | None] = "turn"
    every: ClassVar[bool] = True
    extra: ClassVar[Sequence[str]] = ("turns", "judged")

    def why_not(self, case: Case) -> Unscored | None:
        return None if any(record.answer is not None for record in case.records) else NO_ANSWER

    def numbers(self, case: Case) -> Collection[int]:
        return [record.depth for record in case.records if record.answer is not None]

    def sources(self, case: Case) -> Sources:
        return texts_of_turns(case)

    def variables(self, case: Case) -> Mapping[str, Any]:
        return {"turns": numbered_turns(case), "judged": list(self.numbers(case))}


@dataclass(kw_only=True)
class CompletenessJudge(ConversationItemsJudge):
    """Share of the user's intentions that the system satisfied, in [0, 1]."""

    kind: ClassVar[str] = "completeness"
    items: ClassVar[str] = "intentions"
    verdict: ClassVar[str] = "satisfied"
    every: ClassVar[bool] = False
    quotes: ClassVar[Sequence[QuoteRule]] = (
        QuoteRule(key="quote", source="user"),
        QuoteRule(key="answer", source="system", verdict=True, place="from"),
    )
    none_found: ClassVar[Unscored] = NO_INTENTIONS

    def numbers(self, case: Case) -> Collection[int]:
        return [record.depth for record in case.records if record.outcome != "skipped"]


@dataclass(kw_only=True)
class KnowledgeRetentionJudge(ConversationItemsJudge):
    """Share of the answers after the user told something that keep it, in [0, 1]."""

    kind: ClassVar[str] = "knowledge_retention"
    verdict: ClassVar[str] = "retained"
    quotes: ClassVar[Sequence[QuoteRule]] = (
        QuoteRule(key="told", source="user", verdict=False, place="until"),
        QuoteRule(key="quote", source="system", verdict=False),
    )
    none_found: ClassVar[Unscored] = NOTHING_TOLD


@dataclass(kw_only=True)
class RoleAdherenceJudge(ConversationItemsJudge):
    """Share of the answers that keep to the system's role, in [0, 1]."""

    role: str | None = None
    """What the system is to be; left out, the data's ``metadata.role``, or else its recorded instructions."""

    kind: ClassVar[str] = "role_adherence"
    verdict: ClassVar[str] = "in_role"
    quotes: ClassVar[Sequence[QuoteRule]] = (QuoteRule(key="quote", source="system", verdict=False),)
    extra: ClassVar[Sequence[str]] = ("turns", "judged", "role")

    def why_not(self, case: Case) -> Unscored | None:
        return super().why_not(case) if self._role(case) else NO_ROLE

    def variables(self, case: Case) -> Mapping[str, Any]:
        return {**super().variables(case), "role": self._role(case)}

    @property
    def settings(self) -> str:
        return f"role={short_hash(self.role)}+" if self.role else ""

    def _role(self, case: Case) -> str:
        return (self.role or "").strip() or role_of(case)


@dataclass(kw_only=True)
class UserFrustrationJudge(ConversationItemsJudge):
    """Share of the user's messages after the first answer that show frustration with it, in [0, 1]."""

    kind: ClassVar[str] = "user_frustration"
    verdict: ClassVar[str] = "frustrated"
    quotes: ClassVar[Sequence[QuoteRule]] = (QuoteRule(key="quote", source="user", verdict=True),)
    less_is_better: ClassVar[bool] = True

    def why_not(self, case: Case) -> Unscored | None:
        if why := super().why_not(case):
            return why
        if case.conversation.goal is None and case.record.policy != RECORDED:
            return RECORDED_USER
        return None if self.numbers(case) else ONE_MESSAGE

    def numbers(self, case: Case) -> Collection[int]:
        answered = [record.depth for record in case.records if record.answer is not None]
        spoken = texts_of_turns(case)["user"]
        return [depth for depth, text in spoken.items() if text.strip() and answered and depth > answered[0]]
