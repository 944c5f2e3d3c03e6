"""Settings that say what is sent, checked before anything is: addresses, headers, templates' variables."""

from __future__ import annotations

import os
import re
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from replay import Conversation, Template, TextTemplate, keep_secret, template_variables

LONGEST_SECRET_BYTES = 64 * 1024

_FILE = "_FILE"
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_HOST_AND_REST = re.compile(r"((?:\w+://)?[^/?#]*)(.*)", re.DOTALL)
_NAME = re.compile(r"\w+")


def check_count(setting: str, number: int | None) -> None:
    """
    Make sure that *number* is at least 1.

    Raises:
        ValueError: *number* is less than 1.
    """
    if number is not None and number < 1:
        raise ValueError(f"{setting} {number} is not a positive whole number")


def check_seconds(setting: str, seconds: float | None) -> None:
    """
    Make sure that *seconds* is more than 0.

    Raises:
        ValueError: *seconds* is not more than 0.
    """
    if seconds is not None and not seconds > 0:
        raise ValueError(f"{setting} {seconds:g} is not a positive number of seconds")


def check_address(
    url: str,
    setting: str,
    *,
    schemes: Sequence[str] = ("http", "https"),
    example: str = "http://localhost:8000/v1",
) -> None:
    """
    Make sure that *url*, which may be a template, is an address of one of *schemes* without credentials.

    Raises:
        ValueError: *url* is not such an address, or holds credentials.
    """
    host_is_template = "{{" in url.partition("://")[2].partition("/")[0]
    try:
        parts = urlsplit(url.partition("{{")[0])
    except ValueError as error:
        raise ValueError(f"{setting} is not a URL: {error}") from error
    if parts.scheme not in schemes or not (parts.netloc or host_is_template):
        raise ValueError(f'{setting} "{url}" is not an address like {example}')
    if "@" in parts.netloc:
        raise ValueError(f"{setting} holds credentials; keys are read from environment variables")


def from_environment(name: str, setting: str) -> str:
    """
    Return the secret in the environment variable *name*.

    Where that ends in ``_FILE``, in the file that it names.

    Files are how Docker, Kubernetes and systemd hand secrets over, and the ending is Docker's convention.
    A file is read only where the settings say so by that ending. What is found is hidden from now on in all
    that is kept or shown.

    Raises:
        ValueError: the variable is not set, or the file can't be read.
    """
    value = os.environ.get(name, "").strip()
    if not value:
        how = "with the path of a file that holds the value " if name.endswith(_FILE) else ""
        raise ValueError(
            f"{setting}: the environment variable {name} is not set; export it {how}and try again"
        )
    if name.endswith(_FILE):
        value = _from_file(Path(value), f"{setting}: {name}")
    keep_secret(value)
    return value


def _from_file(path: Path, setting: str) -> str:
    try:
        with path.open("rb") as stream:
            content = stream.read(LONGEST_SECRET_BYTES + 1)
        value = content.decode().strip()
    except OSError as error:
        raise ValueError(f'{setting} names "{path}", which can\'t be read: {error.strerror}') from error
    except UnicodeDecodeError:
        # Not chained: its message shows a part of the secret.
        raise ValueError(f'{setting} names "{path}", which is not UTF-8 text') from None
    if not value:
        raise ValueError(f'{setting} names "{path}", which is empty')
    if len(content) > LONGEST_SECRET_BYTES or "\n" in value:
        raise ValueError(f'{setting} names "{path}", which holds more than one line; a key is one line')
    return value


def headers_from_environment(headers: Mapping[str, str]) -> dict[str, str]:
    """
    Return *headers* filled in: each a variable's name, or a text with ``${NAME}`` in it.

    Raises:
        ValueError: a variable is not set.
    """
    filled = {header: _filled_in(text, f"headers_env.{header}") for header, text in headers.items()}
    for value in filled.values():
        scheme, _, credentials = value.partition(" ")
        if scheme.lower() == "basic":
            with suppress(ValueError):  # else it isn't what RFC 7617 says
                name_and_password = b64decode(credentials, validate=True).decode()
                keep_secret(name_and_password)
                keep_secret(name_and_password.partition(":")[2])
    return filled


