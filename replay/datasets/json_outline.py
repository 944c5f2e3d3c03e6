"""
The outline of a JSON file from its first bytes: which keys its first objects have.

Formats are told apart by keys. The head of a large file ends anywhere, so it can't be decoded; its
tokens can still be read, which is enough.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from replay.datasets.data_file import BYTE_ORDER_MARK

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:"]', re.DOTALL)

Outline = Mapping[str, frozenset[str]]
"""
Paths to keys. The first object at each path counts: ``""`` is the outermost value, ``.name`` a
member, ``[]`` an element, as in ``.data[].paragraphs[]``.
"""


@lru_cache(maxsize=4)  # every reader asks for the outline of the same head
def outline(head: bytes) -> Outline:
    """Return the outline of the JSON value that *head* begins with; empty when that is no object or list."""
    text = head.removeprefix(BYTE_ORDER_MARK).decode(errors="replace").lstrip()
    found: dict[str, set[str]] = {}
    opened: list[tuple[str, str, set[str]]] = []  # bracket, path, keys
    key, key_is_next = "", False
    if not text.startswith(("{", "[")):
        return {}
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token == '"':  # a string that the head cuts off
            break
        if token in "{[":
            path = "" if not opened else opened[-1][1] + ("[]" if opened[-1][0] == "[" else f".{key}")
            keys: set[str] = set()
            if token == "{":
                keys = keys if path in found else found.setdefault(path, keys)
            opened.append((token, path, keys))
            key_is_next = token == "{"
        elif token in "}]":
            opened.pop()
            if not opened:  # the first value is complete: in JSON Lines, the first line
                break
        elif token == ",":
            key_is_next = opened[-1][0] == "{"
        elif token.startswith('"') and key_is_next:
            key, key_is_next = token[1:-1], False
            opened[-1][2].add(key)
    return {path: frozenset(keys) for path, keys in found.items()}


def has_only(keys: frozenset[str] | None, *, required: set[str], optional: set[str]) -> bool:
    """
    Return whether *keys* holds all *required* names and no name beside them and the *optional* ones.

    Refusing other names is what keeps two formats from claiming the same file.
    """
    return keys is not None and required <= keys <= required | optional
