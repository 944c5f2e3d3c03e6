"""
Fields of a query or of a form: a mapping of templates, put together as ``application/x-www-form-urlencoded``.

A list gives a field several times; nothing (null) leaves it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from replay import Template
from replay_adapters.rendering import rendered, request_error

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class HttpFields:
    """Some fields; their *setting*'s name is told in messages."""

    def __init__(self, fields: Mapping[str, Any], setting: str) -> None:
        """
        Raises:
            ValueError: a text in *fields* is not a template.
        """
        self._fields = Template(fields)
        self._setting = setting

    def encoded(self, variables: Mapping[str, Any]) -> str:
        """
        Return the fields filled in and encoded; empty for none.

        Raises:
            AdapterRefusedError: a template can't be filled in, or what comes out can't be a field.
        """
        values = rendered(self._fields, variables)
        pairs = [(name, text) for name, value in values.items() for text in self._texts(name, value)]
        # The spaces of a query as %20, which all servers read; + is a form's alone.
        return urlencode(pairs, quote_via=quote, errors="surrogatepass")

    def _texts(self, name: str, value: Any) -> Iterator[str]:
        if isinstance(value, list | tuple):
            for item in value:
                yield from self._texts(name, item)
        elif isinstance(value, bool):
            yield "true" if value else "false"
        elif isinstance(value, str | int | float):
            yield str(value)
        elif value is not None:
            raise request_error(
                f"{self._setting}.{name} is an object, and a field is a text or a "
                "list of texts; take a part of it, or write it as JSON with | tojson"
            )


def with_query(url: str, query: str) -> str:
    """Return *url* with *query* behind what query it has already."""
    if not query:
        return url
    before, mark, fragment = url.partition("#")
    joined = "&" if "?" in before else "?"
    return f"{before}{joined}{query}{mark}{fragment}"
