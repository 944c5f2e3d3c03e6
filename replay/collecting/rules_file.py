"""
Somebody's own rules on personal data: a YAML file.

``replace`` lists patterns with the kind that they are, ``keep`` words that are no names in these logs::

    replace:
      - {kind: number, pattern: "ACME-[0-9]{5}"}
    keep: [Acme, Zogtek]
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from replay.collecting.kinds import KINDS, Kind
from replay.collecting.personal_data import PersonalDataRules
from replay.core.errors import InputError
from replay.core.settings.faults import nearest
from replay.core.settings.yaml_lines import parse


def read_rules(path: Path) -> PersonalDataRules:
    """
    Return the rules in *path*.

    Raises:
        InputError: the file can't be read, or isn't as above.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f'"{path}" can\'t be read: {error}') from error
    value, _, faults = parse(text)
    if faults:
        raise InputError(f"{path}: {faults[0].message}")
    if not isinstance(value, dict) or value.keys() - {"replace", "keep"}:
        raise InputError(f"{path}: a mapping with replace and keep is expected, each a list")
    keep = value.get("keep") or []
    if not isinstance(keep, list) or not all(isinstance(word, str) for word in keep):
        raise InputError(f"{path}: keep: a list of words is expected")
    listed = value.get("replace") or []
    if not isinstance(listed, list):
        raise InputError(f"{path}: replace: a list of mappings with kind and pattern is expected")
    patterns = [_pattern(entry, f"{path}: replace[{index}]") for index, entry in enumerate(listed)]
    words = frozenset(word for text in keep for word in text.lower().split())
    return PersonalDataRules(patterns=patterns, keep=words)


def _pattern(entry: Any, at: str) -> tuple[Kind, re.Pattern[str]]:
    if not isinstance(entry, dict) or entry.keys() != {"kind", "pattern"}:
        raise InputError(f"{at}: a mapping with kind and pattern is expected")
    kind, pattern = entry["kind"], entry["pattern"]
    if kind not in KINDS:
        raise InputError(
            f'{at}.kind: "{kind}" is no kind{nearest(str(kind), KINDS)} (one of: {", ".join(KINDS)})'
        )
    try:
        compiled = re.compile(str(pattern))
    except re.error as error:
        raise InputError(f"{at}.pattern: {error}") from error
    if compiled.match(""):
        raise InputError(f"{at}.pattern: it matches nothing at all; let it match at least one character")
    return kind, compiled
