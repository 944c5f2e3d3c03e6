"""
The servers that ``interop.py`` plays against: those of chat models here, others in ``app_counterparts.py``
and ``agent_counterparts.py``.

All of them are other people's programs, each in an environment of its own, and all listen on this machine
alone. Hosted models are out of reach of such a check; what answers here are mock replies and a random model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent_counterparts import AGENTS
from app_counterparts import APPS
from counterpart import Case, Counterpart

HERE = Path(__file__).parent
MASTER_KEY = "sk-interop-4f1d0c7be2a9"
"""What the LiteLLM proxy here wants; it guards nothing."""
WRONG_KEY = "sk-interop-wrong-91c3d5e7"


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

COUNTERPARTS = {"litellm": LITELLM, "transformers": TRANSFORMERS, "guidellm": GUIDELLM, **APPS, **AGENTS}
