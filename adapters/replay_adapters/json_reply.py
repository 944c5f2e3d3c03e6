"""
What is taken out of a JSON reply, by JMESPath (https://jmespath.org): texts, passages and steps.

Passages are bare texts or objects, steps messages of Chat Completions or calls of tools with their results.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from math import isfinite
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.visitor import TreeInterpreter
from msgspec.structs import replace

from replay import AdapterReplyError, Message, Passage, json_text, match_results, tool_call_in
from replay_adapters.http.reply import STUMBLES, HttpReply, ReceivedText, bad_reply_error


def passages_of(items: Sequence[Any]) -> tuple[Passage, ...] | None:
    """
    Return *items* as passages, or None if they can't all be passages.

    Passages without an id are numbered from 1.
    """
    passages: list[Passage] = []
    for number, item in enumerate(items, 1):
        if isinstance(item, str):
            passages.append(Passage(id=str(number), text=item))
            continue
        if isinstance(item, Passage):
            passages.append(item)
            continue
        if not isinstance(item, Mapping):
            return None
        parts = {key: item.get(key) for key in ("id", "text", "title")}
        if all(part is None for part in parts.values()) or any(
            not isinstance(part, str | int | None) for part in parts.values()
        ):
            return None
        spelt = {key: "" if part is None else str(part) for key, part in parts.items()}
        passages.append(Passage(id=spelt["id"] or str(number), text=spelt["text"], title=spelt["title"]))
    return tuple(passages)


RESULTS = ("result", "output")
"""Under which a call has its result, where that stands beside it."""


def steps_of(items: Sequence[Any]) -> tuple[Message, ...] | None:
    """Return *items* as steps, or None if they can't all be steps."""
    steps: list[Message] = []
    for item in items:
        if isinstance(item, Message):
            steps.append(item)
            continue
        if isinstance(item, Mapping) and _goes_on(item, steps):
            continue
        found = _steps_in(item) if isinstance(item, Mapping) else None
        if found is None:
            return None
        steps += found
    return match_results(steps)


def _goes_on(item: Mapping[str, Any], steps: list[Message]) -> bool:
    """Return whether *item* is a further piece of the arguments of a call in *steps*, which then has it."""
    id, piece = item.get("id"), item.get("arguments")
    if not isinstance(id, str) or not isinstance(piece, str) or "name" in item or "role" in item:
        return False
    for position in reversed(range(len(steps))):
        for call in steps[position].tool_calls:
            if call.id == id:
                # "{}" stands for none yet.
                whole = replace(call, arguments=call.arguments.removeprefix("{}") + piece)
                calls = tuple(whole if one is call else one for one in steps[position].tool_calls)
                steps[position] = replace(steps[position], tool_calls=calls)
                return True
    return False


def _steps_in(item: Mapping[str, Any]) -> list[Message] | None:
    role, name = item.get("role"), item.get("name")
    if role == "tool":
        id, name = (one if isinstance(one, str) else None for one in (item.get("tool_call_id"), name))
        return [Message(role="tool", text=json_text(item.get("content")), tool_call_id=id, name=name)]
    if role == "assistant":
        listed = item.get("tool_calls") or []
        calls = [tool_call_in(one) for one in listed] if isinstance(listed, list) else [None]
        known = tuple(call for call in calls if call is not None)
        text = json_text(item.get("content"))
        return [Message(role="assistant", text=text, tool_calls=known)] if len(known) == len(calls) else None
    call = tool_call_in(item) if role is None else None
    if call is None:
        return None
    results = [item[key] for key in RESULTS if item.get(key) is not None]
    return [
        Message(role="assistant", tool_calls=(call,)),
        *(Message(role="tool", text=json_text(result), name=call.name) for result in results[:1]),
    ]


ReceivedReply = HttpReply | ReceivedText
"""What a JSON value came in."""
LARGEST_RESULT = 64 * 1024 * 1024
"""In characters, what stands several times in it counted as often: four times the longest reply. Whatever is
no text counts as ``OTHER_VALUE`` of them."""
OTHER_VALUE = 8


class _TooLarge(JMESPathError):
    """Says so in its message."""


class _DepthMeasure(TreeInterpreter):
    """
    Evaluates one path, as far as nothing it makes is larger than ``LARGEST_RESULT``.

    ``[@, @]`` doubles what is there at no cost, so that writing a few dozen of them out would take for ever.
    """

    def __init__(self) -> None:
        super().__init__()
        self._sizes: dict[int, tuple[int, Any]] = {}
        """By identity, with what it belongs to, so that nothing else gets that identity."""

    def visit_multi_select_list(self, node: Any, value: Any) -> Any:
        return self._check_size(super().visit_multi_select_list(node, value))

    def visit_multi_select_dict(self, node: Any, value: Any) -> Any:
        return self._check_size(super().visit_multi_select_dict(node, value))

    def visit_flatten(self, node: Any, value: Any) -> Any:
        return self._check_size(super().visit_flatten(node, value))

    def _check_size(self, made: Any) -> Any:
        if self._size(made) > LARGEST_RESULT:
            raise _TooLarge(f"it makes more than {LARGEST_RESULT:,} characters of the reply")
        return made

    def _size(self, value: Any) -> int:
        if isinstance(value, str):
            return len(value) + 2
        if not isinstance(value, list | dict):
            return OTHER_VALUE
        if id(value) not in self._sizes:
            parts = value if isinstance(value, list) else [*value, *value.values()]
            self._sizes[id(value)] = OTHER_VALUE + sum(map(self._size, parts)), value
        return self._sizes[id(value)][0]


