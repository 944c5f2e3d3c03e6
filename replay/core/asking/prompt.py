"""Prompt files: templates whose variables are known to exist."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

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
