"""
DeepEval's conversations as ours: goldens to be replayed, and test cases of others to be scored and compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from deepeval.dataset import ConversationalGolden
from deepeval.test_case import ConversationalTestCase
from msgspec.structs import replace

from replay.core.conversation import Conversation
from replay.core.errors import InputError
from replay.core.message import Message, ToolCall, json_text
from replay.core.record import TurnRecord
from replay.datasets.chat_log import ChatLogParser, ParsedMessage
from replay.datasets.data_file import SourceLocation

HERE = Path("deepeval")


def as_conversations(
    goldens: Iterable[ConversationalGolden | ConversationalTestCase],
) -> list[Conversation]:
    """
    Return each of *goldens*, or test cases, as a conversation to replay: users' turns are its questions, the
    assistant's the gold answers, and calls of tools the recorded steps.

    It has their name as its id, or ``golden-N``. Scenario and expected outcome are metadata.

    Raises:
        InputError: one has no user's turn to ask.
    """
    return [_talk(one, f"golden-{number}").own for number, one in enumerate(goldens, 1)]


class ImportedConversation(NamedTuple):
    """A conversation that was played elsewhere."""

    own: Conversation
    """With the assistant's answers as they were."""
    gold: Conversation
    """With what its turns' metadata have as ``gold_answers``."""

    @property
    def records(self) -> list[TurnRecord]:
        """Each turn as a run would have recorded it."""
        return [
            TurnRecord(
                system="system",
                policy="pred",
                conversation=self.own.id,
                depth=depth,
                turn=own.id,
                recorded=gold.question,
                asked=own.question,
                edit="kept",
                drift=None,
                outcome="bad-reply" if own.gold_answer is None else "answered",
                answer=own.gold_answer,
                gold_answers=gold.gold_answers,
                steps=own.steps,
            )
            for depth, (own, gold) in enumerate(zip(self.own.turns, self.gold.turns, strict=True), 1)
        ]


def import_conversations(case: ConversationalTestCase) -> ImportedConversation:
    """
    Return a *case* that comes out of no run of ours.

    Raises:
        InputError: it has no user's turn.
    """
    return _talk(case, "case")


def _talk(one: ConversationalGolden | ConversationalTestCase, other_name: str) -> ImportedConversation:
    story, gold = ChatLogParser(), {}
    for turn in one.turns or ():
        calls = [
            ToolCall(
                id=f"{len(story.turns)}-{number}",
                name=call.name,
                arguments=json_text(call.input_parameters or {}),
            )
            for number, call in enumerate(turn.tools_called or ())
        ]
        if calls:
            story.tell("assistant", ParsedMessage(calls=calls), None)
            results = [
                Message(role="tool", text=json_text(called.output), tool_call_id=call.id, name=call.name)
                for call, called in zip(calls, turn.tools_called, strict=True)
                if called.output is not None
            ]
            story.tell("tool", ParsedMessage(results=results), None)
        story.tell(turn.role, ParsedMessage(texts=[turn.content]), None)
        if turn.role == "assistant" and (turn.metadata or {}).get("gold_answers"):
            gold[len(story.turns)] = tuple(turn.metadata["gold_answers"])
    name = one.name or other_name
    if not story.turns:
        raise InputError(
            f'"{name}" has no turns of a user, and recorded questions are what is replayed; of a golden\'s '
            "scenario DeepEval's ConversationSimulator makes some"
        )
    facts = {"scenario": one.scenario, "expected_outcome": one.expected_outcome}
    known = {key: value for key, value in facts.items() if value}
    own = story.conversation(name, known, SourceLocation(path=HERE))
    turns = (replace(turn, gold_answers=gold.get(depth, ())) for depth, turn in enumerate(own.turns, 1))
    return ImportedConversation(own, replace(own, turns=tuple(turns)))
