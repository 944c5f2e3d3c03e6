"""Sessions that a system was asked to close and didn't: kept in the run, told with its numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from replay.core.errors import AdapterError
from replay.store.store import RunStore

if TYPE_CHECKING:
    from replay.play.play import Play

_UNCLOSED = "session-not-closed"
"""The event with one such session."""


def keep_unclosed(keep: Callable[[str, Any], None], play: Play, error: AdapterError) -> None:
    """*keep* as an event of the run that the session of *play* could not be closed, and why."""
    where = {"system": play.system.name, "policy": play.policy_name, "conversation": play.conversation.id}
    keep(_UNCLOSED, {**where, "message": str(error)})


def unclosed_remarks(store: RunStore) -> list[str]:
    """Return how many sessions of which system stayed open, in words, with the first one's reason."""
    messages: dict[str, list[str]] = {}
    for event in store.events(_UNCLOSED):
        messages.setdefault(event["system"], []).append(event["message"])
    return [
        f"{system}: {len(told):,} session{'' if len(told) == 1 else 's'} may still be open there; "
        f"the first: {told[0]}."
        for system, told in messages.items()
    ]
