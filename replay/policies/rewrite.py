"""
``rewrite``, and the rewriters: a question is put so that it can be understood without its history.

Under ``rewrite`` an invalid question is rewritten from the gold history (Auto-Rewrite; Li et al., ACL 2022,
section 5). The system sees its own answers. When the recorded question drifted, it is put so that it means
what it meant in the gold history, by substitution or by another rewriter; the rewritten question is asked and
stays in the history. With ``always`` all others are put as ``augment`` puts them: only where the edit is
sure, since they may well be understood as they are.

A rewriter is a plug-in (group ``replay.rewriters``), chosen in a policy's settings by name, or as
``{name: {setting: value}}``. ``substitution``, the default, puts antecedents in place of mentions;
``llm`` asks a chat system (``replay.policies.llm_rewriter``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal, Protocol, runtime_checkable

from replay.core.asking import retries
from replay.core.conversation import Conversation
from replay.core.drift_evidence import Drift, Reading
from replay.core.errors import RewriteError
from replay.core.history import PlayedTurn, own_history
from replay.core.record import Edit
from replay.core.settings.plugins import NestedChoice, make_nested
from replay.coreference.drift import DriftDetector
from replay.coreference.reading.rewriting import MIN_PROBABILITY, MIN_PROBABILITY_VALID, rewrite
from replay.policies.policy import PlannedTurn

SUBSTITUTION_VERSION = 6
"""Raised whenever a rewritten question could come out differently."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteRequest:
    """A question to be rewritten."""

    conversation: Conversation
    depth: int
    """1-based; the question is that turn's."""
    readings: tuple[Reading, ...]
    """What its mentions refer to in the recorded history."""
    invalid: bool = False
    """Whether it is known to mean something else in the system's own history."""
    published: str | None = None
    """The question as the published rule rewrites it, where drift is detected by that rule."""

    @property
    def question(self) -> str:
        return self.conversation.turns[self.depth - 1].question


@runtime_checkable
class Rewriter(Protocol):
    """One way of rewriting; one that holds something open is also an async context manager."""

    @property
    def signature(self) -> str:
        """Its name with every setting that can change a rewritten question."""
        ...

    async def rewrite(self, request: RewriteRequest) -> str:
        """
        Return the question in words that need no history; as recorded if nothing can be made clearer.

        Raises:
            RewriteError: it should have been rewritten but could not be.
            RunStoppedError: nothing could be, so that the run is not worth going on with.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SubstitutionRewriter:
    """Puts what mentions refer to in their place; never fails."""

    min_probability: float = MIN_PROBABILITY
    """An edit less probable than this to make the question better is not made; see ``rewriting.rewrite``."""
    min_probability_valid: float = MIN_PROBABILITY_VALID
    """The same, of questions that aren't known to have drifted: all of ``augment``'s, and those that
    ``rewrite`` rewords only with ``always``."""

    def __post_init__(self) -> None:
        for name in ("min_probability", "min_probability_valid"):
            if not 0 <= (value := getattr(self, name)) <= 1:
                raise ValueError(f"{name}: {value} is not between 0 and 1")

    @property
    def signature(self) -> str:
        least = f"p{self.min_probability:g}+v{self.min_probability_valid:g}"
        return f"substitution-{SUBSTITUTION_VERSION}+{least}"

    async def rewrite(self, request: RewriteRequest) -> str:
        if request.published is not None:
            return request.published
        least = self.min_probability if request.invalid else self.min_probability_valid
        return rewrite(request.question, request.readings, min_probability=least)


async def _attempt(rewriter: Rewriter, request: RewriteRequest) -> tuple[str, str | None]:
    """Return the rewritten question and None; or, on failure, the recorded one and the reason."""
    try:
        return await rewriter.rewrite(request), None
    except RewriteError as error:
        return request.question, str(error)


async def resolved_question(
    detector: DriftDetector, rewriter: Rewriter, conversation: Conversation, depth: int
) -> tuple[str, str | None] | Drift:
    """
    Return the question at *depth* (1-based), resolved by the recorded history alone.

    Returns:
        The question and None, or the recorded one and the reason of a failure, as ``_attempt``; a ``Drift``
        without a verdict if the resolver can't read the question.

    Raises:
        ResolverError: the resolver failed.
    """
    readings = await detector.gold_readings(conversation, depth)
    if isinstance(readings, Drift):
        return readings
    return await _attempt(rewriter, RewriteRequest(conversation=conversation, depth=depth, readings=readings))


def build_rewriter(setting: NestedChoice, folder: Path) -> Rewriter:
    """
    Return the rewriter that a policy's ``rewriter`` setting names.

    Raises:
        ScenarioError: it can't be built; faults are located below ``rewriter``.
    """
    return make_nested("rewriters", setting, Rewriter, folder=folder)  # type: ignore[type-abstract]


def open_policies(policies: Iterable[object]) -> AbstractAsyncContextManager[None]:
    """Return a context manager that keeps the rewriters and users of *policies* open within its block."""
    return retries.open_all(
        getattr(policy, part, None) for policy in policies for part in ("rewriter", "user")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RewritePolicy:
    """Own answers in the history; an invalid question, or each, is rewritten."""

    history: ClassVar[Literal["own"]] = "own"
    detector: DriftDetector
    rewriter: Rewriter = field(default_factory=SubstitutionRewriter)
    always: bool = False
    """Rewrite every question that can be put better, valid or not."""

    @property
    def signature(self) -> str:
        name = "rewrite+always" if self.always else "rewrite"
        return f"{name}|rewriter:{self.rewriter.signature}|{self.detector.signature}"

    async def plan(self, conversation: Conversation, depth: int, played: Sequence[PlayedTurn]) -> PlannedTurn:
        recorded = conversation.turns[depth - 1].question
        assessment = await self.detector.assess(conversation, depth, played)
        drift = assessment.drift
        question, note = recorded, None
        if self.always and assessment.published is None and not drift.invalid:
            resolved = await resolved_question(self.detector, self.rewriter, conversation, depth)
            question, note = (recorded, None) if isinstance(resolved, Drift) else resolved
        elif self.always or drift.invalid:
            request = RewriteRequest(
                conversation=conversation,
                depth=depth,
                readings=tuple(mention.gold for mention in drift.mentions),
                invalid=drift.invalid,
                published=assessment.published,
            )
            question, note = await _attempt(self.rewriter, request)
        # A question can be invalid and yet have no better wording (a reading too long to insert).
        edit: Edit = "kept" if question == recorded else "rewritten"
        return PlannedTurn(
            question=question,
            history=own_history(played),
            edit="rewrite-failed" if note else edit,
            edit_note=note,
            drift=drift,
        )


def rewrite_policy(
    *, detector: DriftDetector, folder: Path, rewriter: NestedChoice = "substitution", always: bool = False
) -> RewritePolicy:
    """
    Return the policy from a scenario's settings.

    Args:
        detector: Judges whether a question still means the same.
        folder: The folder that relative file names start from.
        rewriter: The rewriter's name, or a mapping from its name to its settings.
        always: Whether every question is rewritten, not only those that have drifted.

    Raises:
        ScenarioError: the rewriter can't be built.
    """
    return RewritePolicy(detector=detector, rewriter=build_rewriter(rewriter, folder), always=always)
