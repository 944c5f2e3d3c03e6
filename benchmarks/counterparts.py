"""
The servers that ``interop.py`` plays against: how each is installed, started and asked.

All of them are other people's programs, each in an environment of its own, and all listen on this machine
alone. Hosted models are out of reach of such a check; what answers here are mock replies, a random model
and a small bot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MASTER_KEY = "sk-interop-4f1d0c7be2a9"
"""What the LiteLLM proxy here wants; it guards nothing."""
WRONG_KEY = "sk-interop-wrong-91c3d5e7"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run against a counterpart, and what should come of it."""

    name: str
    adapter: str
    settings: Mapping[str, Any]
    """Of the system; ``{url}`` in a text is the counterpart's address."""
    outcome: str = "answered"
    """Of every ask."""
    usage: bool = False
    """Every answer comes with the counts of its tokens."""
    cost: bool = False
    streams: bool = False
    """Every answer has a first token, and some gaps."""
    stress: bool = False
    """Under load, for a few seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterpart:
    """A server, and the runs against it."""

    name: str
    packages: Sequence[str]
    """What pip installs, one call after another."""
    versions_of: Sequence[str]
    """Distributions whose versions are told."""
    command: Callable[[Path, Path, int], Sequence[str]]
    """What starts it: from its environment's ``bin``, a folder for its files, and a port."""
    ready: str | None
    """Path of a page that answers once it is ready; None for one that prints its port."""
    cases: Sequence[Case]
    prepare: Callable[[Path, Path], Sequence[str] | None] = lambda binaries, folder: None
    """Writes its files, or gives the command that does."""
    environment: Mapping[str, str] = field(default_factory=dict)


def _litellm_config(binaries: Path, folder: Path) -> None:
    said = {
        "mock": "The museum stands in the harbour of Brackwater.",
        "limited": "litellm.RateLimitError",
        "broken": "litellm.InternalServerError",
    }
    models = "".join(
        f"  - model_name: {name}\n    litellm_params:\n      model: openai/gpt-4o-mini\n      api_key: none\n"
        f'      mock_response: "{text}"\n'
        for name, text in said.items()
    )
    (folder / "litellm.yaml").write_text(
        f"model_list:\n{models}general_settings:\n  master_key: {MASTER_KEY}\n", "utf-8"
    )


def _chat(model: str, **settings: Any) -> dict[str, Any]:
    return {"base_url": "{url}/v1", "model": model, **settings}


def _proxied(model: str = "mock", **settings: Any) -> dict[str, Any]:
    return _chat(model, api_key_env="INTEROP_KEY", **settings)


LITELLM = Counterpart(
    name="LiteLLM proxy",
    packages=["litellm[proxy]"],
    versions_of=["litellm"],
    prepare=_litellm_config,
    environment={"LITELLM_LOCAL_MODEL_COST_MAP": "True"},  # its price list comes from the network otherwise
    command=lambda binaries, folder, port: [
        *(str(binaries / "litellm"), "--config", str(folder / "litellm.yaml"), "--telemetry", "False"),
        *("--host", "127.0.0.1", "--port", str(port)),
    ],
    ready="/health/liveliness",
    cases=[
        Case(name="chat", adapter="openai", settings=_proxied(), usage=True, cost=True),
        Case(
            name="chat, streamed",
            adapter="openai",
            settings=_proxied(stream=True),
            usage=True,
            cost=True,
            streams=True,
        ),
        Case(name="chat, under load", adapter="openai", settings=_proxied(), usage=True, stress=True),
        Case(name="responses", adapter="openai", settings=_proxied(api="responses"), usage=True),
        Case(
            name="responses, streamed: its mock can't, 500",
            adapter="openai",
            settings=_proxied(api="responses", stream=True),
            outcome="refused",
        ),
        Case(
            name="messages",
            adapter="anthropic",
            settings={
                "base_url": "{url}",
                "model": "mock",
                "headers_env": {"Authorization": "Bearer ${INTEROP_KEY}"},
            },
            usage=True,
        ),
        Case(name="a rate limit", adapter="openai", settings=_proxied("limited"), outcome="rate-limited"),
        Case(name="a failing model", adapter="openai", settings=_proxied("broken"), outcome="refused"),
        Case(name="no such model", adapter="openai", settings=_proxied("nosuch"), outcome="refused"),
        Case(
            name="a wrong key",
            adapter="openai",
            settings=_chat("mock", api_key_env="INTEROP_WRONG_KEY"),
            outcome="refused",
        ),
    ],
)

