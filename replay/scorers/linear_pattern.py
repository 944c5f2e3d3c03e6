"""
Regular expressions that take no longer than a text is long, whoever wrote the pattern and the text.

Rust's regex, which comes with pydantic: Python's own takes for ever over some texts. It lacks look-around and
backreferences, which can't be had in linear time.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> Any:
    """
    Return *pattern*, for ``found_in``.

    Raises:
        ValueError: it is no regular expression that can be used; the message says why.
    """
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except SchemaError as error:
        reason = str(error).strip().splitlines()[-1].strip().removeprefix("error: ").rstrip(".")
        raise ValueError(
            f'"{pattern}" is not a regular expression that can be used ({reason}); write it '
            "in the syntax of https://docs.rs/regex, whose patterns take no longer than an answer is long"
        ) from error


def found_in(pattern: str, text: str) -> bool:
    """Return whether *pattern* matches anywhere in *text*; half a surrogate pair counts as "?"."""
    return bool(compile_pattern(pattern).isinstance_python(text.encode("utf-8", "replace").decode()))
