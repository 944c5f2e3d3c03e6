"""
What our engine needs of memory, and of CPU while it waits.

    python benchmarks/memory.py [--parts open,long,waiting,report] [--turns 1000000] [--conversations 10000]

``open``: that many conversations are open at once in one process, each with a connection of its own to a
server that answers after ``--delay-ms``. ``long``: a run of ``--turns`` turns of the scripted adapter, within
this process; a sample every ``--sample-every`` turns tells whether memory stays flat. ``waiting``: that many
conversations wait behind a politeness limit of one ask a second; what CPU do ten seconds of that take?
``report``: a run of ``--report-turns`` turns, half under ``gold`` and half under ``pred`` with its drift
detected, is played, scored with the usual scorers and reported. Playing holds a few conversations at a time,
a report all turns.

Each part has a process of its own. RSS is what the process holds (its peak from the kernel's own count), USS
the part of it that no other process shares (``/proc/self/smaps_rollup``, sampled; Linux only).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from bare_client import run_on_fastest_loop
from process_memory import AllRecorded, Sampler, memory_mib, peak_rss_mib
from replay_client import write_conversations
from side_by_side import our_load_is_missing, server, table
from varied_texts import made_up_conversations

import replay

MIB = 1024 * 1024
TURNS_EACH = 5
SAMPLE_S = 0.5
WAITING_S = 10.0
ANSWER = "the city lies on a river and its old bridge was built by masons who came from the hills the"


def shown(mib: float | None) -> str:
    return "unknown" if mib is None else f"{mib:.0f}"


def scenario(data: Path, adapter: str, settings: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An unscored run under ``pred`` without drift detection."""
    return {
        "name": "memory",
        "data": {"path": str(data), "format": "native"},
        "systems": [{"name": "s", "adapter": adapter, "settings": settings, **more.pop("system", {})}],
        "policies": [{"pred": {"detect": False}}],
        "scorers": [],
        **more,
    }


async def warm_up(folder: Path, adapter: str, settings: dict[str, Any]) -> None:
    """A short run, after which everything is imported."""
    data = folder / "few.jsonl"
    write_conversations(data, made_up_conversations(10, TURNS_EACH))
    await replay.run_async(scenario(data, adapter, settings), runs=folder / "warm-up")


# Conversations open at once -----------------------------------------------------------------------------


