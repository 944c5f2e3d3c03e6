"""JSON out and in: what msgspec won't have goes the other way."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, strategies as st

from replay_adapters.http.reply import decode_json, encode_json

TEXTS = st.text(st.characters(categories=None), max_size=20)  # lone surrogates too
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_any_json_value_is_the_same_after_a_trip(value: Any) -> None:
    encoded = encode_json(value)

    assert decode_json(encoded) == value
    assert json.loads(encoded) == value


def test_half_a_character_goes_out_as_an_escape() -> None:
    assert encode_json({"a": "x\ud800"}) == b'{"a":"x\\ud800"}'
    assert decode_json(b'"x\\ud800"') == "x\ud800"


@pytest.mark.parametrize(
    ("content", "value"), [(b"[1e999]", [math.inf]), (b"\xef\xbb\xbf[1]", [1]), ("[1]".encode("utf-16"), [1])]
)
def test_what_the_standard_library_reads_is_read(content: bytes, value: Any) -> None:
    assert decode_json(content) == value


@pytest.mark.parametrize("content", [b"", b"{", b'"\xff"', b'"a\nb"', b"[1] 2"])
def test_what_is_not_json_is_an_error(content: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - a message of either library
        decode_json(content)


@pytest.mark.parametrize("value", [object(), {"a": {1, object()}}])
def test_what_can_not_be_json_is_an_error(value: Any) -> None:
    with pytest.raises(TypeError):
        encode_json(value)
