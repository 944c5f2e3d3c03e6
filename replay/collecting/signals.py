"""
What makes a logged conversation worth keeping: its depth, that somebody was unhappy, what its questions lean
on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from replay.core.conversation import Conversation
from replay.coreference.leaning import find_leaning
from replay.coreference.reading.resolver import Resolver

DEPTH_BANDS = ((1, 1), (2, 3), (4, 6), (7, 12), (13, None))
_VERDICT = re.compile(
    r"feedback|thumb|vote|rating|score|csat|success|passed|resolved|correct|evaluation|label|helpful"
    r"|sentiment|reaction|reward"
)
_OPPOSITE = re.compile(r"fail|error|toxic|escalat|complaint|hallucinat")
_BAD = re.compile(
    r"thumbs?[ _-]?down|👎|-1|down|negative|bad|poor|dislike[ds]?|fail(?:ed|ure)?|incorrect|wrong|false|no"
    r"|unresolved"
    r"|unhelpful|dissatisfied|angry|not[ _-]helpful",
    re.IGNORECASE,
)
_OBJECTS = re.compile(
    r"\b(?:that'?s|this is|it'?s|you'?re|you are) (?:not (?:what|right|correct|true|it|relevant|too relevant"
    r"|helpful)|wrong|incorrect"
    r"|useless|no help)|\bnot what i (?:asked|meant|said|want)|\bno,? i (?:meant|said|asked|want)"
    r"|\bwrong (?:answer|one)\b"
    r"|\b(?:speak|talk) (?:to|with) (?:a |an )?(?:human|person|agent|manager)|\byou (?:didn'?t|did not"
    r"|haven'?t) (?:answer|understand)"
    r"|\bi already (?:told|said|gave|asked)|\bdoesn'?t (?:help|answer)|\bthat didn'?t (?:help|work)",
    re.IGNORECASE,
)


def depth_band(depth: int) -> str:
    """Return the band of conversations with *depth* turns, as ``2 to 3 turns``."""
    for low, high in DEPTH_BANDS:
        if high is None or depth <= high:
            if high is None:
                return f"{low} turns or more"
            return "1 turn" if low == high else f"{low} to {high} turns"
    raise AssertionError("the last band has no end")


def complaint(conversation: Conversation) -> str | None:
    """
    Return why somebody was unhappy: a verdict in the metadata, or what the user says; None if nobody was.
    """
    if verdict := bad_verdict(conversation):
        return verdict
    objected = bad_answers(conversation)
    return f"the user objects at turn {objected[0] + 1}" if objected else None


def bad_verdict(conversation: Conversation) -> str | None:
    """Return where the log says that *conversation* went badly, as ``rating in the log``; None if nowhere."""
    found = (name for name, value in _verdicts(conversation.metadata) if _is_bad(name, value))
    return next((f"{name} in the log" for name in found), None)


def bad_answers(conversation: Conversation) -> tuple[int, ...]:
    """Return the depths of the answers that the user objects to in the next question."""
    questions = enumerate(conversation.turns[1:], 1)
    return tuple(depth for depth, turn in questions if _OBJECTS.search(turn.question.replace("’", "'")))


def _verdicts(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what is said of the conversation's quality, with its name."""
    if isinstance(value, Mapping):
        own = value.get("name") or value.get("key")
        for key, item in value.items():
            below = str(key).lower()
            if isinstance(own, str) and below in (
                "value",
                "score",
                "label",
                "string_value",
                "passed",
                "comment",
            ):
                below = own.lower() if _is_verdict(own.lower()) else f"score {own.lower()}"
            elif _is_verdict(name) and not _is_verdict(below):
                below = name
            yield from _verdicts(item, below)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _verdicts(item, name)
    elif value is not None and _is_verdict(name):
        yield name, value


def _is_verdict(name: str) -> bool:
    return bool(_VERDICT.search(name) or _OPPOSITE.search(name))


def _is_bad(name: str, value: Any) -> bool:
    if _OPPOSITE.search(name) and not re.search(r"no_?error", name):
        return value is True or (isinstance(value, int | float) and value > 0) or value in ("true", "yes")
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value <= 0 or (value in (1, 2) and re.search(r"rating|csat|stars", name) is not None)
    return isinstance(value, str) and _BAD.fullmatch(value.strip()) is not None


def leaning_depths(conversation: Conversation, resolver: Resolver) -> tuple[int, ...]:
    """
    Return the depths of the questions that lean on an earlier answer and would mean something else if it were
    wrong, as *resolver* reads the recorded history.
    """
    return tuple(one.depth for one in find_leaning(conversation, resolver) if one.at_risk)
