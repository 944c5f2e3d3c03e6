"""
What contracts try a plug-in with, and what they hold it to whatever it is.

Turn records with only the fields given that a test is about; a conversation that judges are tried with, and
somebody to ask. A plug-in's signature stays as it is used, and as it goes to another process.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from replay.core.adapter import ChatReply
from replay.core.conversation import Conversation, Passage, Turn
from replay.core.drift_evidence import Drift
from replay.core.record import Timing, TurnRecord
from replay.scorers.judges.judge import Case


def turn(answer: str | None = "yes", *gold_answers: str, depth: int = 1, **fields: Any) -> TurnRecord:
    """
    Return an answered turn of conversation ``c1``; with None for an answer, one that timed out.

    *fields* are of ``TurnRecord`` and override the defaults.
    """
    made_up: dict[str, Any] = {
        "system": "s",
        "policy": "pred",
        "conversation": "c1",
        "depth": depth,
        "turn": f"t{depth}",
        "recorded": "Why?",
        "asked": "Why?",
        "edit": "kept",
        "drift": None,
        "outcome": "timed-out" if answer is None else "answered",
        "answer": answer,
        "gold_answers": gold_answers,
        "timing": Timing(scheduled_s=0.0, sent_s=0.0, done_s=0.5),
    }
    return TurnRecord(**{**made_up, **fields})


def skipped_turn(*gold_answers: str, depth: int = 1, **fields: Any) -> TurnRecord:
    """Return a turn that the policy ``filter`` did not ask."""
    drift = Drift(valid=False, mentions=(), mode="strict")
    skipped = {"outcome": "skipped", "edit": "filtered", "drift": drift, "attempts": 0, "timing": None}
    return turn(None, *gold_answers, depth=depth, **{**skipped, **fields})


TALK = Conversation(
    id="c1",
    title="Stone Garden",
    passages=(Passage(id="p1", text="Alice Okafor wrote it in 1987."),),
    turns=(
        Turn(id="t1", question="Who wrote it?", gold_answers=("Alice Okafor",), gold_passages=("p1",)),
        Turn(
            id="t2",
            question="When was she born?",
            gold_answers=("In 1950.", "1950"),
            standalone="When was Alice Okafor born?",
            fact="Okafor was born in 1950.",
        ),
        Turn(id="t3", question="Why?", gold_answers=("CANNOTANSWER",)),
    ),
)
ANSWERS = ("It was Alice Okafor.", "She was born in 1951.", "I don't know.")


def records(*answers: str | None) -> tuple[TurnRecord, ...]:
    """Return the turns of ``TALK`` with these answers; None is one that timed out."""
    return tuple(
        turn(
            answer,
            *asked.gold_answers,
            depth=depth,
            turn=asked.id,
            recorded=asked.question,
            asked=asked.question,
        )
        for depth, (asked, answer) in enumerate(zip(TALK.turns, answers, strict=False), 1)
    )


def case(depth: int = 1, *answers: str | None, **fields: Any) -> Case:
    """
    Return the turn of ``TALK`` at *depth*, 1 to 3, answered as in ``ANSWERS`` or with *answers*.

    *fields* are passed on to ``Case``.
    """
    return Case(conversation=TALK, records=records(*(answers or ANSWERS))[:depth], **fields)


Replying = Callable[[str, str], ChatReply]
"""Takes step and prompt; may raise an ``AdapterError``."""


class RecordingAsk:
    """An ``Ask`` that replies as it is told and remembers what it was asked."""

    def __init__(self, reply: Replying) -> None:
        self.reply = reply
        self.asked: list[tuple[str, Mapping[str, Any], int]] = []
        """Prompt, parameters and sample of each ask, in order."""

    async def __call__(
        self, step: str, prompt: str, *, parameters: Mapping[str, Any], sample: int = 0, once: bool = False
    ) -> ChatReply:
        self.asked.append((prompt, parameters, sample))
        return self.reply(step, prompt)


def always(text: str) -> Replying:
    """Return a judge's model that replies *text* to everything."""
    return lambda step, prompt: ChatReply(text=text)


class Signed(Protocol):
    @property
    def signature(self) -> str: ...


S = TypeVar("S", bound=Signed)


def check_signature(plugin: Signed, before: str) -> None:
    """
    Make sure that the signature is still what it was *before* the plug-in was used, and one word.

    Raises:
        AssertionError: it isn't; the message says what to do.
    """
    now = plugin.signature
    assert now == before, (
        f'the signature was "{before}" and is "{now}" once the plug-in was used: make it of settings alone'
    )
    assert now, "the signature is empty: give it the name, and every setting that can move a number"
    assert not any(character.isspace() for character in now), (
        f'the signature "{now}" has a space in it: write it as one word, as in "f1:squad+cjk+max"'
    )


def copy_in_another_process(plugin: S, name: str, step: str) -> S:
    """
    Return *plugin*, called *name* in messages, as it arrives in another process.

    Raises:
        AssertionError: it can't be sent there, and *step* says what to do; or it is another one there.
    """
    try:
        copy: S = pickle.loads(pickle.dumps(plugin))
    except Exception as error:
        raise AssertionError(f"the {name} can't be pickled ({error}): {step}") from error
    assert copy.signature == plugin.signature, "the copy in another process has another signature"
    return copy
