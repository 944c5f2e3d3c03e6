"""Templates filled in for one question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replay import AdapterRefusedError, Template, TextTemplate


def rendered(template: Template | TextTemplate, variables: Mapping[str, Any]) -> Any:
    """
    Raises:
        AdapterRefusedError: *template* can't be filled in for this conversation.
    """
    try:
        return template.render(variables)
    except ValueError as error:
        raise request_error(error) from error


def request_error(reason: object) -> AdapterRefusedError:
    """The error for a request that can't be made; nothing has been sent then."""
    return AdapterRefusedError(f"the request can't be made: {reason}", reached=False)
