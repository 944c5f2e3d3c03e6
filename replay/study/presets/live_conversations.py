"""
What people talked of with systems, as conversations: to show with the records, and to replay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from replay.core.conversation import Conversation, Turn
from replay.core.record import TurnRecord
from replay.study.results import TurnKey


def talked_about(
    conversations: Mapping[str, Conversation], records: Sequence[TurnRecord]
) -> list[Conversation]:
    """Those of *conversations* that *records* are of, each with its longest talk's questions as turns."""
    longest: dict[str, Sequence[TurnRecord]] = {}
    for talk in _talks(records):
        topic = talk[0].recorded_conversation
        longest[topic] = max(longest.get(topic, ()), talk, key=len)
    return [
        replace(
            conversations[topic],
            turns=tuple(Turn(id=f"{topic}#{turn.depth}", question=turn.asked) for turn in talk),
        )
        for topic, talk in longest.items()
    ]


def talks_to_replay(
    conversations: Mapping[str, Conversation],
    records: Sequence[TurnRecord],
    gold_answers: Mapping[TurnKey, tuple[str, ...]],
) -> list[Conversation]:
    """
    The talks of *records* as conversations, with their topic's passages and those that were found.

    Turns that have no *gold_answers* are asked and not scored.
    """
    found = []
    for talk in _talks(records):
        about = conversations[talk[0].recorded_conversation]
        named = [*about.passages, *(passage for turn in talk for passage in turn.passages)]
        passages = {passage.id: passage for passage in named}
        turns = tuple(
            Turn(
                id=turn.turn,
                question=turn.asked,
                gold_answers=gold_answers.get(
                    TurnKey(turn.system, turn.policy, turn.conversation, turn.depth), ()
                ),
                gold_passages=tuple(id for id in turn.gold_passages if id in passages),
            )
            for turn in talk
        )
        found.append(
            replace(
                about,
                id=talk[0].conversation,
                turns=turns,
                passages=tuple(passages.values()),
                metadata={"topic": about.id, "system": talk[0].system},
            )
        )
    return found


def _talks(records: Sequence[TurnRecord]) -> list[list[TurnRecord]]:
    talks: dict[str, list[TurnRecord]] = {}
    for record in records:
        talks.setdefault(record.conversation, []).append(record)
    return list(talks.values())
