"""
A Chat Completions server that is much faster than the clients measured against it.

    python benchmarks/fast_server.py [--port 0] [--answers 20000] [--answer-words 20] [--delay-ms 20]
                                     [--chunks 64 --chunk-gap-ms 2] [--service-time-in-usage]
                                     [--data FILE]

Prints its address (``http://127.0.0.1:PORT/v1``) when it accepts connections, and ends with SIGTERM, SIGINT
or after ``--at-most-s``. HTTP/1.1 with keep-alive; requests need a Content-Length, may come in any pieces
and may be pipelined. Each reply has the next of ``--answers`` different answers, made up
(``varied_texts.py``) or those of the conversations in ``--data``; all around it is made beforehand. A body
with ``"stream": true`` gets server-sent events as OpenAI sends them: ``--chunks`` deltas of a word each, one
with the finish reason, one with the usage, ``[DONE]``.

``GET /stats`` tells how many completions were served and the quantiles of the server's own time, from
the moment a request was read to the moment its last byte was written (``?reset`` starts anew), so that what
a client adds can be told from what the server took. ``--service-time-in-usage`` puts that time, in
microseconds, in the place of ``prompt_tokens``: for each request alone, in any client that keeps the usage.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import resource
import signal
import sys
import time
from array import array
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from canned_replies import Replies
from varied_texts import made_up_answers, recorded_answers

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)[ \t]*\r\n", re.IGNORECASE)
_STREAM = re.compile(rb'"stream"\s*:\s*true')
"""A member of the body; inside of a text its quotes would be escaped."""
SERVICE_TIMES_KEPT = 2_000_000
CHUNKS_AT_ONCE = 8
"""Chunks in one write where there is no gap between them."""


class Stats:
    """What was served since the last reset."""

    def __init__(self) -> None:
        self.connections = self.most_connections = 0
        self.reset()

    def reset(self) -> None:
        self.requests = 0
        self.most_connections = self.connections
        self.service_s = array("d")
        self._cpu_s = time.process_time()

    def opened(self) -> None:
        self.connections += 1
        self.most_connections = max(self.most_connections, self.connections)

    def served(self, service_s: float) -> None:
        self.requests += 1
        if len(self.service_s) < SERVICE_TIMES_KEPT:
            self.service_s.append(service_s)

    def summary(self) -> dict[str, Any]:
        times = sorted(self.service_s)
        quantiles = {
            name: times[min(len(times) - 1, int(q * len(times)))] if times else None
            for name, q in (("p50_s", 0.5), ("p99_s", 0.99), ("max_s", 1.0))
        }
        return {
            "requests": self.requests,
            "connections": self.connections,
            "most_connections": self.most_connections,
            "service": quantiles,
            "cpu_s": time.process_time() - self._cpu_s,
        }


class Connection(asyncio.Protocol):
    """One client's connection; serves its requests in order."""

    def __init__(self, options: argparse.Namespace, replies: Replies, stats: Stats) -> None:
        self._options = options
        self._delay_s: float = options.delay_ms / 1000
        self._replies = replies
        self._stats = stats
        self._loop = asyncio.get_running_loop()
        self._transport: Any = None
        self._unread = b""
        self._busy = False
        self._read_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._stats.opened()

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._stats.connections -= 1

    def data_received(self, data: bytes) -> None:
        self._unread = self._unread + data if self._unread else data
        if not self._busy:
            self._serve_what_is_read()

    def _serve_what_is_read(self) -> None:
        data, begin = self._unread, 0
        while not self._busy and self._transport is not None:
            end_of_head = data.find(b"\r\n\r\n", begin)
            if end_of_head < 0:
                break
            length = _LENGTH.search(data, begin, end_of_head + 2)
            end = end_of_head + 4 + (int(length[1]) if length else 0)
            if end > len(data):
                break
            if data.startswith(b"POST ", begin) and length:
                self._complete(_STREAM.search(data, end_of_head, end) is not None)
            else:
                self._other(data[begin : data.find(b"\r\n", begin)])
            begin = end
        self._unread = data[begin:]

    def _complete(self, stream: bool) -> None:
        self._read_at = time.perf_counter()
        if stream:
            self._busy = True
            pieces = self._pieces()
            if self._delay_s:
                self._loop.call_later(self._delay_s, self._stream, pieces, self._loop.time() + self._delay_s)
            else:
                self._stream(pieces, self._loop.time())
        elif self._delay_s:
            self._busy = True
            self._loop.call_later(self._delay_s, self._answer)
        else:
            self._answer()

    def _answer(self) -> None:
        if self._transport is None:
            return
        service_s = time.perf_counter() - self._read_at
        self._transport.write(self._replies.whole(self._told(service_s)))
        self._stats.served(service_s)
        self._go_on()

    def _pieces(self) -> Iterator[bytes]:
        """A stream, write by write, without its end."""
        deltas = self._replies.deltas()
        at_once = 1 if self._options.chunk_gap_ms else CHUNKS_AT_ONCE
        head = self._replies.stream_head
        while together := b"".join(islice(deltas, at_once)):
            yield head + together
            head = b""

    def _stream(self, pieces: Iterator[bytes], due: float) -> None:
        if self._transport is None:
            return
        piece = next(pieces, None)
        if piece is None:
            service_s = time.perf_counter() - self._read_at
            self._transport.write(self._replies.last(self._told(service_s)))
            self._stats.served(service_s)
            self._go_on()
            return
        self._transport.write(piece)
        due += self._options.chunk_gap_ms / 1000
        if self._options.chunk_gap_ms:
            self._loop.call_at(due, self._stream, pieces, due)
        else:
            self._loop.call_soon(self._stream, pieces, due)

    def _told(self, service_s: float) -> int:
        return min(99_999_999, int(service_s * 1e6)) if self._options.service_time_in_usage else 100

    def _go_on(self) -> None:
        if self._busy:
            self._busy = False
            if self._unread:
                self._serve_what_is_read()

    def _other(self, line: bytes) -> None:
        status, value = "404 Not Found", {"error": {"message": "POST a chat completion, or GET /stats"}}
        if line.startswith(b"GET /stats"):
            status, value = "200 OK", self._stats.summary()
            if b"?reset" in line:
                self._stats.reset()
        elif line.startswith(b"POST "):
            status, value = "411 Length Required", {"error": {"message": "send a Content-Length"}}
        body = json.dumps(value).encode()
        head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self._transport.write(head.encode() + body)
        if status.startswith("411"):
            self._transport.close()  # where the body ends is not known


