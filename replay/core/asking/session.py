"""An adapter's session, around what is asked in it."""

from __future__ import annotations

import logging
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

    async def leave(error: BaseException | None) -> None:
        try:
            if error is None:  # not by sys.exc_info(), which also has what our caller is handling
                await opening.__aexit__(None, None, None)
            else:
                await opening.__aexit__(type(error), error, error.__traceback__)
        except AdapterError as failure:
            hide_in_error(failure)
            tell(logging.INFO, "session not closed", conversation=conversation.id, error=str(failure))
            unclosed(failure)

    try:
        yield session
    except BaseException as error:
        await leave(error)
        raise
    else:
        await leave(None)
