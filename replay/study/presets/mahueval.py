"""
``mahueval``: people talk with a system and then judge it turn by turn, with its passages before them.

The protocol of the thesis on conversational question answering: two people have ten conversations each of 8
to 10 turns. Only when a conversation is over they see the passages that were retrieved for each turn, and can
search all that there are; then they say of each turn whether the question was extractive, abstractive or
boolean, whether the answer is correct, and whether the passage is right. In a second round each opens with
the first questions of the other's conversations: 40 conversations, of which 20 pairs begin alike.

Where we say more than the source. The passage's 0/1 is asked for as the rank of the first right one (0: none
of them), since HR@k needs it and one key answers both. With more than two raters each repeats the openings of
the next one, the last those of the first; alone, there is no second round. What is repeated goes to the same
system and is about the same topic. Who has ended the first round waits until the other has; where the other
leaves the study, what they had finished is repeated. Who joins later has a first round, too.

A practice item (a line of the practice file) is a turn with all that its screen shows, and the right answers:

    {"question": "Who wrote it?", "answer": "Ann Lee.", "history": [{"question": "...", "answer": "..."}],
     "passages": [{"id": "p1", "text": "..."}, {"id": "p2", "text": "..."}],
     "intent": "extractive", "correct": 1, "rank": 2}

``history``, ``passages`` and ``rank`` may be left out; ``why`` is shown with the right answers.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import msgspec

from replay.core.conversation import Conversation, Passage
from replay.core.decoding import convert_to
from replay.core.errors import InputError
from replay.core.history import Exchange
from replay.study.preset import (
    Block,
    Field,
    Material,
    Passages,
    PracticeItem,
    Preset,
    Results,
    StudyStep,
    TaskContent,
    Text,
    Transcript,
)
from replay.study.presets.mahueval_results import results_of
from replay.study.presets.run_turns import YES_OR_NO
from replay.study.tasks import Answer, Index, NewTask, StudyState, TalkPlan, TalkTurn, Task, Value, next_task

INSTRUCTIONS = """\
You will have conversations with a system that answers questions. Each is about a topic that is named above \
it. Ask what you would like to know, {preset.fewest_turns} to {preset.most_turns} questions in each.

Ask as you would ask a person who remembers what was said: "and when was that?", "what did she do next?". \
Questions that can only be understood from what came before are welcome.

