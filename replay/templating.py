"""
Templates in scenario files: the texts and JSON bodies that adapters send.

Jinja2 in its sandbox: a template can read the variables it is given, and nothing else. A string that
is one single ``{{ expression }}`` keeps the expression's own type, so that ``"{{ messages }}"`` in a
JSON body becomes a list and not its spelling.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

if TYPE_CHECKING:
    from replay.conversation import Conversation
    from replay.history import Exchange

_ENVIRONMENT = ImmutableSandboxedEnvironment(
    undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True
)
_SINGLE = re.compile(r"\A\s*\{\{((?:(?!\}\}).)*)\}\}\s*\Z", re.DOTALL)


def _message(text: str, error: TemplateError) -> str:
    shown = text if len(text) <= 60 else text[:57] + "..."
    return f'template "{shown}": {error}'


class TextTemplate:
    """A text with ``{{ variables }}``; renders to a string."""

    def __init__(self, text: str) -> None:
        """
        Raises:
            ValueError: *text* is not a template.
        """
        self.text = text
        try:
            self._template = _ENVIRONMENT.from_string(text)
        except TemplateError as error:
            raise ValueError(_message(text, error)) from error

    def render(self, variables: Mapping[str, Any]) -> str:
        """
        Raises:
            ValueError: a variable is missing, or an expression can't be evaluated.
        """
        try:
            return self._template.render(variables)
        except (TemplateError, TypeError) as error:
            raise ValueError(f'template "{self.text[:60]}": {error}') from error


class Template:
    """A JSON value whose strings are templates; renders to a JSON value."""

    def __init__(self, value: Any) -> None:
        """
        Raises:
            ValueError: a string in *value* is not a template.
        """
        self.value = value
        self._render = _compile(value)

    def render(self, variables: Mapping[str, Any]) -> Any:
        """
        Raises:
            ValueError: a variable is missing, or an expression can't be evaluated.
        """
        return self._render(variables)


def _compile(value: Any) -> Callable[[Mapping[str, Any]], Any]:
    if isinstance(value, str):
        single = _SINGLE.match(value)
        return _compile_expression(value, single[1]) if single else TextTemplate(value).render
    if isinstance(value, Mapping):
        members = {key: _compile(item) for key, item in value.items()}
        return lambda variables: {key: render(variables) for key, render in members.items()}
    if isinstance(value, Sequence):
        items = [_compile(item) for item in value]
        return lambda variables: [render(variables) for render in items]
    return lambda variables: value


def _compile_expression(text: str, expression: str) -> Callable[[Mapping[str, Any]], Any]:
    try:
        compiled = _ENVIRONMENT.compile_expression(expression, undefined_to_none=False)
    except TemplateError as error:
        raise ValueError(_message(text, error)) from error

    def render(variables: Mapping[str, Any]) -> Any:
        try:
            value = compiled(**variables)
            if isinstance(value, StrictUndefined):
                str(value)  # raises, naming the variable
        except (TemplateError, TypeError) as error:
            raise ValueError(f'template "{text}": {error}') from error
        return value

    return render


def template_variables(
    conversation: Conversation,
    *,
    question: str = "",
    history: Sequence[Exchange] = (),
    depth: int = 1,
    session_id: str | None = None,
) -> dict[str, Any]:
    """
    What a template may use.

    ``question``, ``depth``, ``history`` (objects with ``question`` and ``answer``), ``messages`` (history
    and question as chat messages), ``conversation`` (``id``, ``title``, ``section``, ``background``),
    ``passage`` (all passages, separated by blank lines), ``passages`` (objects with ``id``, ``title``,
    ``text``) and ``session_id``. Gold answers and standalone questions are not among them.
    """
    exchanges = [{"question": e.question, "answer": e.answer} for e in history]
    messages = [
        {"role": role, "content": content}
        for e in history
        for role, content in (("user", e.question), ("assistant", e.answer))
    ]
    return {
        "question": question,
        "depth": depth,
        "history": exchanges,
        "messages": [*messages, {"role": "user", "content": question}],
        "conversation": {
            "id": conversation.id,
            "title": conversation.title,
            "section": conversation.section,
            "background": conversation.background,
        },
        "passage": "\n\n".join(p.text for p in conversation.passages),
        "passages": [{"id": p.id, "title": p.title, "text": p.text} for p in conversation.passages],
        "session_id": session_id,
    }
