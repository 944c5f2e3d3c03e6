"""
``convqa``: people question a system about a passage that they don't see, and others validate what came of it.

The human evaluation of Li et al., *Ditch the Gold Standard* (ACL 2022), section 3. Whoever asks is shown
title, section title, background and the first question of a conversation of the data, and asks 8 to 12
questions; then the passage is shown, and they say of each answer whether it is correct. Since those who ask
are biased (they call "can't answer" wrong without looking, and right what only looks like an answer), two
further people validate each conversation. Published: 100 passages, four systems, three conversations for each
passage and system; annotators were admitted by a test of ten questions about one conversation, which a
practice file with ``feedback: false`` is.

Who validates has the passage before them and goes through the conversation as the guideline says that its
annotators were given (``data/Annotation Guideline ...pdf`` of princeton-nlp/EvalConvQA): pair after pair, the
question alone is invalid, unanswerable or answerable, with the system's earlier answers as context, wrong
ones too. Only for an answerable one the answer is shown, which is correct or not; if not, the right one is
copied from the passage.

Where the source says nothing: nobody talks about a passage that they have seen before, and everybody
questions before they validate.

A practice item (a line of the practice file) is a conversation to validate, with the right judgements:

    {"passage": "...", "pairs": [
      {"question": "Who wrote it?", "answer": "Ann", "judged": "answerable", "correct": 1},
      {"question": "When?", "answer": "Ann", "judged": "answerable", "correct": 0, "span": "1999"},
      {"question": "Why?", "answer": "CANNOTANSWER", "judged": "unanswerable"}]}
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import msgspec
from msgspec.structs import replace

from replay.core.conversation import Passage
from replay.core.errors import InputError
from replay.core.history import Exchange
from replay.core.settings.choice import Count
from replay.report.numbers import count_text
from replay.scorers.answer_text import DECLINING_PATTERNS, check_patterns
from replay.study.preset import (
    SWAYED,
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
from replay.study.presets.convqa_results import ConvQATalk, Judged, Pair, ValidationContent, results_of
from replay.study.tasks import Answer, Assignment, NewTask, StudyState, TalkPlan, TalkTurn, Task

INSTRUCTIONS = """\
There are two kinds of tasks. In the first you ask, in the second you judge what others asked.

Asking: you will see what a text is about, but not the text. Find out as much as you can about it by asking \
a system {preset.fewest_turns} to {preset.most_turns} questions. It answers with words of the text, or says \
CANNOTANSWER where it finds none. Then you will see the text, and say of each answer whether it is correct.

Judging: you will see a text, and question after question of a conversation about it. Say first of the \
question alone whether it is answerable. It is invalid if it is no question at all, and unanswerable if no \
single span of the text answers it; go by the text and not by what you know besides. Take the system's \
earlier answers as they are, also where they are wrong: "he" is whoever it has just named. Of an answerable \
question you will then see the answer. It is correct if it holds what answers the question, even if it has \
some words too many; it is incorrect if it doesn't, if it is far too long, or if the system says that it \
can't answer. Then copy the right answer from the text."""


QUESTION: Field = Field.choice(
    "question",
    "Can this question be answered from the passage?",
    {
        "answerable": "Answerable: one span of the passage answers it",
        "unanswerable": "Unanswerable: the passage doesn't say",
        "invalid": "Invalid: it is not a question",
    },
    help="Take the system's earlier answers as they are, also where they are wrong.",
)
CORRECT: Field = Field.choice(
    "correct",
    "Is the answer correct?",
    {1: "Correct", 0: "Incorrect"},
    help="It is if it holds what answers the question, and not much else.",
)


