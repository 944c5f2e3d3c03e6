"""
What pydantic found wrong in a mapping, in our words: one fault per mistake, located by key path.

Pydantic reports a value that fits none of several allowed types once for each of them, with the type's
name in the location. A reader of a scenario file made one mistake there, so one fault is made of it: the
one that came furthest into the value, or a list of what is allowed.
"""

from __future__ import annotations

import difflib
import inspect
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from replay.core.errors import Fault

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

MISSING = "is required but missing"
_UNKNOWN_KEY = ("extra_forbidden", "unexpected_keyword_argument")
_KEY_MAY_BE_ABSENT = (*_UNKNOWN_KEY, "missing", "missing_argument", "missing_keyword_only_argument")

PLAIN_TYPES = {
    **dict.fromkeys(("list_type", "tuple_type"), "a list"),
    **dict.fromkeys(("dict_type", "mapping_type", "model_type", "dataclass_type"), "a mapping"),
    "string_type": "a text",
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    "path_type": "a file",
}
"""What a value should have been, by pydantic's name of the mistake."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``; did you mean "x"?`` for a likely misspelling of one of *known*, else an empty text."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f'; did you mean "{close[0]}"?' if close else ""


class _Finding(NamedTuple):
    detail: Mapping[str, Any]
    keys: tuple[int | str, ...]
    """Where it is in the value."""
    union: tuple[int | str, ...] | None
    """Where the value with several allowed types is, if this is about one of them."""


def faults_of(error: ValidationError, model: type[BaseModel], value: Any, key_path: str) -> list[Fault]:
    """Return the faults for *error*, which validating *value* as *model* raised, located below *key_path*."""
    findings = [_finding(detail, value) for detail in error.errors(include_url=False)]
    faults = []
    merged: set[tuple[int | str, ...]] = set()
    for finding in findings:
        if finding.union is None:
            faults.append(_fault(finding, model, key_path))
        elif finding.union not in merged:
            merged.add(finding.union)
            alike = [f for f in findings if f.union == finding.union]
            faults += _one_mistake(alike, model, key_path)
    return faults


def _finding(detail: Mapping[str, Any], value: Any) -> _Finding:
    keys: list[int | str] = []
    union: tuple[int | str, ...] | None = None
    location = detail["loc"]
    for position, part in enumerate(location):
        is_last = position == len(location) - 1
        if _leads_on(value, part):
            keys.append(part)
            value = value[part]
        elif is_last and detail["type"] in _KEY_MAY_BE_ABSENT:
            keys.append(part)
        elif union is None:  # the name of one of several allowed types, not a key
            union = tuple(keys)
    return _Finding(detail, tuple(keys), union)


def _leads_on(value: Any, part: int | str) -> bool:
    """Return whether *part* is a key or index of *value*, and not the name of an allowed type."""
    if isinstance(value, Mapping):
        return part in value
    return isinstance(part, int) and isinstance(value, Sequence) and not isinstance(value, str)


def _one_mistake(findings: list[_Finding], model: type[BaseModel], key_path: str) -> list[Fault]:
    deepest = max(len(f.keys) for f in findings)
    furthest = [f for f in findings if len(f.keys) == deepest]
    # An unknown key is the mistake; that another one is then missing only follows from it.
    unknown = [f for f in furthest if f.detail["type"] in _UNKNOWN_KEY]
    furthest = unknown or furthest
    if len({f.keys for f in furthest}) > 1 or len(furthest) == 1:
        return [_fault(f, model, key_path) for f in furthest]
    allowed = dict.fromkeys(_expected_text(f.detail) for f in furthest)
    message = f"{_quote(furthest[0].detail['input'])} is not {', '.join(allowed)}"
    return [Fault(path=_path(key_path, furthest[0].keys), message=message)]


def _expected_text(detail: Mapping[str, Any]) -> str:
    if detail["type"] in PLAIN_TYPES:
        return PLAIN_TYPES[detail["type"]]
    message = str(detail["msg"])
    for prefix in ("Input should be ", "Input is not "):
        if message.startswith(prefix):
            return message.removeprefix(prefix).replace("<class 'pathlib.Path'>", "a file")
    return message


def _fault(finding: _Finding, model: type[BaseModel], key_path: str) -> Fault:
    return Fault(path=_path(key_path, finding.keys), message=_in_our_words(finding, model))


def _path(key_path: str, keys: tuple[int | str, ...]) -> str:
    path = key_path
    for part in keys:
        path += f"[{part}]" if isinstance(part, int) else (f".{part}" if path else str(part))
    return path


def _in_our_words(finding: _Finding, model: type[BaseModel]) -> str:
    detail, key = finding.detail, str(finding.keys[-1]) if finding.keys else ""
    found = detail["input"]
    if detail["type"] in _UNKNOWN_KEY:
        allowed = _keys_at(model, finding.keys[:-1])
        known = f" (allowed: {', '.join(allowed)})" if allowed else ""
        return f'"{key}" is not a setting here{nearest(key, allowed)}{known}'
    if detail["type"] in _KEY_MAY_BE_ABSENT:
        return MISSING
    if detail["type"] == "literal_error":
        choices = [c.strip("' ") for c in detail["ctx"]["expected"].replace(" or ", ", ").split(",")]
        return f'"{found}" is not allowed{nearest(str(found), choices)} (allowed: {", ".join(choices)})'
    if detail["type"] in PLAIN_TYPES:
        is_one = PLAIN_TYPES[detail["type"]] == "a list" and isinstance(found, str)
        return f"{_quote(found)} is not {PLAIN_TYPES[detail['type']]}{f'; write [{found}]' if is_one else ''}"
    if detail["type"] == "too_short" and not found:
        return f"is empty; at least {detail['ctx']['min_length']} is expected"
    message = str(detail["msg"])
    if message.startswith("Value error, "):
        return message.removeprefix("Value error, ")
    if message.startswith("Input should be "):
        return f"{_quote(found)} is not {message.removeprefix('Input should be ')}"
    return f"{_quote(found)}: {message}"


def _quote(value: Any) -> str:
    text = f'"{value}"' if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _keys_at(model: type[BaseModel], keys: tuple[int | str, ...]) -> list[str]:
    """Return the keys allowed in the nested model or dataclass at *keys*, as far as known."""
    here: Any = model
    for part in keys:
        if isinstance(part, int):
            continue
        annotation = _fields(here).get(str(part))
        candidates = [c for c in (annotation, *_inner_types(annotation)) if _fields(c)]
        if len(candidates) != 1:
            return []
        here = candidates[0]
    return list(_fields(here))


def _fields(kind: Any) -> dict[str, Any]:
    if not inspect.isclass(kind):
        return {}
    if hasattr(kind, "model_fields"):
        return {field.alias or name: field.annotation for name, field in kind.model_fields.items()}
    if hasattr(kind, "__dataclass_fields__"):
        return dict(typing.get_type_hints(kind))
    return {}


def _inner_types(annotation: Any) -> list[Any]:
    inner: list[Any] = []
    for argument in typing.get_args(annotation):
        inner += [argument, *_inner_types(argument)]
    return inner
