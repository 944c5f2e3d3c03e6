"""
How many verdicts a second of one core judges take of this program: is it worth more machines, or is the wait
for the model all there is?

    CONVREPLAY_CACHE=$(mktemp -d) python benchmarks/judging.py [--turns 2000]

``correctness``, 64 cases at a time, asked of a chat endpoint that answers after 50 ms, in another process;
with and without the cache of replies, which is empty at first.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import socket
import tempfile
from pathlib import Path
from time import perf_counter, process_time

from aiohttp import web

from replay.results.judging import judge_run, run_panels
from replay.runs.launch import run_async

AFTER_S = 0.05
TURNS_EACH = 4


def serve(port: socket.socket) -> None:
    """Say yes to everything."""

    async def reply(request: web.Request) -> web.Response:
        await request.read()
        await asyncio.sleep(AFTER_S)
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Yes"}}
        usage = {"prompt_tokens": 200, "completion_tokens": 1, "total_tokens": 201}
        return web.json_response({"model": "m", "choices": [choice], "usage": usage})

    app = web.Application()
    app.router.add_post("/v1/chat/completions", reply)
    web.run_app(app, sock=port, print=None)


def scenario(folder: Path, turns: int) -> dict[str, object]:
    """So many turns, answered as the data has it."""
    with (folder / "talks.jsonl").open("w") as lines:
        for number in range(turns // TURNS_EACH):
            asked = [
                {"question": f"Where is {number}-{depth}?", "gold_answers": [f"In Port {number}-{depth}."]}
                for depth in range(TURNS_EACH)
            ]
            lines.write(f"{json.dumps({'id': f'{number}', 'turns': asked})}\n")
    return {
        "name": "judging",
        "data": {"path": str(folder / "talks.jsonl")},
        "systems": [{"name": "s", "adapter": "scripted"}],
        "policies": ["gold"],
        "scorers": ["em"],
    }


async def measure(turns: int, url: str) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        run = await run_async(scenario(Path(temporary), turns), runs=Path(temporary) / "runs")
        settings = {"base_url": url, "model": "m"}
        judge = {"correctness": {"adapter": "openai", "settings": settings, "concurrency": 64}}
        for cache in (False, True):
            panels = run_panels(run, [json.dumps(judge)], cache=cache)
            begun, cpu = perf_counter(), process_time()
            await judge_run(run.folder, panels)
            each = turns / (process_time() - cpu)
            with_it = "with the cache" if cache else "without a cache"
            print(f"{with_it:15} {each:6.0f} verdicts a second of CPU, {perf_counter() - begun:.0f} s in all")


def main() -> None:
    parser = argparse.ArgumentParser(description="How many verdicts a second this program can take.")
    parser.add_argument("--turns", type=int, default=2000)
    chosen = parser.parse_args()
    port = socket.create_server(("127.0.0.1", 0))
    server = multiprocessing.get_context("fork").Process(target=serve, args=[port], daemon=True)
    server.start()
    asyncio.run(measure(chosen.turns, f"http://127.0.0.1:{port.getsockname()[1]}/v1"))
    server.terminate()


if __name__ == "__main__":
    main()
