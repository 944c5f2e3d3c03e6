"""
What looks like a key in a scenario: refused, since a scenario's text is kept in every run of it.

What tells a secret: the beginning that its issuer gives it, the name of the setting or header that it is
given to, and, under a name that speaks of keys, that it looks drawn by lot.

The beginnings are from the issuers' own documentation and from the rules of GitHub's secret scanning.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote

from replay.core.errors import Fault

HIDDEN = "***"
"""What stands for a secret wherever one is left out."""
NEXT_STEP = "a scenario is kept in every run of it, so put the key into an environment variable"
NO_SECRET = "list the key path under not_secret if it is none"

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
    "a Telegram bot token": r"\b\d{6,12}:[A-Za-z0-9_-]{30,}|/bot\d{3,}:[\w-]{10,}",
    "an address with a key": (
        r"\bhooks\.slack\.com/(?:services|workflows|triggers)/[\w/+-]{20,}"
        r"|\bdiscord(?:app)?\.com/api/webhooks/\d+/[\w-]{20,}"
        r"|\bwebhook\.office\.com/webhookb2/[\w@-]{20,}/[\w/-]{20,}"
    ),
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
}
_ISSUED_KEY = re.compile("|".join(f"({pattern})" for pattern in _ISSUED.values()))
_BEARER = re.compile(r"\b(?:Bearer|Basic|Token)\s+([A-Za-z0-9+/_=.~-]{16,})")
_PASSWORD_IN_URL = re.compile(r"://[^\s/:@{}$]*:([^\s/@{}$]+)@")
_QUERY = re.compile(r"[?&]([\w.-]+)=([^&#\s]+)")
_FILLED_IN = re.compile(r"\{\{|\{%|\$\{\w+\}")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")

_LIKELY_IN_QUERY = {"code", "hmac", "sas", "sig", "signature"}
"""Names of parameters that also stand for other things: Azure's function keys and shared access signatures
(SAS), signed addresses of Amazon and Google."""

_SURE = {"apikey", "authorization", "cookie", "passphrase", "passwd", "password", "pwd", "secret"}
_LIKELY = {"auth", "credential", "credentials", "key", "token"}
_PLACEHOLDERS = {
    "", "-", "a", "any", "anything", "dummy", "empty", "false", "none", "null", "no", "not-needed", "test",
    "true", "unused", "x", "xxx",
}  # fmt: skip
"""What is given to servers that want a key and take any."""


def name_suggests_secret(name: str) -> Literal["key", "likely-key", "variable"] | None:
    """
    Return what the *name* of a setting, header or parameter says about its value.

    Returns:
        ``key``: the value is a secret, whatever it looks like. ``likely-key``: it is a secret if it looks
        random. ``variable``: it is the name of the environment variable that holds a secret. None: the name
        says nothing.
    """
    words = _words(name)
    if words[1:] and words[-1] == "env":
        return "variable"
    if "file" in words or "path" in words:
        return None
    if not _SURE.isdisjoint(words) or {"api", "key"} <= set(words):
        return "key"
    return None if _LIKELY.isdisjoint(words) else "likely-key"


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def issuer_of_key(text: str) -> str | None:
    """Return the kind of key in *text* by its issuer's prefix, as ``a GitHub token``; None for none."""
    found = _ISSUED_KEY.search(text)
    return list(_ISSUED)[found.lastindex - 1] if found and found.lastindex else None


def key_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield (begin, end) of each key in *text* that an issuer's prefix, a header or an address gives away."""
    yield from (found.span() for found in _ISSUED_KEY.finditer(text))
    yield from (found.span() for found in _BEARER.finditer(text) if looks_random(found[1]))
    yield from (found.span(1) for found in _PASSWORD_IN_URL.finditer(text))


def secret_in(text: str) -> str | None:
    """Return the kind of secret that *text* holds, whatever its setting is called; None for none."""
    if issued := issuer_of_key(text):
        return issued
    if (bearer := _BEARER.search(text)) and looks_random(bearer[1]):
        return "a header with a key"
    if _PASSWORD_IN_URL.search(text):
        return "an address with a password"
    for name, given in _QUERY.findall(text):
        signs = not _LIKELY_IN_QUERY.isdisjoint(_words(name)) and looks_random(unquote(given))
        if signs or is_key(name, unquote(given)):
            return f'an address with a key ("{name}")'
    return None


def is_key(name: str, given: str, *, in_header: bool = False) -> bool:
    """
    Return whether the value *given* under *name* is a secret, as far as its name and looks can tell.

    Args:
        name: The name of the setting, header or parameter.
        given: Its value. Templates and placeholders are never secrets.
        in_header: Whether it is an HTTP header, where a name as ``token`` is enough.
    """
    tells, stripped = name_suggests_secret(name), given.strip()
    if tells is None or stripped.lower() in _PLACEHOLDERS or _FILLED_IN.search(given):
        return False
    if tells == "key" or (tells == "likely-key" and in_header):
        return len(stripped) >= 4 and not _VARIABLE.fullmatch(stripped)
    # Where a variable's name is wanted, somebody may have put the key itself.
    return looks_random(stripped) and not (tells == "variable" and _VARIABLE.fullmatch(stripped))


def looks_random(text: str) -> bool:
    """
    Return whether *text* looks random: long, one word, with letters and digits mixed in one of its parts.

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


class _SecretFinding(NamedTuple):
    path: str
    what: str
    advice: str
    secret: str


def secret_faults(value: Any, text: str, not_secret: Collection[str] = ()) -> tuple[list[Fault], Any]:
    """
    Return a fault for each value in a scenario that looks like a secret, and the scenario without these.

    Args:
        value: The scenario as parsed.
        text: The file's text; its comments are searched for keys with an issuer's prefix.
        not_secret: Key paths whose values the author declares not to be secret.

    Returns:
        The faults, and *value* with each secret masked, so that messages on other faults can quote it.
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
    """Return the kind of secret that *text* is, judged by the *names* that lead to it; None for none."""
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
