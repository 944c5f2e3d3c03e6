"""The twelve kinds of personal data."""

from __future__ import annotations

from typing import Literal, get_args

Kind = Literal[
    "name", "address", "email", "phone", "card", "account", "birth-date", "national-id", "passport",
    "number", "ip", "secret",
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)
