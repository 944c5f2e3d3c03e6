"""Raters under other names in what leaves the study: always the same ones, which nobody can compute."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import replace

from replay.study.tasks import StudyState


def pseudonyms(state: StudyState, secret: str) -> dict[str, str]:
    """By name; made with the study's *secret*, so that its next export has the same ones."""
    key = bytes.fromhex(secret)
    return {
        one.name: f"rater-{hmac.digest(key, f'pseudonym {one.id}'.encode(), hashlib.sha256).hex()[:8]}"
        for one in state.raters
    }


def under_names(state: StudyState, names: Mapping[str, str]) -> StudyState:
    """*state* with its raters under *names*, and without what is left of those who withdrew."""
    raters = [
        replace(one, name=names.get(one.name, one.name)) for one in state.raters if not one.withdrawn_at
    ]
    return replace(state, raters=raters)
