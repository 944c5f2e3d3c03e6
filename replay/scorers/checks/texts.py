"""
Checks of an answer's words: ``contains``, ``not_contains``, ``contains_any``, ``regex``, ``not_regex``,
``equals``; and ``similar``, by the cosine of their sentence embeddings, as the scorer ``similarity`` has it
(all-MiniLM-L6-v2), which needs the extra ``neural``.

Unless ``exact`` is true, texts are compared without case, with any white space as one space and with curly
quotation marks as straight ones, after Unicode's NFKC; nothing else is taken away, so that "3.5" is not "35".
Regular expressions are searched for as they are written; ``(?i)`` leaves case out. They are Rust's, which
take no longer than an answer is long; how long over each character, a large pattern can make seconds of.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from replay.core.errors import PluginError
from replay.core.neural_models import MINILM, check_neural, model_place
from replay.scorers.answer_text import compile_pattern, found_in
from replay.scorers.checks.bounded import bounded
from replay.scorers.checks.check import CheckInput, CheckOutcome
from replay.scorers.similarity import sentence_model

Texts = str | tuple[str, ...]
Wanted = Literal["all", "any", "none"]

AT_ONCE = 10_000
"""So many characters are searched in this process: no pattern takes more than half a second over them."""

_QUOTES = str.maketrans("‘’‚‛“”„‟", "''''\"\"\"\"")


def loosely(text: str) -> str:
    """Return *text* as it is compared unless ``exact`` is set."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_QUOTES).casefold().split())


def search_texts(
    wanted: Wanted, finders: Mapping[str, Callable[[str], bool]], seen: CheckInput
) -> CheckOutcome:
    """
    Return whether as many of *finders* find something in the answers as are wanted.

    Args:
        wanted: ``all``, ``any`` or ``none`` of them must.
        finders: A test of an answer's text by how it is called in the evidence.
        seen: The answers.
    """
    at: dict[str, int | None] = {
        shown: next((depth for depth, answer in seen.answers if finds(answer)), None)
        for shown, finds in finders.items()
    }
    there = [f"{shown} in {seen.place(depth)}" for shown, depth in at.items() if depth is not None]
    missing = [shown for shown, depth in at.items() if depth is None]
    passed = {"all": not missing, "any": bool(there), "none": not there}[wanted]
    if passed == (wanted == "none"):  # what is missing decides it
        evidence = f"no {' and no '.join(missing)} in {seen.place()}"
        return CheckOutcome(passed=passed, evidence=evidence, lacking=not passed)
    return CheckOutcome(passed=passed, evidence="; ".join(there))


@dataclass(frozen=True, slots=True, kw_only=True)
class Contains:
    """All of the texts, any of them, or none, in the answer."""

    text: Texts
    exact: bool = False
    wanted: Wanted = "all"

    def __post_init__(self) -> None:
        _check_texts(self.text)

    def look(self, seen: CheckInput) -> CheckOutcome:
        read = str if self.exact else loosely
        finders = {f'"{text}"': partial(_within, read, read(text)) for text in as_tuple(self.text)}
        return search_texts(self.wanted, finders, seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Equals:
    """The answer is one of the texts, white space around it aside."""

    text: Texts
    exact: bool = False

    def __post_init__(self) -> None:
        _check_texts(self.text)

    def look(self, seen: CheckInput) -> CheckOutcome:
        read = str.strip if self.exact else loosely
        texts = [read(text) for text in as_tuple(self.text)]
        for depth, answer in seen.answers:
            if read(answer) in texts:
                return CheckOutcome(passed=True, evidence=f'{seen.place(depth)} is "{read(answer)}"')
        wanted = " or ".join(f'"{text}"' for text in as_tuple(self.text))
        none = "no answer is" if seen.at_end else "the answer is not"
        return CheckOutcome(passed=False, evidence=f"{none} {wanted}", lacking=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Regex:
    """All of the patterns, or none of them, somewhere in the answer."""

    pattern: Texts
    wanted: Wanted = "all"

    def __post_init__(self) -> None:
        _check_texts(self.pattern)
        for pattern in as_tuple(self.pattern):
            compile_pattern(pattern)

    def look(self, seen: CheckInput) -> CheckOutcome:
        finders = {f"/{pattern}/": partial(matches_pattern, pattern) for pattern in as_tuple(self.pattern)}
        return search_texts(self.wanted, finders, seen)


def matches_pattern(pattern: str, text: str) -> bool:
    """
    Return whether *pattern* matches anywhere in *text*.

    Raises:
        FailedCallError: *text* is long, and *pattern* takes too much time over it.
    """
    return found_in(pattern, text) if len(text) <= AT_ONCE else bool(bounded(found_in, pattern, text))


def as_tuple(texts: Texts) -> tuple[str, ...]:
    """Return *texts* as a tuple."""
    return (texts,) if isinstance(texts, str) else texts


def _check_texts(texts: Texts) -> None:
    if not as_tuple(texts) or not all(text.strip() for text in as_tuple(texts)):
        raise ValueError("is empty; give a text, or a list of texts")


def _within(read: Callable[[str], str], text: str, answer: str) -> bool:
    return text in read(answer)


def contains(text: Texts, exact: bool = False) -> Contains:
    """``contains``: all of the texts."""
    return Contains(text=text, exact=exact)


def not_contains(text: Texts, exact: bool = False) -> Contains:
    """``not_contains``: none of the texts."""
    return Contains(text=text, exact=exact, wanted="none")


def contains_any(text: Texts, exact: bool = False) -> Contains:
    """``contains_any``: at least one of the texts."""
    return Contains(text=text, exact=exact, wanted="any")


def regex(pattern: Texts) -> Regex:
    """``regex``: all of the patterns."""
    return Regex(pattern=pattern)


def not_regex(pattern: Texts) -> Regex:
    """``not_regex``: none of the patterns."""
    return Regex(pattern=pattern, wanted="none")


Cosine = Annotated[float, Field(ge=-1, le=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Similar:
    """The answer is as similar as that to one of the texts, or to one of its gold answers."""

    at_least: Cosine
    to: Texts | None = None

    def check_installed(self) -> None:
        """
        Return if what embeds sentences is there; imports nothing itself.

        Raises:
            PluginError: it is not installed.
        """
        check_neural(("torch", "sentence_transformers"), "similar")

    def look(self, seen: CheckInput) -> CheckOutcome:
        pairs = [
            (record.answer or "", text)
            for record in seen.records
            for text in (record.gold_answers if self.to is None else as_tuple(self.to))
        ]
        if not pairs:
            return CheckOutcome(passed=None, reason="no gold answer")
        try:
            self.check_installed()
            best = max(sentence_model(model_place(MINILM, Path()), None).cosines(pairs))
        except PluginError as error:
            return CheckOutcome(passed=None, reason="no sentence model", evidence=str(error))
        expected = "" if best >= self.at_least else f"; expected at least {self.at_least:g}"
        evidence = f"similarity {best:.3f}{expected}"
        return CheckOutcome(passed=not expected, evidence=evidence, lacking=bool(expected))
