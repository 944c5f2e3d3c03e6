"""
Replies as they came, as JSON lines.

A reply that is UTF-8 is in ``text``, any other in ``base64``.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable
from typing import IO

from replay.core.raw_reply import RawReply
from replay.statistics.turn_frame import encodable


def export_raw(replies: Iterable[RawReply], stream: IO[bytes]) -> int:
    """Write a line for each of *replies*, and return their number."""
    count = 0
    for reply in replies:
        line = {
            "asked_at": reply.asked_at,
            "conversation": reply.conversation,
            "system": reply.system,
            "policy": reply.policy,
            "depth": reply.depth,
            "attempt": reply.attempt,
            "outcome": reply.outcome,
            "cut_bytes": reply.cut_bytes,
            **_content(reply.data),
        }
        stream.write(json.dumps(encodable(line), ensure_ascii=False).encode() + b"\n")
        count += 1
    return count


def _content(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode("ascii")}