class PracticePair(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pair of a practice conversation, with its right judgement."""

    question: str
    answer: str
    judged: Judged
    correct: Literal[0, 1] | None = None
    """Of an answerable question."""
    span: str | None = None
    """The right answer, in the passage's words, where this one is incorrect; any is taken if left out."""


class ConvQAPractice(PracticeItem, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of its practice file: a conversation to validate."""

    passage: str
    pairs: tuple[PracticePair, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvQA(Preset):
    """Its settings, and what it does with them."""

    needs: ClassVar[frozenset[str]] = frozenset({"data", "systems"})
    text: ClassVar[str] = INSTRUCTIONS
    contents: ClassVar[tuple[type[TaskContent], ...]] = (ConvQATalk, ValidationContent)
    practice_item: ClassVar[type[PracticeItem]] = ConvQAPractice

    fewest_turns: Count = 8
    most_turns: Count = 12
    topics: Count | None = None
    """How many conversations of the data are talked about, drawn; None for all."""
    conversations: Count = 3
    """Of each system about each topic, with as many people."""
    first_question: Literal["fixed", "suggested"] = "fixed"
    """The data's first question is asked as it is, or can be changed."""
    validators: int = 2
    """How many further people judge each conversation; 0 for none."""
    declining: tuple[str, ...] = DECLINING_PATTERNS
    """What a system says that can't answer: regular expressions of whole answers, case ignored."""

    def __post_init__(self) -> None:
        if self.fewest_turns > self.most_turns:
            raise ValueError(f"fewest_turns: {self.fewest_turns} is more than most_turns, {self.most_turns}")
        if not 0 <= self.validators <= 100:
            raise ValueError(f"validators: {self.validators} is not within 0 to 100")
        check_patterns(self.declining)

    def tasks(self, material: Material) -> Sequence[NewTask]:
        usable = [one for one in material.conversations if one.passages and one.turns]
        if not usable:
            raise InputError(
                "data: no conversation has both a passage and a question to begin with, which convqa needs"
            )
        wanted = self.topics or len(usable)
        if wanted > len(usable):
            raise InputError(
                f"data: {count_text(len(usable), 'conversation', ('has', 'have'))} a passage and a "
                f"question to begin with, and "
                f"preset.convqa.topics is {wanted}; give more data, or lower it"
            )
        if not material.more_come:
            self._check_raters(len(material.raters), len(material.systems))
        drawn = random.Random(material.seed).sample(usable, wanted)
        return [
            ConvQATalk(about=replace(topic, turns=()), first_question=topic.turns[0].question).task(
                topic.id, system=system, raters=self.conversations, unseen=True
            )
            for topic in drawn
            for system in material.systems
        ]

    def _check_raters(self, raters: int, systems: int) -> None:
        """
        Raises:
            InputError: too few take part for all conversations, or to validate them.
        """
        talking = systems * self.conversations
        if raters < talking:
            raise InputError(
                f"raters: {raters} can't have {count_text(talking, 'conversation')} about each topic "
                f"({count_text(systems, 'system')}, {self.conversations} each), since nobody talks "
                "about a passage that they have seen; give more raters, or set preset.convqa.conversations "
                "lower"
            )
        if raters <= self.validators:
            raise InputError(
                f"raters: {raters} are too few for {self.validators} to validate what somebody else "
                "has asked; give more, or set preset.convqa.validators lower"
            )

    # Asking ------------------------------------------------------------------------------------------

    def talk(self, task: Task) -> TalkPlan | None:
        if task.kind != "talk":
            return None
        content = self.content(task)
        about = content.about
        return TalkPlan(
            system=task.system or "",
            about=about,
            shown=tuple(text for text in (about.title, about.section, about.background) if text),
            opening=content.first_question,
            opening_fixed=self.first_question == "fixed",
            fewest=self.fewest_turns,
            most=self.most_turns,
            hint="Ask what you would like to know of it. You can't see the text yet; the system can.",
        )

    def screens(
        self,
        task: Task,
        content: ConvQATalk | ValidationContent,
        turns: Sequence[TalkTurn],
        answers: Mapping[str, Answer],
    ) -> Sequence[StudyStep]:
        if isinstance(content, ValidationContent):
            return validation_steps(content, answers)
        pairs = _pairs(turns)
        return [
            StudyStep(
                id=f"answer-{pair.depth}",
                heading=f"Answer {place + 1} of {len(pairs)}",
                blocks=pair_blocks(content.about.passages, pairs, place, with_answer=True),
                fields=(CORRECT,),
            )
            for place, pair in enumerate(pairs)
        ]

    # Validating --------------------------------------------------------------------------------------

    def follow_ups(self, state: StudyState, ended: Assignment) -> Sequence[NewTask]:
        task = state.tasks[ended.task]
        pairs = _pairs(state.talks.get(ended.id, ()))
        if task.kind != "talk" or not self.validators or not pairs:
            return ()
        passages = self.content(task).about.passages
        validation = ValidationContent(passages=passages, pairs=tuple(pairs), talk=ended.id)
        return [
            validation.task(
                task.conversation,
                system=task.system,
                raters=self.validators,
                never=(ended.rater,),
                round=2,
            )
        ]

    def further(self, state: StudyState, rater: int) -> Sequence[NewTask] | None:
        """Return no tasks while validations of unfinished talks may still come; else None."""
        finished = [state.tasks[one.task] for one in state.done]
        talks = [task for task in state.tasks.values() if task.kind == "talk"]
        expected = sum(task.raters or 0 for task in talks)
        return () if self.validators and sum(one.kind == "talk" for one in finished) < expected else None

    def to_come(self, state: StudyState, rater: int) -> float | None:
        """
        Return the expected number of validations of talks that are yet to be finished, shared out evenly.
        """
        sharing = sum(one.takes_part for one in state.raters)
        talks = {id: task.raters or 0 for id, task in state.tasks.items() if task.kind == "talk"}
        own = sum(
            one.task in talks and one.rater == rater and one.state == "open" for one in state.assignments
        )
        done = sum(one.task in talks for one in state.done)
        return max(0, sum(talks.values()) - done - own) * self.validators / max(1, sharing)

    def practice(self, item: ConvQAPractice) -> NewTask:
        right: dict[str, Answer] = {}
        for place, one in enumerate(item.pairs):
            depth = place + 1
            right[f"question-{depth}"] = {"question": one.judged}
            if one.judged == "answerable":
                if one.correct is None:
                    raise InputError(f"pairs[{place}].correct: is missing; an answerable question needs it")
                right[f"answer-{depth}"] = {"correct": one.correct}
            elif one.correct is not None:
                raise InputError(f"pairs[{place}].correct: has no use, the answer isn't shown")
            if one.span is not None:
                if one.correct != 0:
                    raise InputError(f"pairs[{place}].span: has no use, unless correct is 0")
                right[f"span-{depth}"] = {"span": one.span}
        pairs = [
            Pair(depth=depth, question=one.question, answer=one.answer)
            for depth, one in enumerate(item.pairs, 1)
        ]
        passages = (Passage(id="practice", text=item.passage),)
        validation = ValidationContent(passages=passages, pairs=tuple(pairs), talk=None)
        return validation.task("practice", practice=right)

    def results(self, state: StudyState) -> Results:
        return results_of(state, validators=self.validators, declining=self.declining)


def _pairs(turns: Sequence[TalkTurn]) -> list[Pair]:
    """Return the questions that were answered, which alone can be judged."""
    return [
        Pair(depth=turn.depth, question=turn.question, answer=turn.answer)
        for turn in turns
        if turn.answer is not None
    ]


def pair_blocks(
    passages: tuple[Passage, ...], pairs: Sequence[Pair], place: int, *, with_answer: bool
) -> tuple[Block, ...]:
    """
    Return the passage, what was said before the pair at *place*, from 0, its question, and its answer or not.
    """
    pair = pairs[place]
    blocks: list[Block] = [Passages(heading="Passage", passages=passages)]
    if place:
        before = tuple(Exchange(question=one.question, answer=one.answer) for one in pairs[:place])
        blocks.append(Transcript(heading="Conversation so far", exchanges=before))
    blocks.append(Text(heading="Question", text=pair.question))
    if with_answer:
        blocks.append(Text(heading="Answer", text=pair.answer))
    return tuple(blocks)


def validation_steps(content: ValidationContent, answers: Mapping[str, Answer]) -> list[StudyStep]:
    """
    Return the screens of a validation; that of an answer is there once its question was called answerable.
    """
    passage = "\n\n".join(one.text for one in content.passages)
    steps = []
    for place, pair in enumerate(content.pairs):
        heading = f"Question {place + 1} of {len(content.pairs)}"
        steps.append(
            StudyStep(
                id=f"question-{pair.depth}",
                heading=heading,
                blocks=pair_blocks(content.passages, content.pairs, place, with_answer=False),
                fields=(QUESTION,),
                final=SWAYED,
            )
        )
        if answers.get(f"question-{pair.depth}", {}).get("question") != "answerable":
            continue
        shown = pair_blocks(content.passages, content.pairs, place, with_answer=True)
        steps.append(
            StudyStep(
                id=f"answer-{pair.depth}", heading=f"{heading}: the answer", blocks=shown, fields=(CORRECT,)
            )
        )
        if answers.get(f"answer-{pair.depth}", {}).get("correct") == 0:
            span = Field(
                name="span",
                label="What is the right answer?",
                within=passage,
                help="Copy it from the passage, word for word and in one piece.",
            )
            steps.append(
                StudyStep(
                    id=f"span-{pair.depth}",
                    heading=f"{heading}: the right answer",
                    blocks=shown,
                    fields=(span,),
                )
            )
    return steps
