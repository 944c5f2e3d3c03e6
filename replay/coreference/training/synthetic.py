"""
Questions made to lean on their history, by undoing standalone ones; what they lean on is known exactly.

A standalone question names something that the history says as well. The name gives way to a pronoun or to
"that one", or is left out with its preposition ("in Ghent", "for children").
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from replay.coreference.reading.resolver import Document
from replay.coreference.training.edits import content_words

_STANDS_FOR = ("it", "it", "that", "this one", "that one", "them")
_OWNS = ("its", "its", "their")
_LEAD = re.compile(r"(?P<preposition>\b(?:in|of|to|with|for|at|about|on|from|by|during)\s)?(?:\bthe\s)?$")
_POSSESSIVE = re.compile("['’]s\\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """A phrase of a standalone question that its history says as well."""

    name: str
    preposition: str
    """With its space; empty without one."""
    is_possessive: bool
    start: int
    """Where the phrase begins with its preposition and article."""
    end: int
    """Where it ends with its possessive."""


def undo_rewrite(document: Document, standalone: str, rng: random.Random) -> tuple[Document, str, str] | None:
    """
    Return *document* with a question made of *standalone*, its standalone form, and what it leans on.

    None where *standalone* names nothing that the history says.
    """
    said = [text for turn in document.turns[-3:] for text in (turn.answer, turn.question)]
    found = list(_named(standalone, said))
    if not found:
        return None
    named = rng.choice(found)
    before, after = standalone[: named.start], standalone[named.end :]
    if named.preposition and before and rng.random() < 0.5:
        question = before.rstrip() + after  # the adjunct is left out
    else:
        word = rng.choice(_OWNS if named.is_possessive else _STANDS_FOR)
        if not named.is_possessive and rng.random() < 0.25 and named.name[:1].isupper() and " " in named.name:
            word = rng.choice(("him", "her") if named.preposition else ("he", "she"))
        question = f"{before}{named.preposition}{word}{after}"
    question = question.strip()
    if len(question.split()) < 2 or question == standalone:
        return None
    return replace(document, question=question), standalone, named.name


def _named(standalone: str, said: Sequence[str]) -> Iterator[_Named]:
    """Yield the longest phrases of *standalone* that a text in *said* holds."""
    done = 0
    words = list(re.finditer(r"[^\W_][\w'’-]*", standalone))
    for i, first in enumerate(words):
        if first.start() < done or i == 0:
            continue
        for last in reversed(words[i : i + 5]):
            name = re.sub(r"['’]s$", "", standalone[first.start() : last.end()])
            inside = name.lower().split()
            edges = content_words(inside[0]) and content_words(inside[-1])
            if not edges or len(name) < 4 or not any(name in text for text in said):
                continue
            stop = first.start() + len(name)
            possessive = _POSSESSIVE.match(standalone, stop)
            lead = _LEAD.search(standalone[: first.start()])
            assert lead is not None  # it matches the empty text
            yield _Named(
                name=name,
                preposition=lead["preposition"] or "",
                is_possessive=possessive is not None,
                start=lead.start(),
                end=possessive.end() if possessive else stop,
            )
            done = stop
            break
