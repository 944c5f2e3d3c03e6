"""
Under which ids the spans of a run are known.

They are hashes of what they are of, so that an ask, its record, a late score and a resumed run come to the
same ones without a word between them. A play of a conversation is a trace; whether it is sampled follows from
its id, as in OpenTelemetry's ``TraceIdRatioBased``, so that whole conversations are, and servers with the
same ratio take the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple


class PlayTrace(NamedTuple):
    """The trace of one conversation, played with one system under one policy."""

    id: str
    """32 hexadecimal digits."""
    sampled: bool

    def span(self, depth: int = 0, ask: int | str | None = None, started_at: float | None = None) -> str:
        """
        Return the id (16 hexadecimal digits) of the play, its turn at *depth*, or the turn's *ask* (from 0).

        A turn that is asked again in a later session of the run, which *started_at* another time, is another.
        """
        return _hex_digest(8, self.id, depth, ask, started_at if depth else None)

    def traceparent(self, depth: int, ask: int, started_at: float | None) -> str:
        """Return the ``traceparent`` header (W3C Trace Context) of one ask."""
        return f"00-{self.id}-{self.span(depth, ask, started_at)}-{self.sampled:02d}"


@dataclass(frozen=True, slots=True)
class RunTraces:
    """The traces of a run."""

    run: str
    """The run's own id."""
    sample: float
    """Share of the plays that are sampled, in [0, 1]."""

    def of(self, conversation: str, system: str, policy: str) -> PlayTrace:
        id = _hex_digest(16, self.run, conversation, system, policy)
        return PlayTrace(id, int(id[16:], 16) < self.sample * 2**64)


def _hex_digest(size: int, *parts: object) -> str:
    text = "\0".join(map(str, parts))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()
