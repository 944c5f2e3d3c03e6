"""
What people do in a study: tasks, who is given which, and what was said and judged in them.

A task is worked on by one person at a time, once for each assignment. Where it begins with a talk, the person
converses with a system first; then come its steps, one screen each.

Tasks that were done least are given first, so that all come to their number of raters together and a study
that ends early is still balanced; of those, one of the system that this rater has met least, and then one of
the system that all have; of those, one about what this rater has not seen; the rest is drawn by the study's
seed, in an order of each rater's own. What is given back when somebody leaves counts no more, so its task
comes up again. So does one that was set aside since its system failed: for others at once, for whoever had
it, last of all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal

from replay.core.conversation import Conversation, Passage
from replay.core.record import Outcome, TurnRecord

Value = str | int
Answer = Mapping[str, Value]
"""By the field's name; a field that was left empty is missing."""
SLOW_S = 10.0
"""So long people wait before the page says that it takes long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """Work for one or several people."""

    kind: str
    """What sort of work it is, in its preset's words: ``rate``, ``talk``, ``validate``."""
    content: Mapping[str, Any]
    """All that its screens show, as JSON: the files that it came from may change."""
    conversation: str
    """Id of what it is about. What is resampled, and what nobody is given twice where that can be avoided."""
    system: str | None = None
    """Whose answers it is about, for quotas; never shown."""
    raters: int | None = 1
    """How many people do it; None for everyone."""
    only: tuple[int, ...] | None = None
    """The ids of the raters who may be given it; None for all."""
    never: tuple[int, ...] = ()
    """Those who may not: nobody validates a conversation of their own."""
    unseen: bool = False
    """Only for people who had nothing else about its conversation: they would know its passages."""
    round: int = 1
    """Nobody is given a task before what is open to them of earlier rounds."""
    practice: Mapping[str, Answer] | None = None
    """Of an item with known answers, which counts in no result: those, by step. None for real work."""
    attention: bool = False
    """It stands among the work, in place of before it: nobody is told that its answers are known."""
    sources: tuple[int, ...] = ()
    """Ids of the assignments that it came of, or whose words it shows: it is erased with any of them. Of a
    follow-up, the assignment that has just ended is added by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(NewTask):
    """A task of a study."""

    id: int
    draw: int = 0
    """That of the assignment whose screens are made; 0 elsewhere."""


AssignmentState = Literal["open", "done", "set-aside", "given-back", "discarded"]
"""``set-aside``: its system failed, or keeps a history that was lost; counted, and not judged.
``given-back``: whoever had it left, and somebody else gets it.
``discarded``: it was done, counts no more, and somebody else does it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A task in the hands of a rater."""

    id: int
    task: int
    rater: int
    state: AssignmentState
    given_at: str
    """UTC, ISO 8601."""
    ended_at: str | None
    reason: str | None = None
    """Why it was set aside or given back."""
    talk_ended: bool = False
    """The person has said that the talk is over; of a task with a talk."""
    draw: int = 0
    """Drawn by the study's seed for this task and rater: in which order they are shown what has none."""

    @property
    def counts(self) -> bool:
        """Return whether it is one of those that its task is given to."""
        return self.state in ("open", "done")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a rater answered on one screen; the last answer counts."""

    assignment: int
    step: str
    answer: Answer
    comment: str
    at: str
    """When this was answered; UTC, ISO 8601."""
    seconds: float | None
    """How long the screen was looked at until it was saved, all looks together; None where it isn't known."""
    first: Judgement | None = None
    """Of an answer that was corrected: the one that was given first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkTurn:
    """A question that a person asked a system, and what came of it."""

    assignment: int
    depth: int
    """1 for the first."""
    question: str
    asked_at: str
    """UTC, ISO 8601."""
    outcome: Outcome | None
    """None as long as an answer is waited for."""
    answer: str | None = None
    passages: tuple[Passage, ...] = ()
    """What the system says it retrieved, best first."""
    error: str | None = None
    attempts: int = 0
    latency_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rater:
    """A person who takes part."""

    id: int
    name: str
    """What the study's owner calls them, or their id on the platform that they came from."""
    joined_at: str | None = None
    """When they came by the platform's link; None of those whom the owner has named."""
    declined_at: str | None = None
    """When they said that they don't agree to take part; they may still change their mind."""
    consent_version: str | None = None
    consented_at: str | None = None
    instructed_at: str | None = None
    qualified_at: str | None = None
    """When practice was passed; None where the study has none."""
    failed_at: str | None = None
    """When practice was failed for good."""
    finished_at: str | None = None
    """When somebody from a platform was told that all is done; they are given nothing after that."""
    stopped_at: str | None = None
    """When too many items among the work, whose answers are known, were answered otherwise."""
    left_at: str | None = None
    """When they left the study, or were taken out of it; what they had open goes to others."""
    withdrawn_at: str | None = None
    """When their data was erased at their request."""

    @property
    def takes_part(self) -> bool:
        """Return whether work may still be given to them."""
        ends = (self.declined_at, self.failed_at, self.stopped_at, self.left_at, self.withdrawn_at)
        return not any(ends)


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """The passages of the study's data, which the page lets one search."""

    heading: str
    conversation: str | None = None
    """Id of the one whose passages they are; None for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkPlan:
    """How a task's talk goes."""

    system: str
    about: Conversation
    """What the session is opened for: an id, title, background and passages; no turns."""
    index: Index | None = None
    """Where its passages are, if not in *about*: the store has them."""
    shown: tuple[str, ...] = ()
    """Paragraphs above the talk: what the person knows of the subject."""
    opening: str | None = None
    """A supplied first question."""
    opening_fixed: bool = False
    """The first question has to be asked as it is."""
    fewest: int = 8
    most: int = 10
    hint: str = ""
    """What the person is encouraged to ask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTalk:
    """A talk that goes on."""

    assignment: Assignment
    plan: TalkPlan
    turns: Sequence[TalkTurn]
    """All but the last one are answered."""
    seconds: float | None
    """Since the last question; None before the first, or if the clock was set back."""

    @property
    def waiting(self) -> bool:
        """Return whether an answer is on its way."""
        return bool(self.turns) and self.turns[-1].outcome is None

    @property
    def slow(self) -> bool:
        """Return whether it has been on its way for long."""
        return self.waiting and (self.seconds or 0.0) >= SLOW_S

    @property
    def failed_turn(self) -> TalkTurn | None:
        """The last question, if no answer came to it."""
        last = self.turns[-1] if self.turns else None
        return last if last is not None and last.outcome not in (None, "answered") else None

    @property
    def answered_questions(self) -> int:
        """Questions that have an answer."""
        return len(self.turns) - (self.waiting or self.failed_turn is not None)

    @property
    def may_ask(self) -> bool:
        return not self.waiting and self.failed_turn is None and len(self.turns) < self.plan.most

    @property
    def may_take_back(self) -> bool:
        """Return whether something else can be asked in the place of what failed."""
        return self.failed_turn is not None and not (self.plan.opening_fixed and len(self.turns) == 1)

    @property
    def may_end(self) -> bool:
        return not self.waiting and self.failed_turn is None and len(self.turns) >= self.plan.fewest


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyState:
    """All of a study that its results are made of; of withdrawn raters nothing is left in it."""

    raters: Sequence[Rater]
    tasks: Mapping[int, Task]
    assignments: Sequence[Assignment]
    """In the order in which they were given; practice as well."""
    answers: Mapping[int, Mapping[str, Judgement]] = field(default_factory=dict)
    """By assignment and step: the last judgement of each."""
    talks: Mapping[int, Sequence[TalkTurn]] = field(default_factory=dict)
    """By assignment, in order of depth."""
    conversations: Mapping[str, Conversation] = field(default_factory=dict)
    """Those that the study's first tasks are about, by id."""
    tasks_per_rater: int | None = None
    """Nobody is given more; None where there is no such limit, or whoever asks doesn't care."""

    @property
    def names(self) -> dict[int, str]:
        """The raters' names by id."""
        return {rater.id: rater.name for rater in self.raters}

    @property
    def done(self) -> list[Assignment]:
        """The assignments that count: finished work, without practice."""
        return [
            one for one in self.assignments if one.state == "done" and self.tasks[one.task].practice is None
        ]

    def conversations_of(self, records: Iterable[TurnRecord]) -> list[Conversation]:
        """Return the conversations that *records* are of, each once."""
        return [self.conversations[id] for id in dict.fromkeys(one.recorded_conversation for one in records)]


