"""The parameters that go with a judge's asks: its own defaults, changed by the user."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def merge_parameters(defaults: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return *own* over *defaults*; a parameter that is None is left out."""
    return {name: value for name, value in {**defaults, **own}.items() if value is not None}


def sent_parameter_names(own: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of those that the user wants sent."""
    return tuple(name for name, value in own.items() if value is not None)


def signature_text(parameters: Mapping[str, Any]) -> str:
    """Return *parameters* as one word for a signature: ``max_tokens=16,temperature=0``."""
    if not parameters:
        return "no-parameters"
    return ",".join(f"{name}={_word(value)}" for name, value in sorted(parameters.items()))


def _word(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).replace(" ", "_")
