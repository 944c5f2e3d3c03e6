"""
The turns of runs, as people are shown them; and how a few are drawn of many.

What is drawn in strata goes to them by the method of Sainte-Laguë: each further turn to the stratum whose
(drawn + 1/2)/share is least. With the strata's sizes as shares the draw has their proportions, so that means
over it need no weights; with equal shares rare ones are met as often as common ones.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from itertools import takewhile
from typing import ClassVar, TypeVar

import msgspec

from replay.core.conversation import Conversation, Passage, Turn
from replay.core.history import Exchange, gold_history
from replay.core.record import TurnRecord
from replay.study.preset import Material, TaskContent
from replay.study.results import JudgedTurnKey
from replay.study.steps import Block, Passages, SideBySide, Text, Transcript

T = TypeVar("T")
ADDED = "added"
"""In the place of a run and of a policy: the item came while the study went on."""


class RunTurn(TaskContent, frozen=True, kw_only=True):
    """A turn of a run."""

    kind: ClassVar[str] = "rate"
    record: TurnRecord
    """Where several runs have its system under its policy, the system is called ``NAME (RUN)``."""
    history: tuple[Exchange, ...]
    """What its system was shown before it."""
    gold: tuple[Exchange, ...]
    """What was recorded before it."""
    passages: tuple[Passage, ...]
    """Those that hold its answer, or all of its conversation where that isn't known."""
    run: str
    """The run's name."""
    system: str
    """The system's name there."""

    @property
    def key(self) -> JudgedTurnKey:
        return JudgedTurnKey.of(self.record)

    @property
    def bare(self) -> RunTurn:
        """Without the texts that other turns of a task have too."""
        return msgspec.structs.replace(self, history=(), gold=(), passages=())


def run_turns(material: Material, *, answered: bool = True) -> list[RunTurn]:
    """
    Return every turn of the runs, or each that was *answered*, by run, conversation, system, policy and
    depth.
    """
    found = []
    for run, played in material.runs.items():
        for case in played.cases():
            record, conversation = case.record, case.conversation
            if answered and record.outcome != "answered":
                continue
            holding = tuple(one for one in conversation.passages if one.id in record.gold_passages)
            found.append(
                RunTurn(
                    record=record,
                    history=case.history,
                    gold=gold_history(conversation, record.depth),
                    passages=holding or conversation.passages,
                    run=run,
                    system=record.system,
                )
            )
    return _told_apart(found)


def _told_apart(turns: Sequence[RunTurn]) -> list[RunTurn]:
    """Return *turns* with names of systems under which no two runs meet."""
    runs: dict[tuple[str, str], set[str]] = defaultdict(set)
    for turn in turns:
        runs[turn.system, turn.record.policy].add(turn.run)
    shared = {system for (system, _), names in runs.items() if len(names) > 1}
    return [_of_run(turn) if turn.system in shared else turn for turn in turns]


def _of_run(turn: RunTurn) -> RunTurn:
    record = msgspec.structs.replace(turn.record, system=f"{turn.system} ({turn.run})")
    return msgspec.structs.replace(turn, record=record)


def practice_turn(
    question: str, answer: str, gold_answer: str | None, *, passage: str, history: tuple[Exchange, ...]
) -> RunTurn:
    """Return a turn of no run."""
    name = "practice"
    record = TurnRecord(
        system=name,
        policy=name,
        conversation=name,
        depth=len(history) + 1,
        turn=name,
        recorded=question,
        asked=question,
        edit="kept",
        drift=None,
        outcome="answered",
        answer=answer,
        gold_answers=() if gold_answer is None else (gold_answer,),
    )
    passages = (Passage(id=name, text=passage),) if passage else ()
    return RunTurn(record=record, history=history, gold=(), passages=passages, run=name, system=name)


def added_turn(
    question: str, answer: str, gold_answer: str | None, *, passage: str, system: str, conversation: str
) -> RunTurn:
    """Return a turn that is in no run: added while the study goes on, each its own *conversation*."""
    turn = practice_turn(question, answer, gold_answer, passage=passage, history=())
    record = msgspec.structs.replace(
        turn.record, system=system, policy=ADDED, conversation=conversation, turn=f"{conversation}#1"
    )
    return msgspec.structs.replace(turn, record=record, run=ADDED, system=system)


def conversation_of(turn: RunTurn) -> Conversation:
    """Return a conversation of one turn, with the recorded question, gold answers and passages of *turn*."""
    record = turn.record
    asked = Turn(id=record.turn, question=record.recorded, gold_answers=record.gold_answers)
    return Conversation(id=record.conversation, turns=(asked,), passages=turn.passages)


def draw_turns(
    items: Sequence[T],
    count: int,
    rng: random.Random,
    *,
    stratum: Callable[[T], Hashable] = lambda item: None,
    evenly: bool = False,
) -> list[T]:
    """
    Return *count* of *items* or all, without repetition and in an order drawn by *rng*.

    Each stratum gets its share of them, or with *evenly* as many as every other, as far as it has so many.
    """
    strata: dict[Hashable, list[T]] = defaultdict(list)
    for item in items:
        strata[stratum(item)].append(item)
    for members in strata.values():
        rng.shuffle(members)
    share = {name: 1 if evenly else len(members) for name, members in strata.items()}
    taken = dict.fromkeys(strata, 0)
    for _ in range(min(count, len(items))):
        open_ = [name for name, members in strata.items() if taken[name] < len(members)]
        taken[min(open_, key=lambda name: (taken[name] + 0.5) / share[name])] += 1
    found = [item for name, members in strata.items() for item in members[: taken[name]]]
    rng.shuffle(found)
    return found


def passage_block(passages: tuple[Passage, ...]) -> list[Block]:
    """Return *passages* to read, if there are any."""
    if not passages:
        return []
    return [Passages(heading="Passage" if len(passages) == 1 else "Passages", passages=passages)]


def gold_block(record: TurnRecord) -> Text:
    """Return the known answers to *record*, of which there is one at least."""
    several = len(record.gold_answers) > 1
    return Text(
        heading="Right answer, in several wordings" if several else "Right answer",
        text="\n".join(record.gold_answers),
    )


def both_histories(
    first: tuple[Exchange, ...], second: tuple[Exchange, ...], *, shared: str, apart: tuple[str, str]
) -> list[Block]:
    """
    Return two histories to read: what they begin with once, and side by side from where they differ.

    *shared* and *apart* are the headings.
    """
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
    blocks: list[Block] = [Transcript(heading=shared, exchanges=first[:same])] if same else []
    if first != second:
        one, other = (
            Transcript(heading=heading, exchanges=history[same:], first=same + 1, other=beside[same:])
            if history[same:]
            else Text(heading=heading, text="(nothing)")
            for heading, history, beside in zip(apart, (first, second), (second, first), strict=True)
        )
        blocks.append(SideBySide(blocks=(one, other)))
    return blocks
