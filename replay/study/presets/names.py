"""The presets by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from replay.study.presets.convqa import ConvQA
from replay.study.presets.mahueval import MaHuEval
from replay.study.presets.rating import Rating

PRESETS: Mapping[str, Callable[..., Any]] = {"mahueval": MaHuEval, "convqa": ConvQA, "rating": Rating}
"""What makes each of its settings."""
