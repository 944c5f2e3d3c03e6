"""``replay serve``: offer an adapter as a chat server on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from replay.cli.output import echo


def serve(
    adapter: Annotated[str, typer.Argument(metavar="ADAPTER", help="An adapter's name, as in a scenario.")],
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes any free port.")] = 8080,
    host: Annotated[str, typer.Option("--host", help="The address to bind to.")] = "127.0.0.1",
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="A setting of the adapter; may be given several times."
        ),
    ] = None,
    delay_s: Annotated[float, typer.Option("--delay", min=0.0, help="Seconds added to every answer.")] = 0.0,
    chunk_delay_s: Annotated[
        float, typer.Option("--chunk-delay", min=0.0, help="Seconds between the words of a streamed answer.")
    ] = 0.0,
    capacity: Annotated[
        int | None, typer.Option("--capacity", min=1, help="Questions answered at a time; others queue.")
    ] = None,
) -> None:
    """
    Offer an adapter as a chat server: OpenAI-compatible, and with sessions kept by the server.

    POST /v1/chat/completions takes Chat Completions, streamed or not; POST /chat keeps the history itself.
    """
    import asyncio

    from replay.cli.ending import INTERRUPTED, until_told_to_end
    from replay.cli.serving.server import make_app, serve as serve_app
    from replay.cli.settings import made_plugin
    from replay.core.adapter import Adapter

    made = made_plugin("adapters", adapter, setting or [], Adapter)  # type: ignore[type-abstract]
    app = make_app(made, name=adapter, delay_s=delay_s, chunk_delay_s=chunk_delay_s, capacity=capacity)
    serving = serve_app(
        app,
        host,
        port,
        ready=lambda url: echo(f"{adapter} answers at {url}/v1/chat/completions and {url}/chat"),
    )
    try:
        asyncio.run(until_told_to_end(serving))
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise typer.Exit(INTERRUPTED) from None
