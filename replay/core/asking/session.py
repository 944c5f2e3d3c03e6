"""An adapter's session, around what is asked in it."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from replay.core.adapter import Adapter, Session
from replay.core.conversation import Conversation
from replay.core.errors import AdapterError
from replay.core.logs import tell
from replay.core.secret_hiding import hide_in_error


@asynccontextmanager
async def opened_session(
    adapter: Adapter, conversation: Conversation, unclosed: Callable[[AdapterError], None] = lambda _: None
) -> AsyncIterator[Session]:
    """
    A session of *adapter* for *conversation*.

    Where it can't be closed all was asked and answered by then, so that is no failure of the block: it is
    logged, and handed to *unclosed*.

    Raises:
        AdapterError: it can't be opened.
    """
    opening = adapter.session(conversation)
    session = await opening.__aenter__()
    try:
        yield session
    finally:
        try:
            await opening.__aexit__(*sys.exc_info())
        except AdapterError as error:
            hide_in_error(error)
            tell(logging.INFO, "session not closed", conversation=conversation.id, error=str(error))
            unclosed(error)
