"""``replay serve``: offer an adapter as a chat server on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from replay.cli import arguments
from replay.cli.output import echo


def serve(
    adapter: Annotated[str, typer.Argument(metavar="ADAPTER", help="An adapter's name, as in a scenario.")],
    port: arguments.PortOption = 8080,
    host: arguments.HostOption = "127.0.0.1",
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
    max_body: Annotated[int, typer.Option("--max-body", min=1, help="The largest body taken, in MiB.")] = 4,
    token_env: arguments.TokenEnvOption = None,
    no_token: arguments.NoTokenOption = False,
    allow_host: arguments.AllowHostOption = None,
) -> None:
    """
    Offer an adapter as a chat server: OpenAI-compatible, and with sessions kept by the server.

    POST /v1/chat/completions takes Chat Completions, streamed or not; POST /chat keeps the history itself.

    Clients send the token that it prints as they send a key: Authorization: Bearer TOKEN.
    """

    from replay.cli.serving.server import MEBIBYTE, make_app
    from replay.cli.settings import make_plugin
    from replay.cli.signals import run_server
    from replay.core.adapter import Adapter
    from replay.web.access import explain_bind_address, own_names, shown_origin
    from replay.web.app import serve as serve_app

    made = make_plugin("adapters", adapter, setting or [], Adapter)  # type: ignore[type-abstract]
    token = arguments.choose_token(
        token_env,
        no_token,
        "whoever reaches this address, from here or elsewhere, may ask, and read all answers",
    )
    app = make_app(
        made,
        name=adapter,
        delay_s=delay_s,
        chunk_delay_s=chunk_delay_s,
        capacity=capacity,
        token=token,
        names=own_names(host, allow_host or ()),
        max_body_bytes=max_body * MEBIBYTE,
    )

    if (said := explain_bind_address(host, "may ask this system")) is not None:
        echo(f"warning: {said}", err=True)

    def ready(bound: str) -> None:
        url = shown_origin(bound)
        echo(f"{adapter} answers at {url}/v1/chat/completions and {url}/chat")
        if token is None:
            return
        if token_env is None:
            # A line to copy, for whoever asks from another terminal.
            echo(f"its token, which a scenario names by api_key_env: export CONVREPLAY_TOKEN={token}")
        name = token_env or "CONVREPLAY_TOKEN"
        echo(
            f'curl {url}/chat -H "Authorization: Bearer ${name}" '
            """-H "Content-Type: application/json" -d '{"question": "Hello?"}'"""
        )

    run_server(serve_app(app, host, port, ready=ready))
