"""
Templates in scenario files: the texts and JSON bodies that adapters send, and what these may use of a
conversation.

Jinja2 in a sandbox: a template can read the variables it is given, and nothing else. A string that
is one single ``{{ expression }}`` keeps the expression's own type, so that ``"{{ messages }}"`` in a
JSON body becomes a list and not its spelling. ``{each: ..., if: ...}`` whose texts use ``message`` becomes a
list as well, for systems with messages of a shape of their own.

Making a template only reads it: Jinja computes constant expressions while it compiles (``{{ 9**(9**9) }}``,
``{{ []|tojson|tojson|... }}``), so that is left until the first rendering.

Jinja takes 10 us and more for a text of any kind, so texts without an expression are rendered once, and
those whose expressions are names alone, as in ``{{ question }}`` or ``{{ conversation.id }}``, are put
together here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_OID, uuid5

from jinja2 import StrictUndefined, TemplateError, meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from replay.core.adapter import ChatRequest
from replay.core.message import message_fields

if TYPE_CHECKING:
    from jinja2 import Template as JinjaTemplate
    from jinja2.environment import TemplateExpression

    from replay.core.conversation import Conversation


_ENVIRONMENT = ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
_FAILURES = (
    TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError,
    MemoryError,
)  # fmt: skip
"""What a template raises that can't be rendered."""
_EACH_MESSAGE = "each message"
"""The variable with what ``message`` stands for, one after another; no template can name it."""
_SINGLE = re.compile(r"\A\s*\{\{[-+]?((?:(?!-?\}\}).)*)-?\}\}\s*\Z", re.DOTALL)


def _message(text: str, error: Exception) -> str:
    shown = text if len(text) <= 60 else text[:57] + "..."
    return f'template "{shown}": {error}'


class TextTemplate:
    """A text with ``{{ variables }}``; renders to a string."""

    names: frozenset[str]
    """The variables that it uses and doesn't set itself."""

    def __init__(self, text: str) -> None:
        """
        Raises:
            ValueError: *text* is not a template.
        """
        self.text = text
        self.names, self._parts = _read(text)

    @cached_property
    def _template(self) -> JinjaTemplate:
        return _ENVIRONMENT.from_string(self.text)

    def render(self, variables: Mapping[str, Any]) -> str:
        """
        Raises:
            ValueError: a variable is missing, or an expression can't be evaluated.
        """
        if self._parts is not None:
            constant, paths = self._parts
            if not paths:
                return constant[0]
            try:
                texts = [str(_look_up(path, variables)) for path in paths]
            except KeyError:
                pass  # a global of Jinja's, or none at all, which Jinja says in its own words
            else:
                return constant[0] + "".join(map(str.__add__, texts, constant[1:]))
        try:
            return self._template.render(variables)
        except _FAILURES as error:
            raise ValueError(_message(self.text, error)) from error


class Template:
    """A JSON value whose strings are templates; renders to a JSON value."""

    def __init__(self, value: Any) -> None:
        """
        Raises:
            ValueError: a string in *value* is not a template.
        """
        self.value = value
        self._render = _compile(value)

    @property
    def names(self) -> frozenset[str]:
        """The variables that its texts use and don't set themselves; ``message`` comes from ``messages``."""
        names = _names(self.value)
        return names - {"message"} | {"messages"} if "message" in names else names

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
        if "each" in members and members.keys() <= {"each", "if"} and "message" in _names(value):
            return partial(_messages, members["each"], members.get("if"))
        return lambda variables: {key: render(variables) for key, render in members.items()}
    if isinstance(value, Sequence):
        items = [_compile(item) for item in value]
        return lambda variables: [render(variables) for render in items]
    return lambda variables: value


def _messages(
    each: Callable[[Mapping[str, Any]], Any],
    condition: Callable[[Mapping[str, Any]], Any] | None,
    variables: Mapping[str, Any],
) -> list[Any]:
    """Return *each* rendered for every message that meets *condition*, without null fields."""
    found = ({**variables, "message": message} for message in variables[_EACH_MESSAGE])
    return [_without_nulls(each(own)) for own in found if condition is None or condition(own)]


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [*map(_without_nulls, value)] if isinstance(value, list) else value


def _names(value: Any) -> frozenset[str]:
    return frozenset().union(*(TextTemplate(text).names for text in _texts(value)))


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts in *value*, keys aside."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | Sequence):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)


_Parts = tuple[list[str], list[tuple[str, ...]]]


def _read(text: str) -> tuple[frozenset[str], _Parts | None]:
    """
    Return the names of the variables in the template *text*, and its parts; nothing is evaluated.

    Raises:
        ValueError: *text* is not a template, or uses a filter or a test that there is none of.
    """
    try:
        tree = _ENVIRONMENT.parse(text)
        parts = _parts(tree)
        # Jinja finds the variables by compiling, and so would compute what consists of constants alone.
        return frozenset(meta.find_undeclared_variables(_NoConstants().visit(tree))) - {_CONSTANT}, parts
    except _FAILURES as error:
        raise ValueError(_message(text, error)) from error


_CONSTANT = "a constant"
"""No variable can be called so."""


class _NoConstants(NodeTransformer):
    """Puts a variable in place of each constant."""

    def visit_Const(self, node: nodes.Const) -> nodes.Node:
        return nodes.Name(_CONSTANT, "load", lineno=node.lineno, environment=node.environment)

    def visit_List(self, node: nodes.List | nodes.Dict | nodes.Tuple) -> nodes.Node:
        if list(node.iter_child_nodes()):
            return self.generic_visit(node)
        return nodes.Name(_CONSTANT, "load", lineno=node.lineno, environment=node.environment)

    visit_Dict = visit_Tuple = visit_List


