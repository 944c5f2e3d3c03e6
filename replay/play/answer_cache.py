"""
Answers of systems, kept on disk: what was asked before in all its parts is not asked again.

A key holds whatever may change a reply: the system's name and settings, the conversation's own facts (which
templates may use), the question with its depth, history, prompts, steps and parameters, and which repeat it
is. A kept answer was hidden like every reply before it was kept, and nothing of a question is in the file.

Only for systems that are sent the history: where they keep it themselves, a reply depends on a session, and
one that was answered from here in part would be a session that nobody ever had.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

import msgspec

from replay.core.adapter import ChatReply, ChatRequest
from replay.core.asking.cached import read_reply, reply_bytes
from replay.core.conversation import Conversation
from replay.core.disk_cache import DiskCache, content_key
from replay.core.errors import AdapterError
from replay.core.lifetimes import in_thread

FILE = "answers.db"
"""What it is called in the folder that ``play.cache`` names."""

Asked = tuple[ChatReply | AdapterError, int, float, float]
"""As ``RetryingClient.ask`` gives it. What comes from the cache took 0 attempts."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnswerCache:
    """The answers of one system."""

    disk: DiskCache
    identity: tuple[str, ...]
    """The system's name, its adapter with all settings, and the version of the adapter's package."""
    _locks: WeakValueDictionary[bytes, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def reply(
        self,
        ask: Callable[[], Awaitable[Asked]],
        conversation: Conversation,
        request: ChatRequest,
        repeat: int,
        *,
        anew: bool,
    ) -> Asked:
        """
        Return the cached reply to *request*, else the one that *ask* gets; a successful reply is cached.

        Args:
            ask: Sends the request. Not called if a reply is cached, unless *anew*.
            conversation: The conversation that is replayed.
            request: The request that would be sent.
            repeat: The number of the repetition; each repetition has its own replies.
            anew: Ask in any case and overwrite the cached reply.

        Returns:
            The reply or failure, as *ask* gives it; of a cached reply the other numbers are 0.
        """
        key = self._key(conversation, request, repeat)
        # Several policies ask a conversation's first question alike, and at the same time.
        async with self._locks.setdefault(key, asyncio.Lock()):
            kept = None if anew else await in_thread(read_reply, self.disk, key)
            if kept is not None:
                return kept, 0, 0.0, 0.0
            asked = await ask()
            if isinstance(asked[0], ChatReply) and isinstance(asked[0].text, str):
                await in_thread(self.disk.put, {key: reply_bytes(asked[0])})
            return asked

    def _key(self, conversation: Conversation, request: ChatRequest, repeat: int) -> bytes:
        about = {name: getattr(conversation, name) for name in _SEEN}
        same = msgspec.structs.replace(request, keep_raw=False, traceparent=None)
        return content_key(self.identity, about, same, repeat)


_SEEN = ("id", "title", "section", "background", "passages", "metadata")
"""What an adapter may look at in a conversation: all but its turns."""