class ReplyPath:
    """A place in a reply; its *setting*'s name is told in messages. Nothing stands at a path of None."""

    def __init__(self, expression: str | None, setting: str) -> None:
        """
        Raises:
            ValueError: *expression* is not a JMESPath.
        """
        self.expression = expression
        self.setting = setting
        self._compiled = None
        if expression is not None:
            try:
                self._compiled = jmespath.compile(expression)
            except JMESPathError as error:
                reason = " ".join(str(error).split())
                raise ValueError(f'{setting}: "{expression}" is not a JMESPath: {reason}') from error

    def find(self, reply: ReceivedReply, value: Any) -> Any:
        """
        Return the value at this path in *value*, the JSON of *reply*; None if there is none.

        Raises:
            AdapterReplyError: the reply is of another shape than the path was made for.
        """
        if self._compiled is None:
            return None
        try:
            return _DepthMeasure().visit(self._compiled.parsed, value)
        except JMESPathError as error:
            raise self.unusable(reply, f"can't be evaluated ({' '.join(str(error).split())})") from error
        except STUMBLES as error:  # also those of its functions: the ceiling of an infinite number
            raise self.unusable(reply, f"can't be evaluated ({bad_reply_error(error)})") from error

    def search(self, value: Any) -> Any:
        """Return the value at this path, as ``find``, but None if *value* has an unexpected shape."""
        try:
            return None if self._compiled is None else _DepthMeasure().visit(self._compiled.parsed, value)
        except STUMBLES:
            return None

    def holds(self, reply: ReceivedReply, value: Any) -> bool:
        """Return whether something true stands there."""
        return is_true(self.find(reply, value))

    def text(self, reply: ReceivedReply, value: Any) -> str:
        """
        Return the text at this path, not empty; a number is converted.

        Raises:
            AdapterReplyError: there is no text.
        """
        found = self.find(reply, value)
        text = spelt_out(found)
        if text is None:
            raise self.unusable(reply, f"gives {_kind(found)}, not a text")
        if not text.strip():
            raise self.unusable(reply, "gives an empty text")
        return text

    def id(self, reply: ReceivedReply, value: Any) -> str | None:
        """Return the id at this path, a text or a whole number; None if there is none."""
        found = self.find(reply, value)
        return (spelt_out(found) or None) if isinstance(found, str | int) else None

    def passages(self, reply: ReceivedReply, value: Any) -> tuple[Passage, ...]:
        """
        Return the passages at this path: texts, or objects with any of ``id``, ``text`` and ``title``.

        Raises:
            AdapterReplyError: something else stands there.
        """
        found = self.find(reply, value)
        if not is_true(found):
            return ()
        if not isinstance(found, list):
            raise self.unusable(reply, f"gives {_kind(found)}, not a list of passages")
        passages = passages_of(found)
        if passages is None:
            raise self.unusable(
                reply, "gives a list with something else than texts or objects with id, text or title in it"
            )
        return passages

    def steps(self, reply: ReceivedReply, values: Iterable[Any]) -> tuple[Message, ...]:
        """
        Return the steps that stand there in *values*, which *reply* brought: one of them or a list in each.

        Raises:
            AdapterReplyError: something else stands there.
        """
        if self._compiled is None:
            return ()
        found = [self.find(reply, value) for value in values]
        lists = [one if isinstance(one, list) else [one] for one in found if is_true(one)]
        steps = steps_of([*chain(*lists)])
        if steps is None:
            raise self.unusable(reply, "gives something else than calls of tools, by name, and their results")
        return steps

    def unusable(self, reply: ReceivedReply, why: str) -> AdapterReplyError:
        """Return an error that says what is wrong with what was found here in *reply*."""
        answered = "answered" if reply.status is None else f"answered {reply.status}"
        return AdapterReplyError(
            f'{reply.place} {answered}, but {self.setting} "{self.expression}" {why}: '
            f"{reply.excerpt()}; check the path against this reply",
            status=reply.status,
        )


def is_true(value: Any) -> bool:
    """Return whether *value* is true in JMESPath: 0 is; null, false and empty values aren't."""
    return value is not None and value is not False and value not in ("", [], {})


def list_under(value: Mapping[str, Any], name: str) -> Sequence[Any]:
    """Return the list under *name*; an empty one if there is none."""
    found = value.get(name)
    return found if isinstance(found, list) else ()


def spelt_out(value: Any) -> str | None:
    """
    Return *value*, a text or a number, as a text; None for anything else.

    NaN and Infinity, which some servers send, are no JSON (RFC 8259, section 6) and no answer.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return None if isinstance(value, float) and not isfinite(value) else str(value)
    return value if isinstance(value, str) else None


def with_titles(text: Any, buttons: Any) -> str:
    """Return *text* and the titles of *buttons*, a line each; what isn't as documented is left out."""
    titles = buttons if isinstance(buttons, list) else ()
    lines = [text, *(button.get("title") for button in titles if isinstance(button, Mapping))]
    return "\n".join(filter(None, (line.strip() for line in lines if isinstance(line, str))))


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    names = {bool: "true or false", dict: "an object", list: "a list", str: "a text"}
    if isinstance(value, float) and not isfinite(value):
        return f"{value}, which is no number"
    return names.get(type(value), "a number")
