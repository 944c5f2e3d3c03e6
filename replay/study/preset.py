"""
What makes a kind of study: which tasks there are, what their screens show and ask, what comes out.

A preset is built from its settings in the study file, as plug-ins are from theirs. Its screens are plain
data, which pages show: what a person is shown and what they are asked. What comes out are the results before
numbers are made of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field as dataclass_field
from typing import Any, ClassVar, NamedTuple

import msgspec

from replay.core.conversation import Conversation, Passage
from replay.core.decoding import convert_to
from replay.core.history import Exchange
from replay.core.record import TurnRecord
from replay.results.run import Run
from replay.statistics.people import HumanTable
from replay.statistics.rater_agreement import RatedItem
from replay.study.tasks import Answer, Assignment, Index, NewTask, StudyState, TalkPlan, TalkTurn, Task, Value

WAY_OUT = "way_out"
"""In place of a field: nothing was answered, by the button of the screen."""
SWAYED = "the next screen shows something that could have swayed it"
"""Why an answer stands that must not depend on what comes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One way to answer a field."""

    value: Value
    label: str
    meaning: str | None = None
    """What it stands for, where the label speaks of an order that each rater has of their own; never shown to
    them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One thing that is asked: one of *options*, or a text where there are none."""

    name: str
    label: str
    options: tuple[Option, ...] = ()
    within: str | None = None
    """A text in which the answer has to occur, word for word."""
    index: Index | None = None
    """Where the answer has to be a passage's id."""
    required: bool = True
    help: str = ""
    longest: int = 2_000
    """Characters that a text may have."""

    @classmethod
    def choice(cls, name: str, label: str, options: Mapping[Any, str], **more: Any) -> Field:
        """Return a field to choose one of *options* in, labels by value; *more* are its other fields."""
        found = tuple(Option(value=value, label=text) for value, text in options.items())
        return cls(name=name, label=label, options=found, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text to read, under a heading of its own."""

    heading: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """Questions and answers so far, oldest first."""

    heading: str
    exchanges: tuple[Exchange, ...]
    first: int = 1
    """The number of the first one."""
    asker: str = "Person"
    """Who asks, as the page calls them."""
    other: tuple[Exchange, ...] = ()
    """Of one that stands beside it: what isn't in that is marked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passages:
    """Passages, best first where they are *ranked*."""

    heading: str
    passages: tuple[Passage, ...]
    ranked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SideBySide:
    """Texts or histories that are compared: beside each other where the screen is wide enough."""

    blocks: tuple[Text | Transcript, ...]


Block = Text | Transcript | Passages | Index | SideBySide


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyStep:
    """One screen: *blocks* to read, and then *fields* to fill in."""

    id: str
    """Unlike that of every other step of its task; answers are kept under it."""
    heading: str
    blocks: tuple[Block, ...]
    fields: tuple[Field, ...]
    final: str = ""
    """Why what was answered stands, for people; empty where it can be changed."""
    alone: bool = False
    """Its task has no other screen, so that the study's own questions stand on it, too."""
    way_out: str = ""
    """The label of a button that answers nothing of all this; empty where there is none."""


def form_text(form: Mapping[str, str], name: str) -> str:
    """Return what *form* has under *name*, as it is kept."""
    return form.get(name, "").replace("\r\n", "\n").strip()


def read_answer(step: StudyStep, form: Mapping[str, str]) -> tuple[dict[str, Value], dict[str, str]]:
    """Return the answers in *form* to the fields of *step*, and the faults in it; both by field name."""
    answer: dict[str, Value] = {}
    faults: dict[str, str] = {}
    if step.way_out and form.get(WAY_OUT):
        return {WAY_OUT: 1}, {}
    for field in step.fields:
        given = form_text(form, field.name)
        if not given:
            if field.required:
                faults[field.name] = "choose one" if field.options else "write something"
        elif field.options:
            chosen = next((option for option in field.options if str(option.value) == given), None)
            if chosen is None:
                faults[field.name] = "choose one of those shown"
            else:
                answer[field.name] = chosen.value
        elif len(given) > field.longest:
            faults[field.name] = f"{len(given):,} characters; {field.longest:,} are allowed"
        elif field.within is not None and given not in field.within.replace("\r\n", "\n"):
            faults[field.name] = "this doesn't stand in the passage, word for word; copy it from there"
        else:
            answer[field.name] = given
    return answer, faults


class JudgedTurnKey(NamedTuple):
    """Which turn."""

    system: str
    policy: str
    conversation: str
    depth: int

    @classmethod
    def of(cls, record: TurnRecord) -> JudgedTurnKey:
        """Return the key of the turn of *record*."""
        return cls(record.system, record.policy, record.conversation, record.depth)


class Origin(NamedTuple):
    """Where the records of a system under a policy come from."""

    run: str
    """The run's name."""
    system: str
    """The system's name there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanScore:
    """One person's number for one turn."""

    name: str
    """The column's: ``human_correct``."""
    turn: JudgedTurnKey
    rater: str
    value: float | None
    """None where the person said that it can't be judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """What people said."""

    records: Sequence[TurnRecord]
    """The turns that were judged, or talked; a talk's conversation has an id of its own."""
    conversations: Sequence[Conversation]
    """Those that the records are of."""
    scores: Sequence[HumanScore] = ()
    origins: Mapping[tuple[str, str], Origin] = dataclass_field(default_factory=dict)
    """By system and policy, of records that come from runs."""
    units: Mapping[str, str] = dataclass_field(default_factory=dict)
    """Of scores by name, where it isn't plain from their values: nothing for points on a scale."""
    rated: Mapping[str, Sequence[RatedItem]] = dataclass_field(default_factory=dict)
    """By score: what raters judged, where one judgement is not about one turn."""
    tables: Sequence[HumanTable] = ()
    """What this preset alone has."""
    data_set: Sequence[Conversation] = dataclass_field(default_factory=tuple)
    """Live conversations that can be replayed against other systems, with gold answers from validation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What a study is made of when it begins."""

    conversations: Sequence[Conversation]
    """Of its data."""
    systems: Sequence[str]
    """Names of the systems that people talk with."""
    runs: Mapping[str, Run]
    """Runs whose answers are judged, by the name of their folder."""
    raters: Sequence[int]
    """The ids of those who take part from the beginning."""
    rater_names: Sequence[str] = ()
    """What they are called, in the same order."""
    more_come: bool = False
    """Further people come by a platform's link, so that nobody knows yet how many take part."""
    seed: int


class PracticeItem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of a practice file; each preset adds what it needs."""

    why: str = ""
    """Shown with the right answers."""


class TaskContent(msgspec.Struct, frozen=True, kw_only=True):
    """What the tasks of one kind hold, as JSON: all that their screens show."""

    kind: ClassVar[str]
    """What sort of work it is: ``rate``, ``talk``, ``validate``."""

    def task(self, conversation: str, **given: Any) -> NewTask:
        """Return the task that holds this, about the *conversation* of that id; *given* are other fields."""
        return NewTask(kind=self.kind, content=msgspec.to_builtins(self), conversation=conversation, **given)


class Preset(ABC):
    """
    A kind of study, declared: its tasks, their screens, what is right, and what comes out.

    A frozen dataclass of its settings, which are read from the study file as a plug-in's are. It says what
    differs from the simplest kind: answers of runs, judged by each person on their own, in one round.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"runs"})
    """Keys of the study file that it can't do without: ``data`` and ``systems``, or ``runs``."""
    contents: ClassVar[tuple[type[TaskContent], ...]]
    """One of each kind of its tasks."""
    practice_item: ClassVar[type[PracticeItem]]
    """What a line of the study's practice file holds, read and checked as it says."""
    added_item: ClassVar[type[msgspec.Struct] | None] = None
    """What a row of further items holds; None where none can be added."""

    waiting: ClassVar[str] = (
        "Your next task depends on work that others have not finished yet. Come back later, by the same link."
    )
    """What people read who have nothing to do just now."""

    # What it declares --------------------------------------------------------------------------------

    text: ClassVar[str] = ""
    """The default instructions to raters, by paragraph; ``{preset.NAME}`` stands for a setting."""

    @abstractmethod
    def tasks(self, material: Material) -> Sequence[NewTask]:
        """
        Return the tasks that a study begins with.

        Raises:
            InputError: there are none in *material*.
        """

    @abstractmethod
    def screens(
        self, task: Task, content: Any, turns: Sequence[TalkTurn], answers: Mapping[str, Answer]
    ) -> Sequence[StudyStep]:
        """
        Return the screens of *task*, which holds *content*, after its talk, as far as *answers* decide them.

        An answer may open further screens behind it (why an answer is wrong), never before it.
        """

    @abstractmethod
    def practice(self, item: Any) -> NewTask:
        """
        Return the practice task of *item*, a ``practice_item``, with the right answers by step and field.

        Its screens are asked for as any task's, without a talk. A field without a right answer is shown
        and doesn't count. Right answers that their screen doesn't take are found by the caller.

        Raises:
            InputError: something is wrong that its type doesn't say; names the field.
        """

    @abstractmethod
    def results(self, state: StudyState) -> Results:
        """Return what people said, as records and scores of turns, and as tables of the preset's own."""

    def added_task(self, item: Any, conversation: str) -> tuple[NewTask, Conversation]:
        """
        Return the task of *item*, an ``added_item``, and what it is about, under the id *conversation*.

        Who may do the task, and how many, is set by the caller.
        """
        raise NotImplementedError

    def talk(self, task: Task) -> TalkPlan | None:
        """Return the talk that *task* begins with."""
        return None

    def follow_ups(self, state: StudyState, ended: Assignment) -> Sequence[NewTask]:
        """Return the tasks that come of *ended*, an assignment that is done: a validation, another round."""
        return ()

    def further(self, state: StudyState, rater: int) -> Sequence[NewTask] | None:
        """
        Return what else there is for *rater*, who has nothing left to do: tasks that are made now.

        None of them as long as they come of what others have yet to do. None in their place where nothing
        more will come.
        """
        return None

    def to_come(self, state: StudyState, rater: int) -> float | None:
        """
        Return how many tasks that aren't made yet will probably come to *rater*: a second round, validations.

        None where nobody can tell, 0 where there will be none.
        """
        return 0

    @property
    def instructions(self) -> str:
        """The instructions to raters, used where the study file has none."""
        return self.text.format(preset=self)

    # What follows ------------------------------------------------------------------------------------

    def content(self, task: Task) -> Any:
        """Return what *task* holds, as its kind has it."""
        return convert_to(task.content, next(one for one in self.contents if one.kind == task.kind))

    def steps(
        self, task: Task, turns: Sequence[TalkTurn], answers: Mapping[str, Answer]
    ) -> Sequence[StudyStep]:
        """Return the screens of *task*."""
        return self.screens(task, self.content(task), turns, answers)
