"""A kept reply is read as it was kept, or it is said why not."""

from __future__ import annotations

import zlib

import pytest

from replay.core.errors import RunError
from replay.store import rows
from replay.store.rows import raw_reply


def stored(data):
    return ("2026-03-01", "c", "s", "gold", 1, 1, "answered", 9, 0, data)


def test_a_reply_comes_back_as_it_was():
    assert raw_reply(stored(zlib.compress(b"Yes."))).data == b"Yes."


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (zlib.compress(bytes(1001)), "larger than any can be"),
        (zlib.compress(b"Yes.")[:-3], "is cut"),
        (b"no stream", "incorrect header"),
        (None, "can't be read"),
    ],
)
def test_what_somebody_put_in_its_place_is_told(data, why, monkeypatch):
    """A few bytes of a folder that was sent could come to gigabytes."""
    monkeypatch.setattr(rows, "LARGEST_BYTES", 1000)
    with pytest.raises(RunError, match=why):
        raw_reply(stored(data))
