"""
Jinja2's sandbox with an end to it: what a template can't do, however it is written.

The sandbox keeps a template from attributes and functions that it is not given. It does not keep it from
taking all time or all memory: ``{{ 'a' * 10**9 }}``, loops within loops, texts doubled again and again. A
scenario may come from anybody, so here what can grow without end is refused, and the rest is counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jinja2 import Template, TemplateError, nodes, pass_context, pass_eval_context
from jinja2.exceptions import SecurityError
from jinja2.filters import do_format, do_tojson
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

MAX_CHARACTERS = 20_000_000
"""Of a rendered text, and of any text on the way to it."""
MAX_ITERATIONS = 100_000
"""Of all loops of a template together, each time it is rendered."""
MAX_RANGE = 10_000

FAILURES = (
    TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError,
    MemoryError,
)  # fmt: skip
"""What a template raises that can't be rendered."""

_REFUSED_NODES = {
    nodes.Macro: "macros", nodes.CallBlock: "call blocks", nodes.Include: "includes", nodes.Import: "imports",
    nodes.FromImport: "imports", nodes.Extends: "other templates", nodes.Block: "blocks",
    nodes.NSRef: "namespaces", nodes.FilterBlock: "filter blocks",
}  # fmt: skip
_REFUSED_FILTERS = (
    "batch", "center", "indent", "pprint", "random", "slice", "urlize", "wordwrap", "xmlattr",
)  # fmt: skip
_REFUSED_METHODS = {
    "center", "expandtabs", "format", "format_map", "join", "ljust", "replace", "rjust", "translate", "zfill",
}  # fmt: skip
_WIDE = re.compile(r"%[^a-zA-Z%]*(?:\d{4}|\*)")
_COUNTED, _JOINED = "counted by us", "joined by us"
_REFUSED_GLOBALS = ("cycler", "joiner", "lipsum", "namespace")


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """Templates that end, in time and in memory."""

    intercepted_binops = frozenset(["*", "**", "%", "+", "//", "/"])

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for name in _REFUSED_FILTERS:
            del self.filters[name]
        for name in _REFUSED_GLOBALS:
            del self.globals[name]
        self.globals["range"] = _range
        self.filters |= {"replace": _replace, "join": _join, "tojson": _tojson, "format": _format}
        self.filters |= {_COUNTED: _counted, _JOINED: _join}

    def _generate(self, source: nodes.Template, *rest: Any, **more: Any) -> str:
        _check(source)
        return super()._generate(source, *rest, **more)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "+":
            _check_length(_length(left) + _length(right))
        elif operator == "%" and isinstance(left, str):
            _check_format(left)
        elif not (_is_number(left) and _is_number(right)):
            raise SecurityError(f'"{operator}" is for numbers here')
        elif operator == "**" or max(abs(left), abs(right)) > 1e18:
            raise SecurityError("numbers can't be raised to a power here, nor be above 1e18")
        return super().call_binop(context, operator, left, right)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Whether a template may have *attr*; methods that make long texts of short ones it may not."""
        if isinstance(obj, str) and attr in _REFUSED_METHODS:
            return False
        return super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> None:
        """Refuse ``str.format``, which Jinja would let in: its widths have no limit."""
        if super().wrap_str_format(value) is not None:
            raise SecurityError('the method "format" is not for templates')


def rendered(template: Template, variables: Mapping[str, Any]) -> str:
    """
    *template* with *variables* in it.

    Raises:
        SecurityError: it is longer than any text that somebody wants to send.
        Exception: any of ``FAILURES``.
    """
    pieces, length = [], 0
    for piece in template.generate(variables):
        length += len(piece)
        _check_length(length)
        pieces.append(piece)
    return "".join(pieces)


def _check(template: nodes.Template) -> None:
    """
    Refuse what can't be bounded, and have loops and joined texts counted.

    Raises:
        SecurityError: something is in it that is not for templates.
    """
    for kind, called in _REFUSED_NODES.items():
        if template.find(kind) is not None:
            raise SecurityError(f"{called} are not for templates")
    alone = len(template.body) == 1  # an expression that is compiled alone is assigned by Jinja itself
    for assignment in template.find_all((nodes.Assign, nodes.AssignBlock, nodes.With)):
        # A list of lists of lists, each of them twice the one before, would take all memory to spell out.
        for kind in (nodes.List, nodes.Dict, nodes.Tuple):
            if not alone and assignment.find(kind) is not None:
                raise SecurityError("a variable can't be set to a list of one's own")
    for loop in template.find_all(nodes.For):
        if loop.recursive:
            raise SecurityError("recursive loops are not for templates")
    _Counting().visit(template)


class _Counting(NodeTransformer):
    """Has loops and joined texts go through filters of ours."""

    def visit_For(self, node: nodes.For) -> nodes.For:
        self.generic_visit(node)
        node.iter = nodes.Filter(node.iter, _COUNTED, [], [], None, None, lineno=node.lineno)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Filter:
        self.generic_visit(node)
        texts = nodes.List(node.nodes, lineno=node.lineno)
        return nodes.Filter(texts, _JOINED, [], [], None, None, lineno=node.lineno)


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str | list | tuple) else 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _check_length(length: int) -> None:
    if length > MAX_CHARACTERS:
        raise SecurityError(f"it grows beyond {MAX_CHARACTERS:,} characters")


def _check_format(text: str) -> None:
    if _WIDE.search(text):
        raise SecurityError("a width or precision in a format has three digits at most")


def _format(text: str, *values: Any, **named: Any) -> str:
    _check_format(str(text))
    return do_format(text, *values, **named)


def _range(*limits: int) -> range:
    found = range(*limits)
    if len(found) > MAX_RANGE:
        raise SecurityError(f"a range has {MAX_RANGE:,} numbers at most")
    return found


@pass_context
def _counted(context: Context, items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        count = context.vars["_iterations"] = context.vars.get("_iterations", 0) + 1
        if count > MAX_ITERATIONS:
            raise SecurityError(f"its loops run more than {MAX_ITERATIONS:,} times")
        yield item


@pass_eval_context
def _tojson(context: nodes.EvalContext, value: Any) -> Any:
    """Without the setting for how far to indent."""
    return do_tojson(context, value)


def _join(items: Iterable[Any], between: str = "", attribute: str | None = None) -> str:
    texts = [str(item if attribute is None else _member(item, attribute)) for item in items]
    _check_length(sum(map(len, texts)) + len(between) * len(texts))
    return between.join(texts)


def _member(item: Any, name: str) -> Any:
    return item.get(name, "") if isinstance(item, Mapping) else ""


def _replace(text: Any, old: str, new: str, count: int = -1) -> str:
    text = str(text)
    found = text.count(old) if count < 0 else min(count, text.count(old))
    _check_length(len(text) + found * len(new))
    replaced: str = text.replace(old, new, count)
    return replaced