When a conversation is over, you will see the passages that the system found for each of your questions. \
Then say, question by question, what kind of question it was, whether the answer is correct, and which is \
the first passage that has the answer. Judge by the passages; all that there are can be searched."""

HINT = "Ask things that can only be understood from what was said before: “and when was that?”"


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


class PracticedTurn(TaskContent, frozen=True, kw_only=True):
    """What a practice task holds: a turn with all that its screen shows."""

    kind: ClassVar[str] = "practice"
    question: str
    answer: str
    history: tuple[Exchange, ...] = ()
    passages: tuple[Passage, ...] = ()


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """What a conversation is to be about: a conversation of the data."""

    id: str
    title: str
    section: str
    background: str
    first_question: str | None


class MaHuEvalTalk(TaskContent, frozen=True, kw_only=True):
    """What a task of this preset holds."""

    kind: ClassVar[str] = "talk"
    topic: Topic
    opening: str | None
    fixed: bool
    """The opening is asked as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaHuEval(Preset):
    """Its settings, and what it does with them."""

    needs: ClassVar[frozenset[str]] = frozenset({"data", "systems"})
    text: ClassVar[str] = INSTRUCTIONS
    contents: ClassVar[tuple[type[TaskContent], ...]] = (MaHuEvalTalk, PracticedTurn)
    practice_item: ClassVar[type[PracticeItem]] = MaHuEvalPractice

    fewest_turns: int = 8
    most_turns: int = 10
    conversations: int = 10
    """Of each person in each round."""
    rounds: Literal[1, 2] = 2
    opening: Literal["own", "offered", "supplied"] = "own"
    """Of the first round: people write it, may change the data's first question, or ask that as it is."""
    index: Literal["all", "topic"] = "all"
    """What systems are given and people search: all passages of the data, or those of the topic's
    conversation. A system that brings its own index is not told."""

    def __post_init__(self) -> None:
        if not 1 <= self.fewest_turns <= self.most_turns <= 100:
            raise ValueError(
                f"fewest_turns {self.fewest_turns}, most_turns {self.most_turns}: no range within 1 to 100"
            )
        if not 1 <= self.conversations <= 1_000:
            raise ValueError(f"conversations: {self.conversations} is not within 1 to 1,000")

    # Who talks about what ----------------------------------------------------------------------------

    def tasks(self, material: Material) -> Sequence[NewTask]:
        if not material.raters:
            raise InputError(
                "raters: mahueval deals topics from person to person, beginning with somebody whom you name; "
                "write raters: [me], and preset.mahueval.rounds: 1 where people don't wait for each other"
            )
        topics = [_topic(conversation) for conversation in material.conversations]
        if len(topics) < self.conversations:
            raise InputError(
                f"data: {len(topics)} conversations, but each person talks about {self.conversations} of them"
                f" in a round; give more, or set preset.mahueval.conversations to {len(topics)}"
            )
        if self.opening != "own" and (without := [one.id for one in topics if not one.first_question]):
            raise InputError(
                f'data: conversation "{without[0]}" has no question to open with, which opening:'
                f" {self.opening} needs"
            )
        rng = random.Random(material.seed)
        systems = list(material.systems)
        rng.shuffle(topics)
        rng.shuffle(systems)
        return [
            task
            for place, rater in enumerate(material.raters)
            for task in self._first_round(topics, systems, rater, place)
        ]

    def _first_round(
        self, topics: Sequence[Topic], systems: Sequence[str], rater: int, place: int
    ) -> list[NewTask]:
        """
        Return the conversations of the rater who comes at *place*, from 0.

        Topics and systems are dealt on from rater to rater: nobody has a topic twice, two people have the
        same one only where there are too few, and every system has the same number of conversations, give or
        take one.
        """
        dealt = range(place * self.conversations, (place + 1) * self.conversations)
        return [
            self._talk(topics[number % len(topics)], systems[number % len(systems)], rater)
            for number in dealt
        ]

    def _talk(self, topic: Topic, system: str, rater: int) -> NewTask:
        supplied = topic.first_question if self.opening != "own" else None
        return _task(topic, system, rater, opening=supplied, fixed=self.opening == "supplied")

    def further(self, state: StudyState, rater: int) -> Sequence[NewTask] | None:
        talks = {id: task for id, task in state.tasks.items() if task.kind == "talk"}
        first_round = {id: task for id, task in talks.items() if task.round == 1}
        ring = sorted({owner for task in first_round.values() for owner in task.only or ()})
        if rater not in ring:
            # In the order in which they were dealt, once each.
            topics = {task.conversation: _content(task).topic for task in first_round.values()}
            systems = list(dict.fromkeys(task.system or "" for task in first_round.values()))
            place = len(ring)
            return self._first_round(list(topics.values()), systems, rater, place) if topics else None
        if self.rounds == 1 or any(task.round == 2 and task.only == (rater,) for task in talks.values()):
            return None
        others = [*ring[ring.index(rater) + 1 :], *ring[: ring.index(rater)]]
        staying = {one.id for one in state.raters if not one.left_at and not one.withdrawn_at}
        given = [one for one in state.assignments if one.task in first_round]
        done = {one.rater for one in given if one.state == "done"}
        other = next((one for who in (staying, done) for one in others if one in who), None)
        if other is None:
            return None
        at_work = any(one.rater == other and one.state == "open" for one in given)
        if other in staying and (at_work or next_task(first_round, given, other, seed=0) is not None):
            return ()
        repeated = [one for one in given if one.rater == other and one.state == "done"]
        return [
            _task(
                _content(first_round[one.task]).topic,
                first_round[one.task].system or "",
                rater,
                opening=state.talks[one.id][0].question,
                fixed=True,
                repeats=one.id,
            )
            for one in repeated
        ] or None

    def to_come(self, state: StudyState, rater: int) -> float | None:
        """Return the number of the rater's talks that are yet to be created, in both rounds."""
        talks = [task for task in state.tasks.values() if task.kind == "talk"]
        others = {one.id for one in state.raters if one.takes_part and one.id != rater}
        made = any(task.round == 2 and task.only == (rater,) for task in talks)
        first = 0 if any(task.only == (rater,) for task in talks) else self.conversations
        return first + (0 if self.rounds == 1 or made or not others else self.conversations)

    def talk(self, task: Task) -> TalkPlan | None:
        if task.practice is not None:
            return None
        content = _content(task)
        topic = content.topic
        heading = ": ".join(part for part in (topic.title, topic.section) if part)
        return TalkPlan(
            system=task.system or "",
            about=Conversation(
                id=topic.id, turns=(), title=topic.title, section=topic.section, background=topic.background
            ),
            index=self._index(topic.id),
            shown=tuple(text for text in (heading, topic.background) if text),
            opening=content.opening,
            opening_fixed=content.fixed,
            fewest=self.fewest_turns,
            most=self.most_turns,
            hint=HINT,
        )

    # What is judged ----------------------------------------------------------------------------------

    def screens(
        self,
        task: Task,
        content: MaHuEvalTalk | PracticedTurn,
        turns: Sequence[TalkTurn],
        answers: Mapping[str, Answer],
    ) -> Sequence[StudyStep]:
        if isinstance(content, PracticedTurn):
            said = (content.question, content.answer, content.history, content.passages)
            return [turn_screen("turn", "Question", *said, index=None)]
        index = self._index(task.conversation)
        steps = []
        history: list[Exchange] = []
        for turn in turns:
            if turn.answer is None:
                continue
            steps.append(
                turn_screen(
                    f"turn-{turn.depth}",
                    f"Question {turn.depth}",
                    turn.question,
                    turn.answer,
                    tuple(history),
                    turn.passages,
                    index,
                )
            )
            history.append(Exchange(question=turn.question, answer=turn.answer))
        return steps

    def _index(self, topic: str) -> Index:
        return Index(heading="Search all passages", conversation=topic if self.index == "topic" else None)

    def practice(self, item: MaHuEvalPractice) -> NewTask:
        right: dict[str, Value] = {"intent": item.intent, "correct": item.correct}
        if item.rank is not None:
            if not item.passages:
                raise InputError("rank: there are no passages; give them, or leave it out")
            right["rank"] = item.rank
        turn = PracticedTurn(
            question=item.question, answer=item.answer, history=item.history, passages=item.passages
        )
        return turn.task("practice", practice={"turn": right})

    def results(self, state: StudyState) -> Results:
        return results_of(state)


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
        Field.choice("intent", "What kind of question is it?", INTENTS),
        Field.choice("correct", "Is the answer correct?", YES_OR_NO),
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
        return Field.choice("rank", "Does the passage have the answer?", YES_OR_NO)
    ranks = {rank: f"Passage {rank}" for rank in range(1, passages + 1)}
    return Field.choice(
        "rank", "Which is the first passage that has the answer?", {**ranks, 0: "None of them"}
    )


def _topic(about: Conversation) -> Topic:
    return Topic(
        id=about.id,
        title=about.title,
        section=about.section,
        background=about.background,
        first_question=about.turns[0].question if about.turns else None,
    )


def _content(task: NewTask) -> MaHuEvalTalk:
    return convert_to(task.content, MaHuEvalTalk)


def _task(
    topic: Topic, system: str, rater: int, *, opening: str | None, fixed: bool, repeats: int | None = None
) -> NewTask:
    """*repeats* is the assignment whose opening it is, of a conversation of the second round."""
    return MaHuEvalTalk(topic=topic, opening=opening, fixed=fixed).task(
        topic.id,
        system=system,
        only=(rater,),
        round=1 if repeats is None else 2,
        sources=() if repeats is None else (repeats,),
    )
