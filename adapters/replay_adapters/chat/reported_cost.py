"""
What a server itself says that a reply cost, in US dollars.

OpenRouter has it in ``usage.cost`` (https://openrouter.ai/docs/use-cases/usage-accounting), LiteLLM's proxy
there too where it streams, and else in a header
(https://docs.litellm.ai/docs/proxy/response_headers).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

HEADER = "x-litellm-response-cost"
MOST_USD = 1e6
"""No reply costs more; sums over a run stay finite."""


def reported_cost_usd(usage: Any, headers: Mapping[str, str]) -> float | None:
    """Return the cost in *usage*, or in *headers*; None if neither has one."""
    cost = usage.get("cost") if isinstance(usage, dict) else None
    if cost is None:
        cost = headers.get(HEADER)
        if cost is None:
            return None
    try:
        told = float(cost)
    except (TypeError, ValueError, OverflowError):
        return None
    return told if 0 <= told <= MOST_USD else None
