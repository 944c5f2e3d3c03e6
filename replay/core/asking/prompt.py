"""
Prompt files: templates whose variables are known to exist.

The JSON object in what a model wrote: they explain, decorate and add fences, whatever they are told.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from replay.core.asking.templating import TextTemplate
from replay.core.settings.faults import nearest


class PromptError(ValueError):
    """A prompt can't be filled in for a case, such as one that reads the first passage of none."""


class Prompt:
    """A prompt template whose variables are known to exist."""

    def __init__(self, path: Path, known: Sequence[str], *, needs: Collection[str] = ()) -> None:
        """
        The template in *path*; it may use the variables *known*, and has to use one of *needs*, if any.

        Raises:
            ValueError: the file can't be read, is no template, or uses other variables.
        """
        try:
            text = path.read_text("utf-8-sig").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise ValueError(f'the prompt file "{path}" can\'t be read: {reason}') from error
        try:
            self._template = TextTemplate(text)
        except ValueError as error:
            raise ValueError(f'the prompt file "{path}": {error}') from error
        for variable in sorted(self._template.names):
            if variable not in known:
                raise ValueError(
                    f'the prompt file "{path}": there is no variable "{variable}"{nearest(variable, known)} '
                    f"(known: {', '.join(known)})"
                )
        if needs and not self._template.names & set(needs):
            raise ValueError(
                f'the prompt file "{path}" uses none of {", ".join(needs)}, so it would ask the same '
                "whatever was answered"
            )
        self.text = text
        self.hash: str = short_hash(text)

    def render(self, variables: Mapping[str, Any]) -> str:
        """
        Return the prompt filled in with *variables*.

        Raises:
            PromptError: an expression can't be evaluated.
        """
        try:
            return self._template.render(variables).strip()
        except ValueError as error:
            raise PromptError(str(error)) from error


def short_hash(text: str) -> str:
    """Return the beginning of *text*'s SHA-256 hash, enough to tell prompts and settings apart."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


NO_OBJECT = "the reply holds no JSON object"
_PLACES_TRIED = 1000
"""Opening braces at which a JSON object is looked for; bounds the work on a reply full of them."""

_CHARACTERS_TRIED = 2_000_000
"""Characters read in vain, over all these places, before a reply is given up."""


class _NonJsonConstantError(ValueError):
    """What Python would read although it is no JSON."""


def _refuse_constant(constant: str) -> NoReturn:
    """Refuse NaN and Infinity, which JSON does not have (RFC 8259, section 6)."""
    raise _NonJsonConstantError(f"the object holds {constant}, which is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def first_object(text: str, keys: Collection[str]) -> dict[str, Any] | None:
    """
    Return the first JSON object in *text* that has all *keys*, or else the first one at all.

    Prose and code fences around it are passed over.
    """
    first: dict[str, Any] | None = None
    place, in_vain = text.find("{"), 0
    for _ in range(_PLACES_TRIED):
        if place < 0 or in_vain > _CHARACTERS_TRIED:
            break
        end = place + 1
        try:
            value, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            value = None
            in_vain += error.pos - place if isinstance(error, json.JSONDecodeError) else len(text) - place
        if isinstance(value, dict):
            if all(key in value for key in keys):
                return value
            first = value if first is None else first
        place = text.find("{", end)
    return first


def json_problem(text: str) -> str:
    """Return why no JSON object could be read from *text*, in words that a model can act on."""
    place = text.find("{")
    if place < 0:
        return NO_OBJECT
    try:
        _DECODER.raw_decode(text, place)
    except json.JSONDecodeError as error:
        return f"{error.msg} at character {error.pos - place} of the object"
    except _NonJsonConstantError as error:
        return str(error)
    except RecursionError:
        return "the object is nested too deeply"
    except ValueError:  # more digits than Python reads
        return "the object holds a number that is too long"
    return NO_OBJECT