async def open_at_once(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    settings = {"base_url": options.url, "model": "fast"}
    await warm_up(folder, "openai", settings)
    data = folder / "all.jsonl"
    write_conversations(data, made_up_conversations(options.conversations, TURNS_EACH))
    before, peak_uss = memory_mib(), 0.0
    content = scenario(data, "openai", settings, play={"concurrency": options.conversations, "attempts": 1})
    begun, cpu = time.perf_counter(), time.process_time()
    over = AllRecorded(options.conversations * TURNS_EACH)
    run = asyncio.create_task(replay.run_async(content, runs=folder / "runs", observer=over))
    while not run.done():
        await asyncio.wait([run], timeout=SAMPLE_S)
        if not over.figures:
            peak_uss = max(peak_uss, memory_mib()[1] or 0.0)
    run.result()
    if not over.figures:
        sys.exit(f"{over.left} turns were not recorded")
    return {
        "seconds": time.perf_counter() - begun,
        "cpu_s": time.process_time() - cpu,
        "before_mib": before,
        **over.figures,
        "peak_uss_mib": peak_uss or None,
        "end_rss_mib": peak_rss_mib(),
    }


def report_open(options: argparse.Namespace) -> None:
    with server("--delay-ms", str(options.delay_ms)) as fast:
        found = child(options, "open", "--url", fast.url)
        most = fast.stats()["most_connections"]
    turns = options.conversations * TURNS_EACH
    print(f"\n{options.conversations:,} conversations at once, {options.delay_ms / 1000:g} s per answer\n")
    row = (
        f"{most:,}",
        shown(found["before_mib"][0]),
        shown(found["peak_rss_mib"]),
        shown(found["peak_uss_mib"]),
        shown(found["end_rss_mib"]),
        f"{found['seconds']:.0f}",
        f"{1e6 * found['cpu_s'] / turns:.0f}",
    )
    head = (
        "connections at once",
        "RSS before, MiB",
        "peak RSS while open",
        "peak USS",
        "peak RSS, end included",
        "seconds",
        "CPU us/turn",
    )
    print("\n".join(table(head, [row])), flush=True)


# A long run ---------------------------------------------------------------------------------------------


async def long_run(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    settings = {"answers": [ANSWER] * TURNS_EACH}
    await warm_up(folder, "scripted", settings)
    data = folder / "all.jsonl"
    if our_load_is_missing():
        write_conversations(data, made_up_conversations(-(-options.turns // TURNS_EACH), TURNS_EACH))
        content = scenario(data, "scripted", settings, play={"concurrency": 64})
    else:
        write_conversations(data, made_up_conversations(2_000, TURNS_EACH))
        load = {
            "profile": "closed",
            "concurrency": 64,
            "turns": options.turns,
            "keep_turns": options.keep_turns,
        }
        content = scenario(data, "scripted", settings, load=load)
    sampler = Sampler(options.sample_every)
    await replay.run_async(content, runs=folder / "runs", observer=sampler)
    return {"samples": sampler.samples, "peak_rss_mib": peak_rss_mib(), "after_mib": memory_mib()}


def report_long(options: argparse.Namespace) -> None:
    missing = our_load_is_missing()
    found = child(options, "long")
    samples = found["samples"]
    if not samples:
        sys.exit("no sample was taken; ask for more --turns or a smaller --sample-every")
    how = "each conversation once" if missing else "2,000 conversations again and again"
    print(f"\n{options.turns:,} turns of the scripted adapter, {how}\n")
    rows = [(f"{turns:,}", f"{at:.0f}", shown(rss), shown(uss)) for turns, at, rss, uss in samples]
    print("\n".join(table(("turns", "seconds", "RSS, MiB", "USS, MiB"), rows)))
    first, last = samples[0], samples[-1]
    if first[3] is not None and len(samples) > 1:
        grown = last[3] - first[3]
        per_turn = grown * MIB / (last[0] - first[0])
        print(f"\nUSS from the first sample to the last: {grown:+.1f} MiB, {per_turn:+.0f} bytes/turn.")
    print(f"Peak RSS, the run's end included: {found['peak_rss_mib']:.0f} MiB.", flush=True)


# Waiting ------------------------------------------------------------------------------------------------


async def waiting(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    settings = {"answers": [ANSWER] * TURNS_EACH}
    await warm_up(folder, "scripted", settings)
    data = folder / "all.jsonl"
    write_conversations(data, made_up_conversations(options.conversations, TURNS_EACH))
    content = scenario(
        data,
        "scripted",
        settings,
        system={"limit": {"asks": 1, "per_s": 1}},
        play={"concurrency": options.conversations},
    )
    run = asyncio.create_task(replay.run_async(content, runs=folder / "runs"))
    # All wait once the process has become quiet.
    for _ in range(120):
        cpu = time.process_time()
        await asyncio.wait([run], timeout=SAMPLE_S)
        if run.done() or time.process_time() - cpu < 0.1 * SAMPLE_S:
            break
    if run.done():
        run.result()
        sys.exit("the run ended before anything had to wait; ask for more --conversations")
    cpu = time.process_time()
    await asyncio.wait([run], timeout=options.waiting_s)
    spent = time.process_time() - cpu
    tasks = len(asyncio.all_tasks())
    rss, uss = memory_mib()
    run.cancel()
    with suppress(asyncio.CancelledError):
        await run
    return {"cpu_s": spent, "tasks": tasks, "rss_mib": rss, "uss_mib": uss}


def report_waiting(options: argparse.Namespace) -> None:
    found = child(options, "waiting")
    print(f"\n{options.conversations:,} conversations behind a limit of one ask a second\n")
    row = (
        f"{found['tasks']:,}",
        f"{found['cpu_s']:.3f} s in {options.waiting_s:g} s",
        f"{100 * found['cpu_s'] / options.waiting_s:.2f} %",
        shown(found["rss_mib"]),
        shown(found["uss_mib"]),
    )
    print("\n".join(table(("tasks alive", "CPU while waiting", "of a core", "RSS, MiB", "USS, MiB"), [row])))


# Scores and a report ------------------------------------------------------------------------------------


async def reported(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    settings = {"answers": [ANSWER] * TURNS_EACH}
    await warm_up(folder, "scripted", settings)
    data = folder / "all.jsonl"
    write_conversations(data, made_up_conversations(options.report_turns // TURNS_EACH // 2, TURNS_EACH))
    content = scenario(data, "scripted", settings, play={"concurrency": 64})
    content["policies"] = ["gold", "pred"]
    del content["scorers"]  # those of a scenario that names none
    over = AllRecorded(options.report_turns // TURNS_EACH // 2 * TURNS_EACH * 2)
    run = await replay.run_async(content, runs=folder / "runs", observer=over)
    scored_mib, begun = peak_rss_mib(), time.perf_counter()
    run.report()
    return {
        "turns": run.state().records,
        "played_mib": over.figures["peak_rss_mib"],
        "scored_mib": scored_mib,
        "reported_mib": peak_rss_mib(),
        "seconds": time.perf_counter() - begun,
    }


def report_reported(options: argparse.Namespace) -> None:
    found = child(options, "report")
    print("\nA run under two policies, scored and reported; peak RSS, MiB\n")
    row = (
        f"{found['turns']:,}",
        shown(found["played_mib"]),
        shown(found["scored_mib"]),
        shown(found["reported_mib"]),
        f"{found['seconds']:.0f}",
    )
    head = ("turns", "while it plays", "and scores", "and reports", "report, seconds")
    print("\n".join(table(head, [row])))


PARTS = {
    "open": (report_open, open_at_once),
    "long": (report_long, long_run),
    "waiting": (report_waiting, waiting),
    "report": (report_reported, reported),
}


def child(options: argparse.Namespace, part: str, *more: str) -> Any:
    """
    What a process of its own found out in *part*.

    Raises:
        SystemExit: it failed, or was not done in time.
    """
    settings = ("conversations", "turns", "keep_turns", "sample_every", "waiting_s", "report_turns")
    passed = [text for key in settings for text in (f"--{key.replace('_', '-')}", str(getattr(options, key)))]
    command = [sys.executable, __file__, "--child", part, *passed, *more]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=options.at_most_s)
    except subprocess.TimeoutExpired:
        sys.exit(f"{part} was not done after {options.at_most_s:g} s")
    if done.returncode != 0:
        sys.exit(f"{part} failed")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", default=",".join(PARTS), help="with commas between")
    parser.add_argument("--conversations", type=int, default=10_000)
    parser.add_argument("--delay-ms", type=float, default=5000.0)
    parser.add_argument("--turns", type=int, default=1_000_000, help="of the long run")
    parser.add_argument("--keep-turns", type=int, default=2_000_000, help="of the long run, one by one")
    parser.add_argument("--sample-every", type=int, default=50_000)
    parser.add_argument("--report-turns", type=int, default=100_000, help="of the run that is reported")
    parser.add_argument("--waiting-s", type=float, default=WAITING_S)
    parser.add_argument("--at-most-s", type=float, default=1800.0, help="for one part")
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--child", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if options.child:
        _, work = PARTS[options.child]
        with tempfile.TemporaryDirectory(prefix="replay-benchmark-") as folder:
            try:
                found = run_on_fastest_loop(lambda: work(options, Path(folder)))
            except replay.ReplayError as error:
                sys.exit(str(error))
        print(json.dumps(found))
        return
    parts = [part for part in options.parts.split(",") if part]
    for part in parts:
        if part not in PARTS:
            parser.error(f'there is no part "{part}" (there are: {", ".join(PARTS)})')
    for part in parts:
        report, _ = PARTS[part]
        report(options)


if __name__ == "__main__":
    main()
