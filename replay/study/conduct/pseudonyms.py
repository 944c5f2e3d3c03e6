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
    The study with its raters under *names*, and without those who withdrew.

    Where that changes the study file, it is written anew, without comments.
    """
    staying = [
        replace(one, name=names.get(one.name, one.name)) for one in state.raters if one.withdrawn_at is None
    ]
    gone = {one.name for one in state.raters if one.withdrawn_at is not None}
    content: dict[str, Any] = yaml.safe_load(file.text)
    changed = dict(content)
    if isinstance(content.get("raters"), list):
        changed["raters"] = [names.get(one, one) for one in content["raters"] if one not in gone]
        if not changed["raters"]:
            del changed["raters"]
    changed["preset"] = _renamed(content["preset"], names, gone)
    if changed != content:
        text = yaml.safe_dump(changed, sort_keys=False, allow_unicode=True)
        file = parse_study(text, source=file.source, folder=file.folder)
    return file, replace(state, raters=staying)


def _renamed(value: Any, names: Mapping[str, str], gone: set[str]) -> Any:
    """*value* of the preset's settings, which may name a rater."""
    if isinstance(value, dict):
        return {key: _renamed(one, names, gone) for key, one in value.items()}
    if isinstance(value, list):
        return [_renamed(one, names, gone) for one in value]
    if isinstance(value, str):
        return "withdrawn" if value in gone else names.get(value, value)
    return value
