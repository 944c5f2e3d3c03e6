"""What every signature must keep, whatever it signs."""

from __future__ import annotations

from typing import Protocol


class Signed(Protocol):
    @property
    def signature(self) -> str: ...


def check_signature(plugin: Signed, before: str) -> None:
    """
    Make sure that the signature is still what it was *before* the plug-in was used, and one word.

    Raises:
        AssertionError: it isn't; the message says what to do.
    """
    now = plugin.signature
    assert now == before, (
        f'the signature was "{before}" and is "{now}" once the plug-in was used: make it of settings alone'
    )
    assert now, "the signature is empty: give it the name, and every setting that can move a number"
    assert not any(character.isspace() for character in now), (
        f'the signature "{now}" has a space in it: write it as one word, as in "f1:squad+cjk+max"'
    )
