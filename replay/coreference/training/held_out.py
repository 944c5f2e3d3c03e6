"""What is never trained on: by article, dialog or topic, and so the same in every process and version."""

from __future__ import annotations

import hashlib

from replay.coreference.training.annotated_questions import Example

SHARES = {"qrecc_a": 8, "gecor_a": 8, "pacific_a": 8, "canard_train": 40}
"""One group in so many is held out; of the small files one in four."""


def is_held_out(example: Example) -> bool:
    """Return whether *example* is never trained on."""
    return hashlib.sha256(example.group.encode()).digest()[0] % SHARES.get(example.source, 4) == 0


def is_for_decisions(example: Example) -> bool:
    """Return whether *example*, held out, is in the third that fits the last two decisions."""
    return hashlib.sha256(b"decisions" + example.group.encode()).digest()[0] % 3 == 0
