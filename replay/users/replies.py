"""
What a reply does that the recorded one did not: ask back, refuse, not understand.

Asking back and refusing are read as the checks ``asks_back`` and ``refuses`` read them, with their quality
(see ``replay.scorers.checks.english``). Where a recorded answer does one of the three, the script goes on
from there, so nothing is followed up. Neither is an offer after an answer ("Shall I book it?" behind three
sentences).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from replay.core.record import Occasion
from replay.coreference.reading.words import content_words
from replay.scorers.checks.english import question_in, refusal_in

_MISUNDERSTANDING = re.compile(
    r"\b(?:i|we)(?:'m| am)? (?:sorry,? )?(?:i |we )?(?:did not|didn't|do not|don't|could not|couldn't"
    r"|can't|cannot) "
    r"(?:\w+ )?(?:understand|follow|get that|catch that|get what|know what you mean)\b"
    r"|\b(?:please|can you|could you|would you)(?: please)? (?:rephrase|reword|say that again"
    r"|repeat that|put (?:it|"
    r"that) (?:differently|another way))\b"
    r"|\bnot (?:quite )?sure (?:what|which|who) you(?:'re| are)? (?:mean|asking|referring)\b"
    r"|\bwhat do you mean\b|\bi(?:'m| am) not following\b",
    re.IGNORECASE,
)
_YES_NO = re.compile(
    r"^(?:(?:and|so|then|ok|okay|sure|great),? )*(?:do|does|did|would|will|shall|should|can|could|may"
    r"|is|are|was|were|"
    r"have|has|am) (?:you|i|we|it|that|this|they|he|she|there|the)\b|\b(?:right|correct|okay|yes) ?\?$",
    re.IGNORECASE,
)
_ASKS_TO_TELL = re.compile(
    r"\b(?:can|could|would|will) you\b.*\b(?:tell|give|provide|specify|confirm (?:your|the))\b"
)
ANSWER_WORDS = 4
"""Content words beside a question that may be answered with yes or no, from which on the reply is an
answer."""


def misunderstanding_in(reply: str) -> str | None:
    """Return the words of *reply* that say it did not understand; None if none do."""
    found = _MISUNDERSTANDING.search(reply.replace("’", "'"))
    return found[0] if found else None


def is_yes_no(question: str) -> bool:
    """Return whether *question* can be answered with yes or no, and asks for nothing else."""
    return bool(_YES_NO.search(question)) and not _ASKS_TO_TELL.search(question)


def request_in(reply: str) -> str | None:
    """Return the normalized sentence of *reply* that waits for the user; None if none does."""
    question = question_in(reply)
    if question is None or not is_yes_no(question):
        return question
    beside = set(content_words(reply)) - set(content_words(question))
    return question if len(beside) < ANSWER_WORDS else None


_READINGS: Sequence[tuple[Occasion, Callable[[str], str | None]]] = (
    ("not-understood", misunderstanding_in),
    ("asked-back", request_in),
    ("refused", refusal_in),
)


def unexpected_in(reply: str, recorded: Sequence[str]) -> tuple[Occasion, str] | None:
    """
    Return what *reply* does that no *recorded* answer does, with the words that show it.

    None without a recorded answer: nobody knows then what the script goes on from.
    """
    if not recorded or any(find(answer) for answer in recorded for _, find in _READINGS):
        return None
    for occasion, find in _READINGS:
        if evidence := find(reply):
            return occasion, evidence
    return None