async def serve(options: argparse.Namespace) -> None:
    """Serve until told to stop."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    answers = (
        recorded_answers(options.data, options.turns)
        if options.data
        else made_up_answers(options.answers, options.answer_words)
    )
    replies = Replies(answers, chunks=options.chunks)
    stats = Stats()
    server = await loop.create_server(
        lambda: Connection(options, replies, stats), "127.0.0.1", options.port, backlog=4096
    )
    port = server.sockets[0].getsockname()[1]
    print(f"http://127.0.0.1:{port}/v1", flush=True)
    try:
        async with asyncio.timeout(options.at_most_s):
            await stop.wait()
    except TimeoutError:
        print(f"ended after --at-most-s {options.at_most_s:g}", file=sys.stderr)
    finally:
        server.close()


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--port", type=int, default=0)
    found.add_argument("--answers", type=int, default=20_000, help="different ones")
    found.add_argument("--answer-words", type=int, help="of each; else 20 in the mean")
    found.add_argument("--data", metavar="FILE", type=Path, help="the answers of its conversations instead")
    found.add_argument("--turns", type=int, default=5, help="of each conversation in that file")
    found.add_argument("--delay-ms", type=float, default=0.0, help="before an answer, or its first chunk")
    found.add_argument("--chunks", type=int, default=64, help="of a streamed answer, a word each")
    found.add_argument("--chunk-gap-ms", type=float, default=0.0)
    found.add_argument("--service-time-in-usage", action="store_true")
    found.add_argument("--at-most-s", type=float, default=3600.0)
    return found


def main() -> None:
    options = parser().parse_args()
    if min(options.answer_words or 1, options.answers, options.chunks, options.turns) < 1:
        sys.exit("--answers, --answer-words, --chunks and --turns are positive whole numbers")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        from uvloop import new_event_loop
    except ImportError:
        from asyncio import new_event_loop
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(serve(options))


if __name__ == "__main__":
    main()
