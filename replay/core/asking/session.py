"""An adapter's session, around what is asked in it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from replay.core.adapter import Adapter, ChatReply, ChatRequest, Session
from replay.core.conversation import Conversation
from replay.core.errors import AdapterError, AdapterReplyError
from replay.core.logs import log_event
from replay.core.safety.redaction import redact_error, redact_reply


@asynccontextmanager
async def open_session(
    adapter: Adapter, conversation: Conversation, unclosed: Callable[[AdapterError], None] = lambda _: None
) -> AsyncIterator[Session]:
    """
    Open a session of *adapter* for *conversation* until the block ends.

    Args:
        adapter: The system's adapter.
        conversation: The conversation that is replayed.
        unclosed: Called with the error if closing fails. That is logged and is no failure of the block, since
            everything was asked and answered by then.

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
            redact_error(failure)
            log_event(logging.INFO, "session not closed", conversation=conversation.id, error=str(failure))
            unclosed(failure)

    try:
        yield session
    except BaseException as error:
        await leave(error)
        raise
    else:
        await leave(None)


async def usable_reply(session: Session, request: ChatRequest) -> ChatReply:
    """
    Return the adapter's reply to *request*, with secrets replaced by asterisks.

    Raises:
        AdapterReplyError: it calls tools in place of a text, and whoever asks runs none.
        AdapterError: none came.
    """
    reply = redact_reply(await session.ask(request))
    if not reply.tool_calls or request.runs_tools or reply.text.strip():
        return reply
    calls = ", ".join(f"{call.name}({call.arguments})" for call in reply.tool_calls)
    error = AdapterReplyError(
        f"answered with a call of {calls} in the place of a text, and no tool is run here: leave tools "
        "out of extra, or set its tool_choice to none where the server adds them; or ask the program that "
        "runs them. Systems of a scenario may call tools whose results its section tools knows"
    )
    error.raw = reply.raw
    raise error