def filled_address(url: str, setting: str) -> str:
    """
    Return *url* with each ``${NAME}`` in its path or query filled in, for addresses that have a key in them.

    Raises:
        ValueError: a variable is not set, or stands in place of the host, which a scenario has to show.
    """
    match = _HOST_AND_REST.fullmatch(url)
    assert match is not None, "it matches any text"
    host, rest = match.groups()
    if _VARIABLE.search(host):
        raise ValueError(
            f"{setting}: ${{NAME}} can stand behind the host; write the host itself out, so that one sees "
            "who is asked"
        )
    return host + _VARIABLE.sub(lambda match: from_environment(match[1], setting), rest)


def _filled_in(text: str, setting: str) -> str:
    if _NAME.fullmatch(text):
        return from_environment(text, setting)
    if not _VARIABLE.search(text):
        raise ValueError(
            f"{setting} is neither the name of an environment variable nor a text with ${{NAME}} in it"
        )
    return _VARIABLE.sub(lambda match: from_environment(match[1], setting), text)


def check_variables(
    value: Any, setting: str, *, more: Sequence[str] = (), unknown: Sequence[str] = ()
) -> None:
    """
    *more* are variables that this setting knows beside those that all know, *unknown* those that it doesn't.

    Raises:
        ValueError: a template in *value* uses a variable that there is none of.
    """
    of_all = [name for name in (*_variables(), *more) if name not in unknown]
    for place, text, of_a_message in _texts(value, setting):
        known = [*of_all, "message"] if of_a_message and "messages" in of_all else of_all
        try:
            used = TextTemplate(text).names
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from error
        if place.endswith(".if") and of_a_message and "{{" not in text:
            raise ValueError(f'{place}: "{text}" is a text as it stands; write "{{{{ {text} }}}}"')
        for name in sorted(used):
            if name not in known:
                close = get_close_matches(name, known, n=1)
                meant = f'; did you mean "{close[0]}"?' if close else ""
                raise ValueError(f'{place}: there is no variable "{name}"{meant} (known: {", ".join(known)})')


def uses_seed(*values: Any) -> bool:
    """Return whether a template in *values* has the seed."""
    return "seed" in Template(values).names


def unsent_system_prompts(*values: Any, where: str) -> str | None:
    """None where a template in *values* has the recorded system prompts, else how to send them."""
    if Template(values).names & {"messages", "system_prompt"}:
        return None
    return f"{{{{ messages }}}} or {{{{ system_prompt }}}} in {where} sends them"


def replaced_system_prompts(template: Template | TextTemplate | None, setting: str) -> str | None:
    """Return how to send the recorded system prompts that *template* replaces; None where it has them."""
    if template is None or template.names & {"messages", "system_prompt"}:
        return None
    return f"its setting {setting} stands in their place; {{{{ system_prompt }}}} in it puts them there"


def _texts(value: Any, place: str, *, of_a_message: bool = False) -> Iterator[tuple[str, str, bool]]:
    """Yield all texts in *value*, each with its place and whether it stands in ``{each: ..., if: ...}``."""
    if isinstance(value, str):
        yield place, value, of_a_message
    elif isinstance(value, Mapping):
        inside = of_a_message or ("each" in value and value.keys() <= {"each", "if"})
        for key, item in value.items():
            yield from _texts(item, f"{place}.{key}", of_a_message=inside)
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        for number, item in enumerate(value):
            yield from _texts(item, f"{place}[{number}]", of_a_message=of_a_message)


@cache
def _variables() -> tuple[str, ...]:
    return tuple(template_variables(Conversation(id="", turns=())))
