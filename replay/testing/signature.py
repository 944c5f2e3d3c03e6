"""What every plug-in with a signature must keep."""

from __future__ import annotations

import pickle
from typing import Protocol, TypeVar


class Signed(Protocol):
    @property
    def signature(self) -> str: ...


S = TypeVar("S", bound=Signed)


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


def copy_in_another_process(plugin: S, name: str, step: str) -> S:
    """
    Return *plugin*, called *name* in messages, as it arrives in another process.

    Raises:
        AssertionError: it can't be sent there, and *step* says what to do; or it is another one there.
    """
    try:
        copy: S = pickle.loads(pickle.dumps(plugin))
    except Exception as error:
        raise AssertionError(f"the {name} can't be pickled ({error}): {step}") from error
    assert copy.signature == plugin.signature, "the copy in another process has another signature"
    return copy
