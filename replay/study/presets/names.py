"""The presets by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from replay.study.preset import Preset
from replay.study.presets.compare import Compare
from replay.study.presets.convqa import ConvQA
from replay.study.presets.drift import DriftStudy
from replay.study.presets.mahueval import MaHuEval
from replay.study.presets.rating import Rating
from replay.study.presets.wording import WordingStudy

PRESETS: Mapping[str, Callable[..., Preset]] = {
    "mahueval": MaHuEval,
    "convqa": ConvQA,
    "rating": Rating,
    "compare": Compare,
    "drift": DriftStudy,
    "wording": WordingStudy,
}
"""What makes each of its settings."""
