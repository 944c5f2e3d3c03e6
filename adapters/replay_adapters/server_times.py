"""
What a server says in its reply that it took: queue, prefill, decode, and all of it.

Looked for in the places where known servers put it, the first that has something:

- vLLM with ``--enable-per-request-metrics``: ``metrics``, in ms (its docs/features/per_request_metrics.md);
- llama.cpp: ``timings``, in ms (its tools/server/README.md);
- Groq: ``usage``, in a stream ``x_groq.usage``, in s; its ``total_time`` is without the queue
  (groq-typescript, src/resources/completions.ts);
- Cerebras: ``time_info``, in s (https://inference-docs.cerebras.ai/api-reference/chat-completions);
- LocalAI asked with the header ``Extra-Usage``: ``usage``, in ms (https://github.com/mudler/LocalAI/discussions/11727);
- SGLang's own API: ``meta_info``, in s (its python/sglang/srt/managers/tokenizer_manager.py);
- Ollama's own API: at the top, in ns; its Chat Completions have none (its docs/api.md);
- headers: Server-Timing (https://www.w3.org/TR/server-timing/), whose names are anybody's, Text Generation
  Inference's (its router/src/server.rs), ``openai-processing-ms``, Envoy's (of Azure's services); all in ms.

A stream's headers were sent before its end, so that a total or a time of decoding in them says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from replay import ServerTimes, WireTimes
from replay_adapters.http.reply import HttpReply
from replay_adapters.json_reply import ReplyPath

ROUNDING_S = 1e-3
"""Servers count in whole milliseconds, so that theirs may be longer than ours by so much."""
UNITS_S = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
PARTS = ("queue", "prefill", "decode", "total")
HEADER = "header:"
LAST_EVENTS = 3
"""Of a stream: what it took stands in one of them, where it does."""
KEY = re.compile(f"({'|'.join(PARTS)})_({'|'.join(UNITS_S)})")

_IN_S = {"queue_time": "queue", "prompt_time": "prefill", "completion_time": "decode"}
_BODIES: Sequence[tuple[str, str, Mapping[str, str]]] = (
    (
        "metrics",
        "ms",
        {"queue_time_ms": "queue", "time_to_first_token_ms": "prefill", "generation_time_ms": "decode"},
    ),
    ("timings", "ms", {"prompt_ms": "prefill", "predicted_ms": "decode"}),
    ("time_info", "s", {**_IN_S, "total_time": "total"}),
    ("usage", "s", _IN_S),
    ("usage", "ms", {"timing_prompt_processing": "prefill", "timing_token_generation": "decode"}),
    ("meta_info", "s", {"queue_time": "queue", "e2e_latency": "total"}),
    ("", "ns", {"prompt_eval_duration": "prefill", "eval_duration": "decode", "total_duration": "total"}),
)
"""Field of the body, unit, and the part that each name in it stands for."""
_IN_USAGE = frozenset(name for field, _, parts in _BODIES if field == "usage" for name in parts)
_FIELDS = {"x_groq", *(name for field, _, parts in _BODIES for name in ([field] if field else parts))} - {
    "usage"
}
"""Fields of a body, ``usage`` aside, that say that something is told."""
_NAMES = {"queue": "queue", "prefill": "prefill", "prompt": "prefill", "decode": "decode", "total": "total"}
"""Names in Server-Timing that say what they are."""
_TOTALS = ("openai-processing-ms", "x-envoy-upstream-service-time")
_METRIC = re.compile(r'([\w!#$%&\'*+.^`|~-]+)((?:[^,"]|"(?:[^"\\]|\\.)*")*)')
_DURATION = re.compile(r';\s*dur\s*=\s*"?([^";,\s]*)', re.IGNORECASE)

Told = dict[str, tuple[Any, float]]
"""What is said of each part, with its unit in seconds."""


def find_in_body(body: Any) -> Told:
    """Return what *body*, a reply or the last events of one, says of its times in a known place."""
    if isinstance(body, dict) and len(body) == 2 and body.keys() == {"event", "data"}:
        body = body["data"]  # of a stream whose events have names
    # Most replies say nothing, which is to cost nothing.
    if not isinstance(body, dict) or (
        body.keys().isdisjoint(_FIELDS)
        and (not isinstance(usage := body.get("usage"), dict) or usage.keys().isdisjoint(_IN_USAGE))
    ):
        return {}
    groq = body.get("x_groq")
    for source in (body, groq) if isinstance(groq, dict) else (body,):
        for field, unit, parts in _BODIES:
            found = source.get(field) if field else source
            if not isinstance(found, dict):
                continue
            told = {part: found[name] for name, part in parts.items() if found.get(name) is not None}
            if told:
                return {part: (value, UNITS_S[unit]) for part, value in told.items()}
    return {}


def find_in_headers(headers: Mapping[str, str], *, whole: bool) -> Told:
    """Return what the *headers* of a reply, in one piece if *whole*, say of its times."""
    timings = _lines(headers, "Server-Timing")
    told: dict[str, Any] = {}
    for name, rest in _METRIC.findall(",".join(timings)) if timings else ():
        if (part := _NAMES.get(name.lower())) and (duration := _DURATION.search(rest)):
            told.setdefault(part, duration[1])
    if not told and "x-compute-type" in headers:
        told = {part: headers.get(f"x-{part}-time") for part in ("queue", "total")}
    if not told:
        total = next(filter(None, map(headers.get, _TOTALS)), None)
        if total is None:
            return {}
        told = {"total": total}
    return {
        part: (_number(value), UNITS_S["ms"])
        for part, value in told.items()
        if value is not None and (whole or part in ("queue", "prefill"))
    }


def _lines(headers: Mapping[str, str], name: str) -> Sequence[str]:
    every: Callable[[str, Sequence[str]], Sequence[str]] | None = getattr(headers, "getall", None)
    return every(name, ()) if every else tuple(filter(None, [headers.get(name)]))


def _number(text: Any) -> Any:
    """Return a header's *text* as a number, or as it is where it is none."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return text


