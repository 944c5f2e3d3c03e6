"""
The bare loop that our engine is measured against: aiohttp on uvloop, msgspec for JSON, nothing else.

    python benchmarks/bare_client.py http://127.0.0.1:PORT/v1 [--requests 20000] [--connections 64]
                                     [--turns 5] [--stream]

As many tasks as connections play conversations of ``--turns`` questions, one after another, with the
system's own answers as history. A streamed answer is read as it comes (``iter_any``), each read is
time-stamped, the events are joined and decoded with typed structs once they are complete, and the text is
put together. Nothing is stored: what a tool adds to this is the price of what it does besides.

Prints one JSON object: requests, seconds, CPU seconds, quantiles of the latency in ms, those of what the
client added to the server's own time (for a server with ``--service-time-in-usage``), and with
``--stream`` those of the time to first token.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import sys
import time
from array import array
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import aiohttp
import msgspec

QUESTIONS = (
    "Who designed the old stone bridge near the harbour?",
    "When did she begin to work on it?",
    "Why did it take so many years to be finished?",
    "What did people in the town say about it?",
    "Is it still in use today, and by whom?",
)


class Usage(msgspec.Struct):
    prompt_tokens: int = 0


class Message(msgspec.Struct, frozen=True):
    content: str = ""


class Choice(msgspec.Struct):
    message: Message = Message()
    delta: Message = Message()


class Reply(msgspec.Struct):
    """A completion, or one chunk of it."""

    choices: list[Choice]
    usage: Usage | None = None


_decoder = msgspec.json.Decoder(Reply)
_encoder = msgspec.json.Encoder()
_list_decoder = msgspec.json.Decoder(list[Reply])


class Client:
    """The tasks' shared state: one session, what was measured."""

    def __init__(self, session: aiohttp.ClientSession, options: argparse.Namespace) -> None:
        self._session = session
        self._url = options.url + "/chat/completions"
        self._stream: bool = options.stream
        self._turns: int = options.turns
        self.left: int = options.requests
        self.latency_s = array("d")
        self.added_s = array("d")
        self.ttft_s = array("d")
        self.token_at: list[array[float]] = []

    async def play(self) -> None:
        """Conversations until all requests are made."""
        while self.left > 0:
            messages: list[dict[str, str]] = []
            for depth in range(self._turns):
                if self.left <= 0:
                    return
                self.left -= 1
                messages.append({"role": "user", "content": QUESTIONS[depth % len(QUESTIONS)]})
                answer = await (self._ask_streamed(messages) if self._stream else self._ask(messages))
                messages.append({"role": "assistant", "content": answer})

    async def _ask(self, messages: list[dict[str, str]]) -> str:
        body = _encoder.encode({"model": "fast", "messages": messages})
        sent = time.perf_counter()
        async with self._session.post(self._url, data=body) as response:
            content = await response.read()
            done = time.perf_counter()
        reply = _decoder.decode(content)
        self._note(sent, done, reply)
        return reply.choices[0].message.content

    async def _ask_streamed(self, messages: list[dict[str, str]]) -> str:
        body = _encoder.encode(
            {
                "model": "fast",
                "messages": messages,
                "stream": True,
                "stream_options": {"include_usage": True},
            }
        )
        reads: list[bytes] = []
        at = array("d")
        sent = time.perf_counter()
        async with self._session.post(self._url, data=body) as response:
            async for read in response.content.iter_any():
                at.append(time.perf_counter())
                reads.append(read)
        # One list of all events costs one call of the decoder.
        events = b"".join(reads).removeprefix(b"data: ").removesuffix(b"\n\ndata: [DONE]\n\n")
        chunks = _list_decoder.decode(b"[" + events.replace(b"\n\ndata: ", b",") + b"]")
        self._note(sent, at[-1], chunks[-1])
        self.ttft_s.append(at[0] - sent)
        return "".join([chunk.choices[0].delta.content for chunk in chunks if chunk.choices])

    def _note(self, sent: float, done: float, reply: Reply) -> None:
        self.latency_s.append(done - sent)
        if reply.usage:
            self.added_s.append(done - sent - reply.usage.prompt_tokens / 1e6)


def quantiles_ms(values: Sequence[float]) -> dict[str, float] | None:
    """p50, p99 and the largest of *values* (in seconds), in milliseconds."""
    if not values:
        return None
    ordered = sorted(values)
    return {
        name: round(1000 * ordered[min(len(ordered) - 1, int(q * len(ordered)))], 3)
        for name, q in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))
    }


async def play_all(options: argparse.Namespace) -> dict[str, Any]:
    """What one client process measured."""
    connector = aiohttp.TCPConnector(limit=0)
    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(
        connector=connector, headers=headers, cookie_jar=aiohttp.DummyCookieJar()
    ) as session:
        warm_up = Client(session, options)
        warm_up.left = min(options.requests, 10 * options.connections)
        client = Client(session, options)
        for one in (warm_up, client):
            begun, cpu = time.perf_counter(), time.process_time()
            async with asyncio.TaskGroup() as tasks:
                for _ in range(options.connections):
                    tasks.create_task(one.play())
        return {
            "client": "bare aiohttp",
            "requests": options.requests,
            "seconds": time.perf_counter() - begun,
            "cpu_s": time.process_time() - cpu,
            "latency_ms": quantiles_ms(client.latency_s),
            "added_ms": quantiles_ms(client.added_s),
            "ttft_ms": quantiles_ms(client.ttft_s),
            "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }


def run_on_fastest_loop(main: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Run *main* on uvloop where it is installed."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        from asyncio import new_event_loop
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url")
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--stream", action="store_true")
    options = parser.parse_args()
    measured = run_on_fastest_loop(lambda: play_all(options))
    sys.stdout.buffer.write(msgspec.json.encode(measured) + b"\n")


if __name__ == "__main__":
    main()
