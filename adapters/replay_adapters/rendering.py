"""Templates filled in for one question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from replay import (
    AdapterRefusedError,
    ChatRequest,
    Conversation,
    HistoryKeeper,
    Template,
    TextTemplate,
    template_variables,
)


def rendered(template: Template | TextTemplate, variables: Mapping[str, Any]) -> Any:
    """
    Return *template* filled in with *variables*.

    Raises:
        AdapterRefusedError: *template* can't be filled in for this conversation.
    """
    try:
        return template.render(variables)
    except ValueError as error:
        raise request_error(error) from error


def request_error(reason: object) -> AdapterRefusedError:
    """Return the error for a request that can't be made; nothing has been sent then."""
    return AdapterRefusedError(f"the request can't be made: {reason}", reached=False)


def question_variables(
    conversation: Conversation, request: ChatRequest, kept_by: HistoryKeeper, session_id: str | None
) -> Mapping[str, Any]:
    """Return the template variables for *request*; ``history`` is empty if the system keeps the history."""
    shown = request if kept_by == "client" else replace(request, history=())
    return template_variables(conversation, shown, session_id=session_id)
