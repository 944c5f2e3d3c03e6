"""
``history``, which every policy takes among its settings: how much of its history a system is shown.

Taken out before a policy sees its settings, so that it works for those of others as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field, ValidationError, model_validator

from replay.core.errors import Fault
from replay.core.history_view import HistoryView
from replay.core.settings.choice import Choice, Section
from replay.core.settings.faults import faults_of
from replay.policies.policy import Policy, ViewedPolicy

HISTORY = "history"
_FORMS = "user-only, session, {last: 4}, or several as {last: 4, user-only: true}"
_WORDS = ("user-only", "session")


class HistorySection(Section):
    """``user-only`` stands for ``{user-only: true}``, and ``session`` for ``{session: true}``."""

    last: int | None = Field(default=None, ge=0)
    """Exchanges at most, the newest ones."""
    session: bool = False
    """The present session alone, where the data say which turns are of one session."""
    user_only: bool = Field(default=False, alias="user-only")
    """The questions alone, without any answer."""

    @model_validator(mode="before")
    @classmethod
    def _in_full(cls, value: Any) -> Any:
        if value in _WORDS:
            return {value: True}
        if not isinstance(value, Mapping) or not value:
            raise ValueError(f"{value!r:.60} says nothing that can be cut; expected {_FORMS}")
        return value


def with_views(
    policies: Mapping[str, Policy | None], choices: Sequence[Choice | None], faults: list[Fault]
) -> dict[str, Policy | None]:
    """Return *policies* by label, each with the history view that its choice sets; add faults to *faults*."""
    viewed = dict(policies)
    for index, choice in enumerate(choices):
        if choice is None or HISTORY not in choice.settings:
            continue
        value, policy = choice.settings[HISTORY], policies[choice.label]
        try:
            section = HistorySection.model_validate(value)
        except ValidationError as error:
            at = f"policies[{index}].{choice.settings_key}.{HISTORY}"
            faults += faults_of(error, HistorySection, value, at)
            continue
        view = HistoryView(last=section.last, session=section.session, user_only=section.user_only)
        viewed[choice.label] = policy and ViewedPolicy(policy=policy, view=view)
    return viewed
