"""``replay view``: runs in a browser, while they go on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replay.cli.arguments import RUNS, RunsOption
from replay.cli.output import echo


def view(
    run: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RUN", help="Runs' folders; left out, all in --runs."),
    ] = None,
    runs: RunsOption = RUNS,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes any free port.")] = 8765,
    host: Annotated[str, typer.Option("--host", help="A loopback address.")] = "127.0.0.1",
) -> None:
    """
    Show runs in a browser, on this machine only, live while a run goes on.

    Scores by depth, gold against own history, every conversation, and comparisons of runs.
    """
    import asyncio
    import signal
    import sys

    from replay.report.pages.server import serve_pages

    def ready(address: str) -> None:
        echo(f"runs are shown at {address} (Ctrl-C ends it)")

    async def serve() -> None:
        task = asyncio.current_task()
        if task is not None and sys.platform != "win32":
            # SIGTERM ends it as cleanly as Ctrl-C does.
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        await serve_pages(run or [], runs, host=host, port=port, ready=ready)

    try:
        asyncio.run(serve())
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise typer.Exit(130) from None