def _parts(tree: nodes.Template) -> _Parts | None:
    """
    Return the constant texts around the names in *tree*, one more than names, and the names' parts.

    None where something else is in it.
    """
    constant: list[str] = [""]
    paths: list[tuple[str, ...]] = []
    for output in tree.body:
        if not isinstance(output, nodes.Output):
            return None
        for node in output.nodes:
            if isinstance(node, nodes.TemplateData):
                constant[-1] += node.data
            elif path := _path(node):
                paths.append(path)
                constant.append("")
            else:
                return None
    return constant, paths


def _path(node: nodes.Node) -> tuple[str, ...]:
    """Return ``("conversation", "id")`` for ``conversation.id``; empty for anything but names with dots."""
    if isinstance(node, nodes.Name):
        return (node.name,)
    # What a dict has as an attribute, Jinja takes rather than an item of that name.
    if isinstance(node, nodes.Getattr) and not hasattr(dict, node.attr) and (before := _path(node.node)):
        return (*before, node.attr)
    return ()


def _look_up(path: tuple[str, ...], variables: Mapping[str, Any]) -> Any:
    """
    Raises:
        KeyError: nothing stands there, or it isn't for us to say what does.
    """
    value = variables[path[0]]
    for name in path[1:]:
        if type(value) is not dict:
            raise KeyError(name)
        value = value[name]
    return value


def _compile_expression(text: str, expression: str) -> Callable[[Mapping[str, Any]], Any]:
    _, parts = _read(text)
    path = parts[1][0] if parts and parts[1] else None

    @cache
    def compile_once() -> TemplateExpression:
        # In brackets a tuple is one expression, as it is for the parser above.
        return _ENVIRONMENT.compile_expression(f"({expression})", undefined_to_none=False)

    def render(variables: Mapping[str, Any]) -> Any:
        if path is not None:
            try:
                return _look_up(path, variables)
            except KeyError:
                pass  # as for texts
        try:
            value = compile_once()(**variables)
            if isinstance(value, StrictUndefined):
                str(value)  # raises, naming the variable
        except _FAILURES as error:
            raise ValueError(_message(text, error)) from error
        return value

    return render


class _Variables(Mapping[str, Any]):
    """What a template may use; each is made when it is first asked for, since few templates use all."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Mapping[str, Callable[[], Any]]) -> None:
        self._make = make
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._make[name]()
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._make

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._make if name != _EACH_MESSAGE)

    def __len__(self) -> int:
        return len(self._make) - 1


def template_variables(
    conversation: Conversation, request: ChatRequest | None = None, *, session_id: str | None = None
) -> Mapping[str, Any]:
    """
    Return the variables that a template may use for a request, or for opening or closing a session.

    ``question``, ``depth``, ``history`` (objects with ``question`` and ``answer``; the answer is empty where
    the view hides it), ``messages`` (the whole request as Chat Completions messages, with recorded
    instructions and tool calls), ``system_prompt`` (the instructions up to the question, separated by blank
    lines), ``conversation`` (``id``, ``title``, ``section``, ``background``), ``passage`` (all passages,
    separated by blank lines), ``passages`` (objects with ``id``, ``title``, ``text``), ``session_id``,
    ``user_id`` (one for all sessions of a played conversation, never used again), ``seed`` (None unless the
    scenario says ``play.seed_per_repeat``) and ``traceparent`` (None unless it has ``telemetry``). Gold
    answers and standalone questions are not among them. Within ``{each: ...}`` there is also ``message``:
    ``id``, ``role``, ``content``, ``tool_calls``, ``tool_call_id`` and ``name``.

    Args:
        conversation: The conversation that is replayed.
        request: The request to send; None when a session is opened or closed. The question is then empty.
        session_id: The id of the session, if it has one.

    Returns:
        A mapping from name to value; a value is computed when it is first read.
    """
    asked = ChatRequest(question="", history=(), depth=1) if request is None else request
    return _Variables(
        {
            "question": lambda: asked.question,
            "depth": lambda: asked.depth,
            "history": lambda: [{"question": e.question, "answer": e.answer} for e in asked.history],
            "messages": lambda: list(map(message_fields, asked.messages)),
            "system_prompt": lambda: asked.system_prompt,
            "conversation": lambda: {
                "id": conversation.id,
                "title": conversation.title,
                "section": conversation.section,
                "background": conversation.background,
            },
            "passage": lambda: "\n\n".join(p.text for p in conversation.passages),
            "passages": lambda: [
                {"id": p.id, "title": p.title, "text": p.text} for p in conversation.passages
            ],
            "session_id": lambda: session_id,
            "user_id": lambda: conversation.user or conversation.id,
            "seed": lambda: asked.seed,
            "traceparent": lambda: asked.traceparent,
            _EACH_MESSAGE: lambda: _each_message(asked, session_id or conversation.id),
        }
    )


def _each_message(request: ChatRequest, session: str) -> list[dict[str, Any]]:
    """
    Return the messages of *request* with all fields that one of them may have, and ids.

    A message has the same id in each request of a *session* whose history only grows, and no two have the
    same: there are servers that put them into a database by it, or together with those they know.
    """
    first = request.depth - len(request.history)
    none = dict.fromkeys(("tool_calls", "tool_call_id", "name"))
    return [
        {"id": str(uuid5(NAMESPACE_OID, f"{session} {first} {number}")), **none, **message_fields(message)}
        for number, message in enumerate(request.messages)
    ]