TRANSFORMERS = Counterpart(
    name="transformers serve",
    # torch first and by its version, since the newest brings gigabytes of CUDA along.
    packages=["torch==2.13.0", "transformers[serving]"],
    versions_of=["transformers", "torch"],
    environment={"HF_HUB_OFFLINE": "1"},
    prepare=lambda binaries, folder: [
        str(binaries / "python"),
        str(HERE / "tiny_llama.py"),
        str(folder / "tiny"),
    ],
    command=lambda binaries, folder, port: [
        *(str(binaries / "transformers"), "serve", str(folder / "tiny"), "--device", "cpu"),
        *("--host", "127.0.0.1", "--port", str(port), "--default-seed", "1"),
    ],
    ready="/health",
    cases=[
        Case(
            name="chat",
            adapter="openai",
            settings=_chat("{folder}/tiny", extra={"max_tokens": 12}),
            usage=True,
        ),
        Case(
            name="chat, streamed",
            adapter="openai",
            settings=_chat("{folder}/tiny", extra={"max_tokens": 12}, stream=True),
            usage=True,
            streams=True,
        ),
        Case(
            name="responses",
            adapter="openai",
            settings=_chat("{folder}/tiny", api="responses", extra={"max_output_tokens": 12}),
            usage=True,
        ),
        Case(
            name="responses, streamed",
            adapter="openai",
            settings=_chat("{folder}/tiny", api="responses", extra={"max_output_tokens": 12}, stream=True),
            usage=True,
            streams=True,
        ),
    ],
)

GUIDELLM = Counterpart(
    name="GuideLLM mock server",
    packages=["torch==2.13.0", "guidellm"],
    versions_of=["guidellm", "sanic"],
    environment={"HF_HUB_OFFLINE": "1"},
    command=lambda binaries, folder, port: [
        *(str(binaries / "guidellm"), "mock-server", "--host", "127.0.0.1", "--port", str(port)),
        *("--model", "mock", "--ttft-ms", "20", "--itl-ms", "2", "--output-tokens", "16"),
        *("--request-latency", "0.05"),
    ],
    ready="/health",
    cases=[
        Case(name="chat", adapter="openai", settings=_chat("mock"), usage=True),
        Case(
            name="chat, streamed",
            adapter="openai",
            settings=_chat("mock", stream=True),
            usage=True,
            streams=True,
        ),
        Case(
            name="chat, streamed, under load",
            adapter="openai",
            settings=_chat("mock", stream=True),
            usage=True,
            streams=True,
            stress=True,
        ),
        Case(name="responses", adapter="openai", settings=_chat("mock", api="responses"), usage=True),
        Case(
            name="responses, streamed",
            adapter="openai",
            settings=_chat("mock", api="responses", stream=True),
            usage=True,
            streams=True,
        ),
    ],
)


def _bot(**settings: Any) -> dict[str, Any]:
    return {
        "url": "{url}",
        "history": "server",
        "send": {"question": "{{question}}"},
        "greeting": "type == 'greeting'",
        "answer": "text",
        "until": "type == 'end'",
        **settings,
    }


WEBSOCKETS = Counterpart(
    name="websockets server",
    packages=["websockets"],
    versions_of=["websockets"],
    command=lambda binaries, folder, port: [str(binaries / "python"), str(HERE / "websocket_bot.py")],
    ready=None,
    cases=[
        Case(name="a connection per conversation", adapter="websocket", settings=_bot(), streams=True),
        Case(name="the same, under load", adapter="websocket", settings=_bot(), streams=True, stress=True),
        Case(
            name="closed with 1011",
            adapter="websocket",
            settings=_bot(send={"question": "close: {{question}}"}),
            outcome="refused",
        ),
    ],
)

COUNTERPARTS = {
    "litellm": LITELLM,
    "transformers": TRANSFORMERS,
    "guidellm": GUIDELLM,
    "websockets": WEBSOCKETS,
}
