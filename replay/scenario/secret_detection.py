"""
What looks like a key in a scenario: refused, since a scenario's text is kept in every run of it.

Three things tell a key: the beginning that its issuer gives it (those below are from the issuers' own
documentation and from the rules of GitHub's secret scanning), the name of the setting or header it is
given to, and, under a name that speaks of keys, that it looks drawn by lot.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from replay.core.errors import Fault

_ISSUED = {
    "an API key": (
        r"\b(?:sk|pk|rk)[-_](?:[A-Za-z]+\d*[-_])*(?=[A-Za-z0-9]*\d)(?=[A-Za-z0-9]*[A-Za-z])[A-Za-z0-9]{16,}"
    ),
    "a GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,})",
    "a GitLab token": r"\bglpat-[\w-]{20,}",
    "a Slack token": r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    "an AWS key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "a Google API key": r"\bAIza[\w-]{35}",
    "a Google access token": r"\bya29\.[\w-]{20,}",
    "a Hugging Face token": r"\bhf_[A-Za-z0-9]{30,}",
    "a Groq, Replicate, NVIDIA or Perplexity key": r"\b(?:gsk_|r8_|nvapi-|pplx-)[A-Za-z0-9_-]{30,}",
    "a JSON web token": r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*",
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
}
_ISSUED_KEY = re.compile("|".join(f"(?P<k{i}>{pattern})" for i, pattern in enumerate(_ISSUED.values())))
_BEARER = re.compile(r"\b(?:Bearer|Basic|Token)\s+([A-Za-z0-9+/_=.~-]{16,})")
_PASSWORD_IN_URL = re.compile(r"://[^\s/:@{}$]*:([^\s/@{}$]+)@")
_QUERY = re.compile(r"[?&]([\w.-]+)=([^&#\s]+)")
_FILLED_IN = re.compile(r"\{\{|\{%|\$\{\w+\}")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")

_SURE = {"authorization", "cookie", "passphrase", "passwd", "password", "pwd", "secret"}
"""Words of a name whose value is a key whatever it looks like."""
_LIKELY = {"auth", "credential", "credentials", "key", "token"}
"""Words of a name whose value is a key if it looks drawn by lot."""
_PLACEHOLDERS = {
    "", "-", "a", "any", "anything", "dummy", "empty", "false", "none", "null", "no", "not-needed", "test",
    "true", "unused", "x", "xxx",
}  # fmt: skip
"""What is given to servers that want a key and take any."""

NEXT_STEP = "a scenario is kept in every run of it, so put the key into an environment variable"
NO_SECRET = "list the key path under not_secret if it is none"


class _Found(NamedTuple):
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
    found = list(_looked_at(value, "", (), not_secret))
    faults = [Fault(path=one.path, message=f"looks like {one.what}; {one.advice}") for one in found]
    faults += _in_comments(text)
    return faults, _without(value, {one.secret for one in found}) if found else value


def _looked_at(value: Any, path: str, names: Sequence[str], not_secret: Collection[str]) -> Iterator[_Found]:
    if path in not_secret and path:
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            below = f"{path}.{key}" if path else str(key)
            named = () if below == "not_secret" else (*names, str(key))
            yield from _looked_at(item, below, named, not_secret)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _looked_at(item, f"{path}[{index}]", names, not_secret)
    elif isinstance(value, str) and (what := _what(value, names)):
        yield _Found(path, what, _advice(names), value)


def _what(text: str, names: Sequence[str]) -> str | None:
    """What *text*, found under *names*, seems to be; None for nothing that is secret."""
    if issued := _ISSUED_KEY.search(text):
        return list(_ISSUED)[int((issued.lastgroup or "k0")[1:])]
    if (bearer := _BEARER.search(text)) and _is_drawn(bearer[1]):
        return "a header with a key"
    if _PASSWORD_IN_URL.search(text):
        return "an address with a password"
    for name, given in _QUERY.findall(text):
        if not _FILLED_IN.search(given) and _is_secret(name, given, in_header=False):
            return f'an address with a key ("{name}")'
    if not names or _FILLED_IN.search(text):
        return None
    around = names[-2] if len(names) > 1 else ""
    in_header = around == "headers"
    name = around if around.endswith("_env") else names[-1]
    if _is_secret(name, text, in_header=in_header):
        return f'the value of a secret header ("{names[-1]}")' if in_header else "a key"
    return None


def _is_secret(name: str, given: str, *, in_header: bool) -> bool:
    """Whether what is *given* under *name* is a key, as far as names and looks can tell."""
    words = {word.lower() for word in _WORD.findall(name)}
    stripped = given.strip()
    if stripped.lower() in _PLACEHOLDERS or words & {"file", "path"}:
        return False
    if "env" in words:  # the name of a variable is wanted, and somebody may have put the key in its place
        return not _VARIABLE.fullmatch(stripped) and _is_drawn(stripped)
    is_api_key = "apikey" in words or {"api", "key"} <= words
    if words & _SURE or is_api_key or (in_header and words & _LIKELY):
        return len(stripped) >= 4 and not _VARIABLE.fullmatch(stripped)
    return bool(words & _LIKELY) and _is_drawn(stripped)


def _is_drawn(text: str) -> bool:
    """
    Whether *text* looks drawn by lot: long, one word, and letters and digits mixed in one of its parts.

    Names of models and files have their digits in parts of their own, or in short ones.
    """
    if len(text) < 16 or not re.fullmatch(r"[A-Za-z0-9+/_=.~-]+", text):
        return False
    if re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text, re.IGNORECASE):
        return True
    changes = (
        len(re.findall(r"[A-Za-z](?=\d)|\d(?=[A-Za-z])|[a-z](?=[A-Z])", part))
        for part in re.split(r"[-_./=+~]", text)
        if len(part) >= 10
    )
    return any(count >= 3 for count in changes)


def _advice(names: Sequence[str]) -> str:
    if names and names[-1].endswith("_env"):
        return f"{names[-1]} wants the name of the environment variable that holds it, or {NO_SECRET}"
    if "headers" in names:
        return f"{NEXT_STEP} and its name under headers_env, or {NO_SECRET}"
    return f"{NEXT_STEP} and name that (api_key_env, headers_env), or {NO_SECRET}"


def _in_comments(text: str) -> list[Fault]:
    faults = []
    for number, line in enumerate(text.splitlines(), 1):
        _, mark, comment = line.partition("#")
        if mark and (issued := _ISSUED_KEY.search(comment)):
            what = list(_ISSUED)[int((issued.lastgroup or "k0")[1:])]
            message = f"what looks like {what} stands in a comment; comments are kept in runs too: remove it"
            faults.append(Fault(path="", message=message, line=number))
    return faults


def _without(value: Any, secrets: Collection[str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _without(item, secrets) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without(item, secrets) for item in value]
    return "***" if isinstance(value, str) and value in secrets else value
