"""
Replies as they came, kept compressed beside the turns where a scenario asks for it (``play: keep_raw``).

Apart from the turns, since a report reads all of those and never these. An ask's reply is posted before its
record, so that a durable record has its reply. Keys are hidden as in answers; what is longer than the
scenario's limit is cut, and the row says by how much.
"""

from __future__ import annotations

import zlib
from typing import Any

from replay.core.errors import RunError
from replay.core.raw_reply import RawReply
from replay.core.safety.redaction import redact_pieces
from replay.store.schema import to_bytes
from replay.store.writer import Statement

COLUMNS = "asked_at, conversation, system, policy, depth, attempt, outcome, size_bytes, cut_bytes"
LARGEST_BYTES = 500_000_000
"""Of a reply that is kept: more than a scenario can ask for."""
SELECT_RAW = f"SELECT {COLUMNS}, data FROM raw ORDER BY rowid"
_INSERT = f"INSERT INTO raw ({COLUMNS}, data) VALUES (?, CAST(? AS TEXT), ?, ?, ?, ?, ?, ?, ?, deflated(?))"


def insert_raw(reply: RawReply, *, at: str, most_bytes: int) -> Statement:
    """Return the statement that keeps *reply*, up to *most_bytes* of it."""
    # Hidden before it is cut, so that no half of a key is left at the end.
    text = reply.data.decode("utf-8", "surrogateescape")
    data = redact_pieces(text).encode("utf-8", "surrogateescape")
    kept = data[:most_bytes]
    where = (to_bytes(reply.conversation), reply.system, reply.policy, reply.depth, reply.attempt)
    return Statement(_INSERT, (at, *where, reply.outcome, len(reply.data), len(data) - len(kept), kept))


def raw_reply(row: tuple[Any, ...]) -> RawReply:
    """Return the raw reply in a row of ``SELECT_RAW``."""
    at, conversation, system, policy, depth, attempt, outcome, _, cut, data = row
    return RawReply(
        conversation=conversation,
        system=system,
        policy=policy,
        depth=depth,
        attempt=attempt,
        outcome=outcome,
        data=_inflated(data),
        cut_bytes=cut,
        asked_at=at,
    )


def _inflated(data: Any) -> bytes:
    """
    Return the bytes that ``deflated`` compressed to *data*.

    Raises:
        RunError: *data* is damaged, or decompresses to more than ``LARGEST_BYTES``.
    """
    inflating = zlib.decompressobj()
    try:
        reply = inflating.decompress(data, LARGEST_BYTES + 1)
    except (zlib.error, TypeError) as error:
        raise RunError(
            f"a reply that the run keeps can't be read: {error}; the database is damaged"
        ) from error
    if not inflating.eof or len(reply) > LARGEST_BYTES:
        raise RunError(
            "a reply that the run keeps is cut, or larger than any can be; the database is damaged"
        )
    return reply
