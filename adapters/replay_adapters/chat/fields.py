"""
The fields of a request that come from settings: rendered once per conversation where that is enough.

Jinja takes longer for a template than all else that an ask needs. Few templates of a system message or of
more fields look at anything but the conversation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment

from replay import ChatRequest, Conversation, Template, TextTemplate, template_variables
from replay_adapters.rendering import rendered

CONVERSATION = frozenset({"conversation", "passage", "passages"})
"""Variables that stay the same from turn to turn."""

Changes = Literal["never", "with the conversation", "with the turn"]


class RequestFields:
    """The system message and the extra fields of a body."""

    def __init__(self, system: str | None, extra: Mapping[str, Any]) -> None:
        """
        Raises:
            ValueError: a text is not a template.
        """
        self._system = TextTemplate(system) if system else None
        self._extra = Template(extra)
        used = _variables(system or "") | _variables(extra)
        self.change: Changes = "never" if not used else "with the turn"
        if used and used <= CONVERSATION:
            self.change = "with the conversation"

    def render(self, conversation: Conversation, request: ChatRequest) -> tuple[str, dict[str, Any]]:
        """
        System message (empty for none) and extra fields for *request*.

        Raises:
            AdapterRefusedError: a template can't be filled in for this conversation.
        """
        variables = template_variables(
            conversation, question=request.question, history=request.history, depth=request.depth
        )
        system = rendered(self._system, variables) if self._system else ""
        return system, rendered(self._extra, variables)


def _variables(value: Any) -> frozenset[str]:
    """The names that the templates in *value* use."""
    if isinstance(value, str):
        return frozenset(find_undeclared_variables(ImmutableSandboxedEnvironment().parse(value)))
    if isinstance(value, Mapping):
        return frozenset().union(*map(_variables, value.values()))
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return frozenset().union(*map(_variables, value))
    return frozenset()
