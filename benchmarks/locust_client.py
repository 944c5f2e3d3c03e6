"""
Locust's ``FastHttpUser`` doing what ``bare_client.py`` does; run by Locust, not by Python:

    locust -f benchmarks/locust_client.py --headless --host http://127.0.0.1:PORT -u 64 -r 64
           --only-summary [--requests 20000] [--turns 5] [--streamed]

Each user plays conversations of ``--turns`` questions with the system's own answers as history. Locust ends
itself after ``--requests`` measured ones and prints one JSON object like that of ``bare_client.py`` as the
last line of its standard output. Imports nothing of ours, so that it runs in Locust's own environment.
"""

from __future__ import annotations

import json
import resource
import time
from typing import Any

import gevent
from locust import FastHttpUser, events, task
from locust.exception import StopUser

QUESTIONS = (
    "Who designed the old stone bridge near the harbour?",
    "When did she begin to work on it?",
    "Why did it take so many years to be finished?",
    "What did people in the town say about it?",
    "Is it still in use today, and by whom?",
)
WARM_UP_EACH = 10


class _Measured:
    """What all users measured together."""

    def __init__(self) -> None:
        self.warm_up = self.left = 0
        self.begun = self.cpu = self.ended = self.cpu_ended = 0.0
        self.quitting = False
        self.latency_s: list[float] = []
        self.added_s: list[float] = []

    def note(self, latency_s: float, service_us: int) -> bool:
        """Whether there is more to be measured."""
        if self.warm_up > 0:
            self.warm_up -= 1
            if self.warm_up == 0:
                self.begun, self.cpu = time.perf_counter(), time.process_time()
            return True
        if self.left == 0:
            return False
        self.left -= 1
        self.latency_s.append(latency_s)
        self.added_s.append(latency_s - service_us / 1e6)
        if self.left == 0:
            self.ended, self.cpu_ended = time.perf_counter(), time.process_time()
        return self.left > 0


measured = _Measured()


@events.init_command_line_parser.add_listener
def _(parser: Any) -> None:
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--streamed", action="store_true")


@events.test_start.add_listener
def _(environment: Any, **_: Any) -> None:
    options = environment.parsed_options
    measured.left = options.requests
    measured.warm_up = WARM_UP_EACH * options.num_users


@events.quitting.add_listener
def _(environment: Any, **_: Any) -> None:
    failed = environment.stats.total.num_failures
    if failed or not measured.latency_s:
        print(json.dumps({"client": "locust", "error": f"{failed} requests failed"}), flush=True)
        return
    result = {
        "client": "locust",
        "requests": len(measured.latency_s),
        "seconds": measured.ended - measured.begun,
        "cpu_s": measured.cpu_ended - measured.cpu,
        "latency_ms": _quantiles_ms(measured.latency_s),
        "added_ms": _quantiles_ms(measured.added_s),
        "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(result), flush=True)


def _quantiles_ms(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    at = {"p50": 0.5, "p99": 0.99, "max": 1.0}
    return {
        name: round(1000 * ordered[min(len(ordered) - 1, int(q * len(ordered)))], 3) for name, q in at.items()
    }


class ChatUser(FastHttpUser):
    """Plays one conversation per task."""

    @task
    def converse(self) -> None:
        options = self.environment.parsed_options
        messages: list[dict[str, str]] = []
        for depth in range(options.turns):
            messages.append({"role": "user", "content": QUESTIONS[depth % len(QUESTIONS)]})
            sent = time.perf_counter()
            answer, usage = (self._ask_streamed if options.streamed else self._ask)(messages)
            if not measured.note(time.perf_counter() - sent, usage["prompt_tokens"]):
                if not measured.quitting:
                    measured.quitting = True
                    gevent.spawn(self.environment.runner.quit)
                raise StopUser
            messages.append({"role": "assistant", "content": answer})

    def _ask(self, messages: list[dict[str, str]]) -> tuple[str, dict[str, int]]:
        body = {"model": "fast", "messages": messages}
        with self.client.post("/v1/chat/completions", json=body, catch_response=True) as response:
            reply = response.json()
        return reply["choices"][0]["message"]["content"], reply["usage"]

    def _ask_streamed(self, messages: list[dict[str, str]]) -> tuple[str, dict[str, int]]:
        body = {
            "model": "fast",
            "messages": messages,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        texts, usage = [], {"prompt_tokens": 0}
        # Locust's own way to read a stream: line by line out of blocks of a kibibyte.
        for line in self.client.iter_lines("/v1/chat/completions", method="POST", json=body):
            if line.startswith("data: {"):
                chunk = json.loads(line[6:])
                texts += [choice["delta"].get("content", "") for choice in chunk["choices"]]
                usage = chunk.get("usage") or usage
        return "".join(texts), usage
