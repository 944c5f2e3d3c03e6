"""Raters under other names in what leaves the study: always the same ones, which nobody can compute."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import yaml

from replay.study.conduct.study_file import StudyFile, parse_study
from replay.study.tasks import StudyState


def pseudonyms(state: StudyState, secret: str) -> dict[str, str]:
    """By name; made with the study's *secret*, so that its next export has the same ones."""
    key = bytes.fromhex(secret)
    return {
        one.name: f"rater-{hmac.digest(key, f'pseudonym {one.id}'.encode(), hashlib.sha256).hex()[:8]}"
        for one in state.raters
    }


def under_names(file: StudyFile, state: StudyState, names: Mapping[str, str]) -> tuple[StudyFile, StudyState]:
    """
    The study with its raters under *names*, and without what is left of those who withdrew.

    A preset's settings may name a rater; then the study file is written anew, without comments.
    """
    raters = [
        replace(one, name=names.get(one.name, one.name)) for one in state.raters if not one.withdrawn_at
    ]
    content: dict[str, Any] = yaml.safe_load(file.text)
    preset = _renamed(content["preset"], names)
    if preset != content["preset"]:
        text = yaml.safe_dump({**content, "preset": preset}, sort_keys=False, allow_unicode=True)
        file = parse_study(text, source=file.source, folder=file.folder)
    return file, replace(state, raters=raters)


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _renamed(one, names) for key, one in value.items()}
    if isinstance(value, list):
        return [_renamed(one, names) for one in value]
    return names.get(value, value) if isinstance(value, str) else value