BEFORE_THE_END = ("set-aside", "given-back")
"""States in which a talk may have come to nothing before it showed a passage."""


def next_task(
    tasks: Mapping[int, Task], assignments: Iterable[Assignment], rater: int, *, seed: int
) -> Task | None:
    """
    Return the task that *rater* is given next, practice left out; None where there is none for them now.
    """
    by_task: Counter[int] = Counter()
    set_aside: Counter[int] = Counter()
    own: set[int] = set()
    own_systems: Counter[str | None] = Counter()
    systems: Counter[str | None] = Counter()
    seen: Counter[str] = Counter()
    knows: set[str] = set()
    for one in assignments:
        task = tasks[one.task]
        if task.practice is not None:
            continue
        if one.rater == rater and one.state != "given-back":
            if one.state == "set-aside":
                set_aside[task.id] += 1
            else:
                own.add(task.id)
            own_systems[task.system] += 1
            seen[task.conversation] += 1
        if one.rater == rater and not (task.unseen and one.state in BEFORE_THE_END and not one.talk_ended):
            knows.add(task.conversation)
        if one.state in ("open", "done"):
            by_task[task.id] += 1
            systems[task.system] += 1
    waiting = [
        task
        for task in tasks.values()
        if task.id not in own
        and is_for(task, rater, by_task[task.id])
        and not (task.unseen and task.conversation in knows)
    ]
    if not waiting:
        return None
    first = min(task.round for task in waiting)

    def rank(task: Task) -> tuple[object, ...]:
        return (
            set_aside[task.id],
            by_task[task.id],
            own_systems[task.system],
            systems[task.system],
            seen[task.conversation],
            draw_number(seed, rater if task.raters is None else 0, task.id),
        )

    return min((task for task in waiting if task.round == first), key=rank)


def is_for(task: Task, rater: int, given: int) -> bool:
    """Return whether *rater*, who hasn't got it yet, may be given *task*, which as many as *given* have."""
    return (
        task.practice is None
        and (task.raters is None or given < task.raters)
        and (task.only is None or rater in task.only)
        and rater not in task.never
    )


def draw_number(*parts: int) -> int:
    """Return a whole number in [0, 2**62) drawn for *parts*, the same on every machine."""
    digest = blake2b("|".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> 2