def plausible_times(told: Told, times: WireTimes) -> ServerTimes | None:
    """
    Return what is *told* as far as it can be so in an ask that took *times*; None where nothing is told.

    Of parts that are longer together than the ask, none is taken.
    """
    if not told:
        return None
    most_s = times.done - times.sent + ROUNDING_S
    known_s = {
        part: value * unit_s
        for part, (value, unit_s) in told.items()
        if type(value) in (int, float) and 0 <= value <= most_s / unit_s
    }
    parts_s = [known_s[part] for part in PARTS[:-1] if part in known_s]
    if sum(parts_s) > most_s + ROUNDING_S * len(parts_s):
        known_s = {part: value_s for part, value_s in known_s.items() if part == "total"}
    return ServerTimes(
        **{f"{part}_s": value_s for part, value_s in known_s.items()}, dropped=len(told) - len(known_s)
    )


def add_server_times(reply: HttpReply, body: Any, times: WireTimes, *, whole: bool) -> WireTimes:
    """Return *times* with what *reply* says: its *body*, or else its headers."""
    told = find_in_body(body) or find_in_headers(reply.headers, whole=whole)
    return replace(times, server=plausible_times(told, times)) if told else times


class ServerTimePaths:
    """Where a system says its times, as its settings have it; without them the known places are looked at."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        """
        Take *paths*: by part and unit, as in ``queue_ms``, a JMESPath, or ``header:`` and a header's name.

        Raises:
            ValueError: a key is of another form, a part is there twice, or a path is no JMESPath.
        """
        self._find: dict[str, tuple[float, Callable[[HttpReply, Any], Any]]] = {}
        for key, path in paths.items():
            name = KEY.fullmatch(key)
            if name is None or name[1] in self._find:
                what = f"one of {', '.join(PARTS)} with its unit, each once, as in queue_ms or total_s"
                raise ValueError(f"server_times.{key}: write {what}")
            find: Callable[[HttpReply, Any], Any]
            if path.startswith(HEADER):
                find = partial(_header, path.removeprefix(HEADER).strip())
            else:
                find = partial(_at, ReplyPath(path, f"server_times.{key}"))
            self._find[name[1]] = UNITS_S[name[2]], find

    def add_to(self, reply: HttpReply, values: Sequence[Any], times: WireTimes, *, whole: bool) -> WireTimes:
        """Return *times* with what the last of *values*, which *reply* brought, or its headers say."""
        if not self._find:
            body = next(filter(find_in_body, reversed(values[-LAST_EVENTS:])), None)
            return add_server_times(reply, body, times, whole=whole)
        told: Told = {}
        for value in values[-LAST_EVENTS:]:
            found = {part: (find(reply, value), unit_s) for part, (unit_s, find) in self._find.items()}
            told |= {part: one for part, one in found.items() if one[0] is not None}
        return replace(times, server=plausible_times(told, times)) if told else times


def _header(name: str, reply: HttpReply, value: Any) -> Any:
    return _number(reply.headers.get(name))


def _at(path: ReplyPath, reply: HttpReply, value: Any) -> Any:
    return path.search(value)
