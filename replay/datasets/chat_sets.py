"""
Published sets of chats, which are chat logs with names of their own: ``chat`` with its settings made.

- ShareGPT, with what LLaMA-Factory and axolotl have added to it: a system prompt beside the messages, and
  messages that are calls of tools (https://llamafactory.readthedocs.io, data preparation, "sharegpt format").
- LMSYS-Chat-1M (Zheng et al., 2024) and WildChat (Zhao et al., 2024), as JSON Lines of their tables.
- MultiChallenge (Sirdeshmukh et al., 2025), ``benchmark_questions.jsonl``; made for ``ask: last``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from replay.core.conversation import Conversation
from replay.core.errors import DatasetError
from replay.datasets.chat import ChatReader
from replay.datasets.json_outline import has_only, outline

_TABLE = {"model", "turn", "language", "openai_moderation", "redacted"}
"""What LMSYS and WildChat both say of a conversation."""
_SHAREGPT = ChatReader(
    messages_field="conversations",
    role_field="from",
    text_field="value",
    roles={
        **dict.fromkeys(("gpt", "chatgpt", "bing", "bard"), "assistant"),
        "human": "user",
        "observation": "tool",
    },
    system_field="system",
)
_LMSYS = ChatReader(
    messages_field="conversation", id_field="conversation_id", metadata_fields=("model", "language")
)
# Its conversation_hash is that of the text, which comes more than once, and so can't be the id.
_WILDCHAT = ChatReader(
    messages_field="conversation", metadata_fields=("conversation_hash", "model", "language")
)
_MULTICHALLENGE = ChatReader(
    messages_field="CONVERSATION",
    id_field="QUESTION_ID",
    metadata_fields=("AXIS", "TARGET_QUESTION", "PASS_CRITERIA"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGptReader:
    """Reads ``{"conversations": [{"from": "human", "value": ...}, ...]}``, a line or list item each."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first line or item has such messages."""
        optional = {"id", "system", "tools", "images", "source", "model", "language", "category", "hash"}
        return _has(head, _SHAREGPT, set(), optional)

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """Yield one conversation a line or item. Raises a ``DatasetError`` if the file can't be opened."""
        yield from _SHAREGPT.read(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class LmsysReader:
    """Reads LMSYS-Chat-1M; model and language are in the metadata."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first line has the table's columns."""
        return _has(head, _LMSYS, {"conversation_id"}, _TABLE)

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """Yield one conversation a line or item. Raises a ``DatasetError`` if the file can't be opened."""
        yield from _LMSYS.read(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class WildChatReader:
    """Reads WildChat, ids by file and line; the hash, model and language are in the metadata."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first line has the table's columns."""
        more = {"timestamp", "detoxify_moderation", "toxic", "state", "country", "hashed_ip", "header"}
        return _has(head, _WILDCHAT, {"conversation_hash"}, _TABLE | more)

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """Yield one conversation a line or item. Raises a ``DatasetError`` if the file can't be opened."""
        yield from _WILDCHAT.read(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiChallengeReader:
    """Reads MultiChallenge; its axis, target question and pass criteria are in the metadata."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Return whether the first line has the benchmark's fields."""
        return _has(head, _MULTICHALLENGE, {"QUESTION_ID"}, {"AXIS", "TARGET_QUESTION", "PASS_CRITERIA"})

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """Yield one conversation a line or item. Raises a ``DatasetError`` if the file can't be opened."""
        yield from _MULTICHALLENGE.read(path)


def _has(head: bytes, reader: ChatReader, required: set[str], optional: set[str]) -> bool:
    """Return whether the first row has *reader*'s messages, the *required* fields and no unknown ones."""
    found = outline(head)
    messages = reader.messages_field
    return any(
        has_only(found.get(at), required={messages, *required}, optional=optional)
        and {reader.role_field, reader.text_field} <= found.get(f"{at}.{messages}[]", frozenset())
        for at in ("", "[]")
    )
