"""
The screens of ``mahueval``: one for each turn of a talk, and the same as a practice item.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from replay.core.conversation import Passage
from replay.core.history import Exchange
from replay.study.preset import PracticeItem
from replay.study.steps import Block, Field, Index, Option, Passages, StudyStep, Text, Transcript

Intent = Literal["extractive", "abstractive", "boolean"]

INTENTS: Mapping[Intent, str] = {
    "extractive": "Its answer can be copied from a passage, word for word",
    "abstractive": "Its answer has to be put in other words, or together from several places",
    "boolean": "Its answer is yes or no",
}


class MaHuEvalPractice(PracticeItem, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of its practice file: a turn with its right answers."""

    question: str
    answer: str
    intent: Intent
    correct: Literal[0, 1]
    history: tuple[Exchange, ...] = ()
    passages: tuple[Passage, ...] = ()
    rank: int | None = None


def turn_screen(
    id: str,
    heading: str,
    question: str,
    answer: str,
    history: tuple[Exchange, ...],
    passages: tuple[Passage, ...],
    index: Index | None,
) -> StudyStep:
    blocks: list[Block] = []
    if history:
        blocks.append(Transcript(heading="The conversation before", exchanges=history, asker="You"))
    blocks += [Text(heading="Question", text=question), Text(heading="Answer", text=answer)]
    fields = [
        Field(
            name="intent",
            label="What kind of question is it?",
            options=tuple(Option(value=value, label=label) for value, label in INTENTS.items()),
        ),
        Field(
            name="correct",
            label="Is the answer correct?",
            options=(Option(value=1, label="Yes"), Option(value=0, label="No")),
        ),
    ]
    if passages:
        blocks.append(Passages(heading="Passages that were found for it", passages=passages, ranked=True))
        fields.append(_rank_field(len(passages)))
    if index is not None:
        blocks.append(index)
        fields.append(
            Field(
                name="elsewhere",
                label="Is there a passage with the answer that the system did not find?",
                index=index,
                required=False,
                help="Only if none of those above has it: search for one, and choose “This one is right” "
                "there. Its id is then put here.",
            )
        )
    return StudyStep(id=id, heading=heading, blocks=tuple(blocks), fields=tuple(fields))


def _rank_field(passages: int) -> Field:
    """Its value is the rank of the first right passage, or 0; 1 to 9 are also the keys that choose it."""
    if passages == 1:
        options = [Option(value=1, label="Yes"), Option(value=0, label="No")]
        return Field(name="rank", label="Does the passage have the answer?", options=tuple(options))
    options = [Option(value=rank, label=f"Passage {rank}") for rank in range(1, passages + 1)]
    return Field(
        name="rank",
        label="Which is the first passage that has the answer?",
        options=(*options, Option(value=0, label="None of them")),
    )
