"""What looks like a key in a scenario: refused, since a scenario's text is kept in every run of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from replay.core.errors import Fault
from replay.core.redaction import HIDDEN
from replay.core.secret_patterns import is_key, issuer_of_key, secret_in

NEXT_STEP = "a scenario is kept in every run of it, so put the key into an environment variable"
NO_SECRET = "list the key path under not_secret if it is none"


class _SecretFinding(NamedTuple):
    path: str
    what: str
    advice: str
    secret: str


def secret_faults(value: Any, text: str, not_secret: Collection[str] = ()) -> tuple[list[Fault], Any]:
    """
    What in a scenario looks like a key, and the scenario without it, fit to be shown in other faults.

    *value* is what its *text* holds; of the text itself only what an issuer's beginning gives away is
    found, as in a comment. Key paths in *not_secret* are taken at their word.
    """
    found = list(_scan(value, "", (), not_secret))
    faults = [Fault(path=one.path, message=f"looks like {one.what}; {one.advice}") for one in found]
    faults += _in_comments(text)
    return faults, _without(value, {one.secret for one in found}) if found else value


def _scan(
    value: Any, path: str, names: Sequence[str], not_secret: Collection[str]
) -> Iterator[_SecretFinding]:
    if path in not_secret and path:
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            below = f"{path}.{key}" if path else str(key)
            named = () if below == "not_secret" else (*names, str(key))
            yield from _scan(item, below, named, not_secret)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _scan(item, f"{path}[{index}]", names, not_secret)
    elif isinstance(value, str) and (what := secret_in(value) or _by_its_name(value, names)):
        yield _SecretFinding(path, what, _advice(names, value), value)


def _by_its_name(text: str, names: Sequence[str]) -> str | None:
    """What *text* seems to be by the *names* that lead to it; None for nothing that is secret."""
    if not names:
        return None
    around = names[-2] if len(names) > 1 else ""
    in_header = around == "headers"
    if not is_key(around if around.endswith("_env") else names[-1], text, in_header=in_header):
        return None
    return f'the value of a secret header ("{names[-1]}")' if in_header else "a key"


def _advice(names: Sequence[str], text: str) -> str:
    if "://" in text:
        return f"{NEXT_STEP} and write ${{NAME}} where it stands in the address, or {NO_SECRET}"
    if names and names[-1].endswith("_env"):
        return f"{names[-1]} wants the name of the environment variable that holds it, or {NO_SECRET}"
    if "headers" in names:
        return f"{NEXT_STEP} and its name under headers_env, or {NO_SECRET}"
    return f"{NEXT_STEP} and name that (api_key_env, headers_env), or {NO_SECRET}"


def _in_comments(text: str) -> Iterator[Fault]:
    for number, line in enumerate(text.splitlines(), 1):
        if what := issuer_of_key(line.partition("#")[2]):
            message = f"what looks like {what} stands in a comment; comments are kept in runs too: remove it"
            yield Fault(path="", message=message, line=number)


def _without(value: Any, secrets: Collection[str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _without(item, secrets) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without(item, secrets) for item in value]
    return HIDDEN if isinstance(value, str) and value in secrets else value
