"""
What a client adds to the server's own time, and how late an open-loop generator is.

    python benchmarks/latency.py [--rounds 3] [--requests 10000] [--locust /path/to/locust]
                                 [--parts whole,stream,arrivals]

``whole``: 64 connections to a server that answers after 20 ms. ``stream``: answers of 64 chunks, one every
2 ms. Added latency is the client's latency of a request minus the server's own time for that same
request, which the server puts into the reply's usage, so that its timers are not charged to the client.
Clients are the bare aiohttp loop, our engine under ``pred`` without and with drift detection and under
``rewrite`` (the coreference worker on the client's cores too), and Locust when given.

``arrivals``: conversations of one turn arrive at ``--rate`` a second, evenly and by chance (Poisson);
lateness is from when an ask was due to when it was sent.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from side_by_side import (
    BASELINE,
    Client,
    Cores,
    Load,
    Spread,
    add_options,
    bare,
    chosen,
    cores,
    locust,
    our_load_is_missing,
    our_stream_is_missing,
    ours,
    ratios,
    rounds,
    run_client,
    server,
    table,
)

PARTS = ("whole", "stream", "arrivals")


def told(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def clients(options: argparse.Namespace, stream: bool) -> list[Client]:
    """All that take part."""
    missing = our_stream_is_missing() if stream else None
    found = [bare()]
    if missing is None:
        found += [
            ours("convreplay pred (no drift)"),
            ours("convreplay pred", "--detect"),
            ours("convreplay rewrite", "--policy", "rewrite"),
        ]
    else:
        print(f"\n{missing}")
    if options.locust:
        found.append(locust(options.locust))
    return chosen(found, options.only)


def milliseconds(values: Sequence[float]) -> str:
    return Spread.of(values).shown(".2f")


def added(options: argparse.Namespace, on: Cores, stream: bool) -> None:
    """The table of added latencies of one kind of answers."""
    load = Load(
        requests=max(options.connections, options.requests // (4 if stream else 1)),
        connections=options.connections,
        turns=options.turns,
        stream=stream,
    )
    flags = ["--service-time-in-usage", "--delay-ms", str(options.delay_ms)]
    if stream:
        flags += ["--chunks", str(options.chunks), "--chunk-gap-ms", str(options.chunk_gap_ms)]
    with server(*flags, on=on.server) as fast:
        measured = rounds(
            clients(options, stream),
            options.rounds,
            lambda client: run_client(client, fast.url, load, on.client, options.at_most_s),
            told,
        )
        busy = fast.stats()
    what = f", then {options.chunks} chunks {options.chunk_gap_ms:g} ms apart" if stream else ""
    print(f"\n{options.delay_ms:g} ms{what}: {load.requests:,} requests of each, {options.rounds} rounds\n")
    worst = ratios(measured, lambda result: result["added_ms"]["p99"])
    middle = ratios(measured, lambda result: result["added_ms"]["p50"])
    rows = [
        (
            name,
            milliseconds([one["added_ms"]["p50"] for one in results]),
            f"{middle[name].middle:.2f}",
            milliseconds([one["added_ms"]["p99"] for one in results]),
            f"{worst[name].middle:.2f}",
        )
        for name, results in measured.items()
    ]
    head = ("client", "added p50 ms", f"over {BASELINE}", "added p99 ms", f"over {BASELINE}")
    print("\n".join(table(head, rows)))
    served, cpu_s = busy["requests"], busy["cpu_s"]
    print(f"\nThe server spent {1e6 * cpu_s / max(1, served):.0f} us of CPU on each request.", flush=True)


def arrivals(options: argparse.Namespace, on: Cores) -> None:
    """The table of lateness under open profiles."""
    missing = our_load_is_missing()
    if missing:
        print(f"\n{missing}")
        return
    count = int(options.rate * options.seconds)
    load = Load(requests=count, connections=options.connections, turns=1)

    def profile(kind: str) -> str:
        return json.dumps({"profile": kind, "rate": options.rate, "conversations": count})

    taking_part = [ours(kind, "--load", profile(kind)) for kind in ("constant", "poisson")]
    with server("--service-time-in-usage", "--delay-ms", str(options.delay_ms), on=on.server) as fast:
        measured: dict[str, list[Any]] = rounds(
            taking_part,
            options.rounds,
            lambda client: run_client(client, fast.url, load, on.client, options.at_most_s),
            told,
        )
    print(f"\n{options.rate:g} arrivals a second for {options.seconds:g} s, {options.rounds} rounds\n")
    rows = [
        (
            name,
            milliseconds([one["lateness_ms"]["p50"] for one in results]),
            milliseconds([one["lateness_ms"]["p99"] for one in results]),
            milliseconds([one["lateness_ms"]["max"] for one in results]),
        )
        for name, results in measured.items()
    ]
    print("\n".join(table(("profile", "lateness p50 ms", "p99 ms", "max ms"), rows)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_options(parser, requests=10_000)
    parser.add_argument("--parts", default=",".join(PARTS), help="with commas between")
    parser.add_argument("--delay-ms", type=float, default=20.0)
    parser.add_argument("--chunks", type=int, default=64, help="of a streamed answer")
    parser.add_argument("--chunk-gap-ms", type=float, default=2.0)
    parser.add_argument("--rate", type=float, default=500.0, help="arrivals a second")
    parser.add_argument("--seconds", type=float, default=10.0, help="of arrivals")
    options = parser.parse_args()
    parts = [part for part in options.parts.split(",") if part]
    for part in parts:
        if part not in PARTS:
            parser.error(f'there is no part "{part}" (there are: {", ".join(PARTS)})')
    on = cores(options.client_cores)
    print(f"{on}; {options.connections} connections, conversations of {options.turns} turns")
    if "whole" in parts:
        added(options, on, stream=False)
    if "stream" in parts:
        added(options, on, stream=True)
    if "arrivals" in parts:
        arrivals(options, on)


if __name__ == "__main__":
    main()
