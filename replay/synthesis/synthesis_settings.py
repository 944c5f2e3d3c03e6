"""What can be set of conversations that are made from documents: how many, how long, of which kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

VERSION = 4
"""Raised whenever equal documents and settings give other conversations."""
LARGEST_MB = 20
"""Larger files are left out unless one says otherwise; millions of bytes."""
Preset = Literal["quac", "ikat", "support"]


class Shares(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What share of the questions after the first is of each kind, as far as the documents carry it."""

    anaphora: float = 0.35
    """Questions with "it", "its", "that parameter", "the second one" for what was named before."""
    ellipsis: float = 0.12
    """Questions that leave out what was said before: "And a node?", "Why?"."""
    unanswerable: float = 0.1
    """Questions that the passages don't answer."""
    shift: float = 0.15
    """Questions about another section than the one before."""
    yes_no: float = 0.3
    """Questions to be answered by yes or no, of all."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"the share of {name} is {getattr(self, name)}; give a number from 0 to 1")
        if (total := self.anaphora + self.ellipsis + self.unanswerable + self.shift) > 1:
            raise ValueError(
                f"the shares of anaphora, ellipsis, unanswerable and shift sum to {total:g}; at most 1"
            )


PRESETS: dict[Preset, Shares] = {
    "quac": Shares(anaphora=0.6, ellipsis=0.2, unanswerable=0.15, shift=0.02, yes_no=0.36),
    "ikat": Shares(anaphora=0.5, ellipsis=0.16, unanswerable=0, shift=0.3, yes_no=0.21),
    "support": Shares(),
}
"""The first two as ``replay data stats`` finds them in CANARD and iKAT 2024, cut so that they sum to 1."""


def shares_of(preset: str, given: Mapping[str, float]) -> Shares:
    """
    Return the shares of *preset*, with those that are *given* in their place.

    Raises:
        ValueError: there is no such preset or share, or a number is not from 0 to 1.
    """
    found = next((shares for name, shares in PRESETS.items() if name == preset), None)
    if found is None:
        raise ValueError(f'there is no preset "{preset}"; choose {", ".join(PRESETS)}')
    for name in given:
        if name not in Shares.__struct_fields__:
            raise ValueError(f'there is no share "{name}"; choose {", ".join(Shares.__struct_fields__)}')
    return msgspec.structs.replace(found, **given)


class SynthesisSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is made."""

    conversations: int | None = 50
    """None for as many as the documents carry."""
    turns: int = 8
    """Questions of each conversation."""
    seed: int = 0
    shares: Shares = Shares()
    largest_mb: float = LARGEST_MB
    """Larger files are left out; millions of bytes."""

    def __post_init__(self) -> None:
        for name in ("conversations", "turns"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}; give at least 1")
