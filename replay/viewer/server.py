"""
Serves the pages of any number of runs on this machine, while they go on.

For one's own eyes: it binds to loopback, answers whoever has its token under its own name, changes nothing,
and lets no script in but its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from replay.core.errors import InputError
from replay.core.server_access import is_loopback
from replay.core.web_server import serve
from replay.viewer import assets
from replay.viewer.run_index import RunIndex
from replay.viewer.viewer import Viewer


def check_loopback(host: str) -> None:
    """
    Raises:
        InputError: *host* is not this machine's loopback.
    """
    if not is_loopback(host):
        raise InputError(
            f"--host {host} is not loopback: the pages show all that was said, to anyone who can reach them; "
            "from another machine, use a tunnel (ssh -L 8765:127.0.0.1:8765)"
        )


async def serve_pages(
    folders: Sequence[Path],
    below: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    token: str | None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """
    Serve the runs in *folders*, or all *below* a folder, until cancelled; *ready* is told the address.

    Whoever wants to see them has to show *token*; None lets in everybody who reaches the address.

    Raises:
        InputError: *host* is not loopback, nobody can listen there, or there is no run.
    """
    check_loopback(host)
    assets.plotly()
    index = RunIndex(folders, below)
    runs = await asyncio.to_thread(index.refresh)
    if folders and not runs:
        raise InputError("; ".join(index.problems.values()))
    viewer = Viewer(index, token)
    await serve(
        viewer.app(), host, port, ready=None if ready is None else lambda address: ready(f"{address}/")
    )
