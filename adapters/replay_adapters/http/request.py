"""What is sent to a system: texts, address, query and body as templates, filled in for each question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple
from urllib.parse import quote, urlencode

from msgspec.structs import replace

from replay import (
    AdapterRefusedError,
    ChatRequest,
    Conversation,
    HistoryKeeper,
    Template,
    TextTemplate,
    template_variables,
)
from replay_adapters.setting_checks import check_address, check_variables, filled_address

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def render_template(template: Template | TextTemplate, variables: Mapping[str, Any]) -> Any:
    """
    Return *template* filled in with *variables*.

    Raises:
        AdapterRefusedError: *template* can't be filled in for this conversation.
    """
    try:
        return template.render(variables)
    except ValueError as error:
        raise request_error(error) from error


def request_error(reason: object) -> AdapterRefusedError:
    """Return the error for a request that can't be made; nothing has been sent then."""
    return AdapterRefusedError(f"the request can't be made: {reason}", reached=False)


def question_variables(
    conversation: Conversation, request: ChatRequest, kept_by: HistoryKeeper, session_id: str | None
) -> Mapping[str, Any]:
    """Return the template variables for *request*; ``history`` is empty if the system keeps the history."""
    shown = request if kept_by == "client" else replace(request, history=())
    return template_variables(conversation, shown, session_id=session_id)


class HttpFields:
    """
    Fields of a query or a form: templates, put together as ``application/x-www-form-urlencoded``.

    A list gives a field several times; nothing (null) leaves it out. The *setting*'s name is
    told in messages.
    """

    def __init__(self, fields: Mapping[str, Any], setting: str) -> None:
        """
        Raises:
            ValueError: a text in *fields* is not a template.
        """
        self._fields = Template(fields)
        self._setting = setting

    def encode(self, variables: Mapping[str, Any]) -> str:
        """
        Return the fields filled in and encoded; empty for none.

        Raises:
            AdapterRefusedError: a template can't be filled in, or what comes out can't be a field.
        """
        values = render_template(self._fields, variables)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRequest:
    """A request that opens a session, or closes it."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    url: str
    """Template."""
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] | None = None
    """``POST`` to open and ``DELETE`` to close, when left out."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the query, whose texts are templates."""
    body: Any = None
    """JSON value whose texts are templates; None sends no body."""


class Request(NamedTuple):
    """A request that is ready to be sent."""

    method: str
    url: str
    json_body: Any
    """None for none."""
    form: bytes | None
    """In the place of a JSON body."""


class RequestTemplate:
    """One kind of request to a system."""

    def __init__(
        self,
        *,
        method: str,
        url: str,
        params: Mapping[str, Any],
        body: Any,
        form: Mapping[str, Any] | None = None,
        setting: str = "",
        unknown: Sequence[str] = (),
    ) -> None:
        """
        *setting* stands before the settings' names in messages; the variables *unknown* can't be used.

        Raises:
            ValueError: a setting is wrong, or two don't go together.
        """
        self.method = method
        check_address(url, f"{setting}url")
        for name, value in (("url", url), ("params", params), ("body", body), ("form", form)):
            check_variables(value, f"{setting}{name}", unknown=unknown)
        for name, value in (("body", body), ("form", form)):
            if method == "GET" and value is not None:
                raise ValueError(f"{setting}{name}: a GET request has none; use {setting}params")
        if body is not None and form is not None:
            raise ValueError("body and form are both set; a request has one of them")
        self._url = TextTemplate(filled_address(url, f"{setting}url"))
        self._params = HttpFields(params, f"{setting}params") if params else None
        self._body = Template(body)
        self._form = None if form is None else HttpFields(form, "form")

    def filled_in(self, variables: Mapping[str, Any]) -> Request:
        """
        Return the request with its templates filled in.

        Raises:
            AdapterRefusedError: a template can't be filled in.
        """
        url = render_template(self._url, variables)
        if self._params:
            url = with_query(url, self._params.encode(variables))
        form = self._form.encode(variables).encode() if self._form else None
        return Request(self.method, url, render_template(self._body, variables), form)
