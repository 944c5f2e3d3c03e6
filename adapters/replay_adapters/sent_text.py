"""Settings that say what is sent, checked before anything is: addresses, headers, templates' variables."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from jinja2.sandbox import ImmutableSandboxedEnvironment

from replay import Conversation, template_variables

_VARIABLE = re.compile(r"\$\{(\w+)\}")
_NAME = re.compile(r"\w+")


def check_address(url: str, setting: str) -> None:
    """
    Raises:
        ValueError: *url* is not an http(s) address, or holds credentials.
    """
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ValueError(f"{setting} is not a URL: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ValueError(f'{setting} "{url}" is not an address like http://localhost:8000/v1')
    if "@" in parts.netloc:
        raise ValueError(f"{setting} holds credentials; keys are read from environment variables")


def from_environment(name: str, setting: str) -> str:
    """
    The value of the environment variable *name*.

    Raises:
        ValueError: it is not set.
    """
    value = os.environ.get(name, "").strip()
    if not value:
        raise ValueError(f"{setting}: the environment variable {name} is not set; export it and try again")
    return value


def headers_from_environment(headers: Mapping[str, str]) -> dict[str, str]:
    """
    *headers* filled in: each a variable's name, or a text with ``${NAME}`` in it.

    Raises:
        ValueError: a variable is not set.
    """
    return {header: _filled_in(text, f"headers_env.{header}") for header, text in headers.items()}


def _filled_in(text: str, setting: str) -> str:
    if _NAME.fullmatch(text):
        return from_environment(text, setting)
    if not _VARIABLE.search(text):
        raise ValueError(
            f"{setting} is neither the name of an environment variable nor a text with ${{NAME}} in it"
        )
    return _VARIABLE.sub(lambda match: from_environment(match[1], setting), text)


def check_variables(value: Any, setting: str) -> None:
    """
    Raises:
        ValueError: a template in *value* uses a variable that there is none of.
    """
    from jinja2 import TemplateSyntaxError
    from jinja2.meta import find_undeclared_variables

    if isinstance(value, str):
        try:
            used = find_undeclared_variables(_environment().parse(value))
        except TemplateSyntaxError as error:
            raise ValueError(f'{setting}: template "{value[:60]}": {error}') from error
        for name in sorted(used - set(_environment().globals)):
            if name not in _variables():
                close = get_close_matches(name, _variables(), n=1)
                meant = f'; did you mean "{close[0]}"?' if close else ""
                known = ", ".join(_variables())
                raise ValueError(f'{setting}: there is no variable "{name}"{meant} (known: {known})')
    elif isinstance(value, Mapping):
        for key, item in value.items():
            check_variables(item, f"{setting}.{key}")
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        for number, item in enumerate(value):
            check_variables(item, f"{setting}[{number}]")


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    return ImmutableSandboxedEnvironment()


@cache
def _variables() -> tuple[str, ...]:
    return tuple(template_variables(Conversation(id="", turns=())))
