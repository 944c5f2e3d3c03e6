"""Chat logs for tests, a line each, and what is read from them."""

from __future__ import annotations

from replay.datasets.chat import ChatReader
from tests.datasets.files import json_lines_file, only, pairs as pairs


def user(content):
    return {"role": "user", "content": content}


def assistant(content, **more):
    return {"role": "assistant", "content": content, **more}


def system(content, role="system"):
    return {"role": role, "content": content}


CALL = assistant(
    None, tool_calls=[{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
)


RESULT = {"role": "tool", "tool_call_id": "c", "content": "42"}


PICTURE = {"type": "image_url", "image_url": {"url": "x"}}


def read(tmp_path, *messages, **more):
    return only(ChatReader(), json_lines_file(tmp_path / "log.jsonl", [{"messages": messages, **more}]))
