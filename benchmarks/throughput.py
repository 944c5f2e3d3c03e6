"""
Turns per second of one core: the bare aiohttp loop, our engine and Locust, side by side in one run.

    python benchmarks/throughput.py [--rounds 3] [--requests 20000] [--locust /path/to/locust]
    python benchmarks/throughput.py --data canard_train.json   # its conversations and answers
    python benchmarks/throughput.py --history                  # cost by turns and by concurrency
    python benchmarks/throughput.py --planning                 # what `rewrite` puts between two turns
    python benchmarks/throughput.py --users --requests 5000    # `react` with the user `rules`, by `rewrite`
    python benchmarks/throughput.py --workers 2                # both cores, against one: play.workers
    python benchmarks/throughput.py --workers 2 --under-load   # the same of a load run: load.workers

The server (``fast_server.py``) runs on the last core, each client alone on the first. Non-streaming, then
streamed answers of ``--chunks`` chunks. Our engine plays a real scenario into a real run database
(``replay_client.py``): policy ``pred`` without drift detection, with it, and with a resolver that costs
nothing (``free_resolver.py``), which shows what everything around a resolver costs. No two conversations and
no two answers are alike, so that every drift check is of documents that were not seen before; one that was
ends the benchmark. Conversations and answers are made up, or those of ``--data``, where each answer comes
to a conversation that it doesn't belong to.

Each has two figures: turns per second by the wall clock, which other work on the machine disturbs, and turns
per second of CPU time (start-up and worker processes of our engine included), which it disturbs much less.
Without other work the two are the same, since each client has a core to itself and the server is faster.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from side_by_side import (
    BASELINE,
    HERE,
    Client,
    Cores,
    Load,
    Spread,
    add_options,
    bare,
    chosen,
    cores,
    cpu_us,
    locust,
    our_stream_is_missing,
    ours,
    ratios,
    rounds,
    run_client,
    server,
    table,
)

OURS = "convreplay pred (no drift)"
FREE_RESOLVER = f"{HERE / 'free_resolver.py'}:FreeResolver"
BUSY = 1.1
"""Wall-clock over CPU seconds of the bare loop above which the wall clock is no measure."""
TURNS = (1, 2, 5, 10, 20)
CONCURRENCIES = (1, 4, 16, 64, 256, 1024)


def told(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def per_second(result: Mapping[str, Any]) -> float:
    return float(result["requests"] / result["seconds"])


def closed(load: Load) -> dict[str, Any]:
    """The section `load` of a scenario that asks for the same."""
    return {"profile": "closed", "concurrency": load.connections, "turns": load.requests}


def clients(options: argparse.Namespace, load: Load) -> list[Client]:
    """All that take part."""
    missing = our_stream_is_missing() if load.stream else None
    found = [bare()]
    if missing is None:
        more = ["--load", json.dumps(closed(load))] if options.under_load else []
        more += ["--data", options.data] if options.data else []
        found += [
            ours(OURS, *more),
            ours("convreplay pred", "--detect", *more),
            ours("convreplay pred (recorded side known)", "--detect", "--known", *more),
            ours("convreplay pred (free resolver)", "--detect", "--resolver", FREE_RESOLVER, *more),
        ]
    else:
        print(f"\n{missing}")
    if options.locust:
        found.append(locust(options.locust))
    return chosen(found, options.only)


def compare(options: argparse.Namespace, on: Cores, stream: bool) -> dict[str, list[Any]]:
    """The table of one kind of answers, printed; what was measured."""
    load = Load(
        requests=max(options.connections, options.requests // (4 if stream else 1)),
        connections=options.connections,
        turns=options.turns,
        stream=stream,
    )
    taking_part = clients(options, load)
    answers = ["--data", options.data, "--turns", str(options.turns)] if options.data else []
    answers += ["--answers", str(load.requests)]
    with server("--chunks", str(options.chunks), *answers, on=on.server) as fast:
        measured = rounds(
            taking_part,
            options.rounds,
            lambda client: run_client(client, fast.url, load, on.client, options.at_most_s),
            told,
        )
    kind = f"Streaming, {options.chunks} chunks" if stream else "Non-streaming"
    print(f"\n{kind}: {load.requests:,} requests of each, {options.rounds} rounds\n")
    wall = ratios(measured, per_second)
    cpu = ratios(measured, lambda result: 1 / cpu_us(result))
    rows = [
        (
            name,
            Spread.of([per_second(one) for one in results]).shown(),
            wall[name].shown(".2f"),
            Spread.of([1e6 / cpu_us(one) for one in results]).shown(),
            cpu[name].shown(".2f"),
            Spread.of([cpu_us(one) for one in results]).shown(),
            f"{max(one['peak_rss_mib'] for one in results):.0f}",
        )
        for name, results in measured.items()
    ]
    head = (
        "client",
        "turns/s",
        f"of {BASELINE}",
        "turns/s of one core",
        f"of {BASELINE}",
        "CPU us/turn",
        "peak MiB",
    )
    print("\n".join(table(head, rows)), flush=True)
    _print_detection(measured)
    baseline = measured[BASELINE]
    if any(one["seconds"] > BUSY * one["cpu_s"] for one in baseline):
        print(
            "\nThe bare loop, which never waits here, was kept from its core in some rounds: the machine had "
            "other work, or the server was the slower one. The figures by CPU are the ones to go by."
        )
    return measured


def _print_detection(measured: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """What detecting drift after the turns takes of the process that asks, and how fast verdicts follow."""
    own = {name: results for name, results in measured.items() if "asking_cpu_us" in results[0]}
    if len(own) < 2 or OURS not in own:
        return
    asking = ratios(own, lambda result: 1 / result["asking_cpu_us"], OURS)
    rows = [
        (
            name,
            Spread.of([1e6 / one["asking_cpu_us"] for one in results]).shown(),
            asking[name].shown(".2f"),
            Spread.of([one["verdicts"] / one["verdicts_s"] for one in results]).shown(),
            Spread.of([one["verdicts"] for one in results]).shown(),
        )
        for name, results in own.items()
    ]
    head = (
        "",
        "turns a CPU second of the asking process",
        "of no drift",
        "verdicts/s afterwards",
        "verdicts",
    )
    print("\n" + "\n".join(table(head, rows)), flush=True)


def by_shape(options: argparse.Namespace, on: Cores) -> None:
    """What a request costs by the turns of its conversation, and by concurrency."""
    pair = [bare(), ours(OURS)]

    def sweep(name: str, values: Sequence[int], load_of: Callable[[int], Load]) -> None:
        rows = []
        with server(on=on.server) as fast:
            for value in values:
                load = load_of(value)
                told(f"{name} {value}")
                measured = rounds(
                    pair,
                    options.rounds,
                    lambda client, load=load: run_client(
                        client, fast.url, load, on.client, options.at_most_s
                    ),
                    told,
                )
                cost = {key: Spread.of([cpu_us(one) for one in found]) for key, found in measured.items()}
                rate = Spread.of([per_second(one) for one in measured[OURS]])
                ratio = ratios(measured, lambda result: 1 / cpu_us(result))[OURS]
                latency = Spread.of([one["latency_ms"]["p50"] for one in measured[OURS]])
                rows.append(
                    (
                        f"{value:,}",
                        cost[BASELINE].shown(),
                        cost[OURS].shown(),
                        ratio.shown(".2f"),
                        rate.shown(),
                        f"{latency.middle:.1f}",
                    )
                )
        head = (name, "bare, CPU us/request", "ours", "by CPU, of bare", "ours, requests/s", "ours, p50 ms")
        print("\n" + "\n".join(table(head, rows)), flush=True)

    requests = options.requests
    sweep(
        "turns of a conversation",
        TURNS,
        lambda turns: Load(requests=requests, connections=options.connections, turns=turns),
    )
    sweep(
        "concurrency",
        CONCURRENCIES,
        lambda connections: Load(
            # One at a time waits for every answer and every commit: fewer do. Many need several
            # conversations each, or they are never all under way.
            requests=requests // 10 if connections == 1 else max(25 * connections, requests),
            connections=connections,
            turns=options.turns,
        ),
    )


def by_planning(options: argparse.Namespace, on: Cores) -> None:
    """What policies put between an answer and the next question, of servers that take their time."""
    rows = []
    for answer_ms, connections in ((2000, 1), (5000, 64), (2000, 64)):
        with server("--delay-ms", str(answer_ms), "--answers", str(options.requests), on=on.server) as fast:
            load = Load(requests=max(20, 5 * connections), connections=connections, turns=5)
            for policy in ("pred", "rewrite"):
                client = ours(policy, "--policy", policy)
                found = run_client(client, fast.url, load, on.client, options.at_most_s)["planning_ms"]
                times = (f"{found[name]:.1f}" for name in ("p50", "p99"))
                rows.append((str(connections), f"{answer_ms / 1000:g}", policy, *times))
    head = ("side by side", "an answer, s", "policy", "median, ms", "p99, ms")
    print("\nBetween an answer and the next question\n\n" + "\n".join(table(head, rows)), flush=True)


def by_users(options: argparse.Namespace, on: Cores) -> None:
    """Play the same conversations under ``rewrite`` and ``react``; print what a user takes of the speed."""
    load = Load(requests=options.requests, connections=options.connections, turns=options.turns)
    pair = [ours(policy, "--policy", policy) for policy in ("rewrite", "react")]
    with server("--answers", str(load.requests), on=on.server) as fast:
        measured = rounds(
            pair,
            options.rounds,
            lambda client: run_client(client, fast.url, load, on.client, options.at_most_s),
            told,
        )
    wall = ratios(measured, per_second, "rewrite")
    by_cpu = ratios(measured, lambda result: 1 / cpu_us(result), "rewrite")
    rows = [
        (
            name,
            Spread.of([per_second(result) for result in results]).shown(),
            wall[name].shown(".2f"),
            by_cpu[name].shown(".2f"),
            *(f"{results[-1][key]:,}" for key in ("requests", "exchanges", "invalid", "touched")),
        )
        for name, results in measured.items()
    ]
    head = ("policy", "turns/s", "of rewrite", "by CPU", "turns", "exchanges", "drifted", "with a user")
    print(f"\n{load.requests // load.turns:,} conversations\n\n" + "\n".join(table(head, rows)), flush=True)


def by_workers(options: argparse.Namespace) -> None:
    """One process on one core against several on as many, the server beside them."""
    count = options.workers
    taken = cores(count)
    if taken.client and taken.server and taken.server[0] in taken.client:
        print(f"\n{count} processes and the server want {count + 1} cores: here they are slower for sharing")
    load = Load(requests=options.requests, connections=options.connections, turns=options.turns)
    if options.under_load:
        under_load = (json.dumps({**closed(load), "workers": workers}) for workers in (1, count))
        kinds = {"": [("--load", section) for section in under_load]}
    else:
        one_and_several = [("--workers", "1"), ("--workers", str(count))]
        kinds = {
            "without drift detection": one_and_several,
            "with it": [("--detect", *options) for options in one_and_several],
        }
    for kind, (one, several) in kinds.items():
        print(f"\n{load.requests:,} turns {kind}")
        _one_and_several(options, load, one, several)


def _one_and_several(
    options: argparse.Namespace, load: Load, one: Sequence[str], several: Sequence[str]
) -> None:
    count = options.workers
    with server(on=cores().server) as fast:
        taking_part = [
            (ours("1 process", *one), cores(1)),
            (ours(f"1 process, {count} cores", *one), cores(count)),
            (ours(f"{count} processes", *several), cores(count)),
        ]
        where = {client.name: on for client, on in taking_part}
        measured = rounds(
            [client for client, _ in taking_part],
            options.rounds,
            lambda client: run_client(client, fast.url, load, where[client.name].client, options.at_most_s),
            told,
        )
    wall = ratios(measured, per_second, "1 process")
    by_cpu = ratios(measured, lambda result: 1 / result["started_cpu_us"], "1 process")
    rows = [
        (
            name,
            Spread.of([per_second(result) for result in results]).shown(),
            wall[name].shown(".2f"),
            Spread.of([1e6 / result["started_cpu_us"] for result in results]).shown(),
            by_cpu[name].shown(".2f"),
            Spread.of([cpu_us(result) for result in results]).shown(),
        )
        for name, results in measured.items()
    ]
    head = ("", "turns/s", "of one", "turns/CPU s", "of one", "CPU us/turn, start-up included")
    print("\n" + "\n".join(table(head, rows)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_options(parser, requests=20_000)
    parser.add_argument("--chunks", type=int, default=64, help="of a streamed answer")
    parser.add_argument("--kinds", choices=("both", "whole", "stream"), default="both")
    parser.add_argument("--data", metavar="FILE", help="play its conversations, not made-up ones")
    parser.add_argument("--history", action="store_true", help="cost by turns and by concurrency instead")
    parser.add_argument("--planning", action="store_true", help="what policies put between two turns instead")
    parser.add_argument("--users", action="store_true", help="what a user takes of the speed instead")
    parser.add_argument("--workers", type=int, help="compare this many processes with one instead")
    parser.add_argument("--under-load", action="store_true", help="our engine through a `load` section")
    parser.add_argument("--json", metavar="FILE", help="keep everything that was measured there")
    options = parser.parse_args()
    on = cores(options.client_cores)
    print(f"{on}; {options.connections} connections, conversations of {options.turns} turns")
    if options.history:
        by_shape(options, on)
    elif options.planning:
        by_planning(options, on)
    elif options.users:
        by_users(options, on)
    elif options.workers:
        by_workers(options)
    else:
        kinds = {"whole": (False,), "stream": (True,), "both": (False, True)}[options.kinds]
        measured = {"stream" if kind else "whole": compare(options, on, kind) for kind in kinds}
        if options.json:
            with open(options.json, "w", encoding="utf-8") as file:
                json.dump(measured, file, indent=1)


if __name__ == "__main__":
    main()
