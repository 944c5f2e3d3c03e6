"""
What makes a kind of study: which tasks there are, what their screens show and ask, what comes out.

A preset is built from its settings in the study file, as plug-ins are from theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from replay.core.conversation import Conversation
from replay.results.run import Run
from replay.study.results import Results
from replay.study.steps import Answer, StudyStep
from replay.study.tasks import Assignment, NewTask, StudyState, TalkPlan, TalkTurn, Task


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


class Preset(Protocol):
    """A kind of study."""

    @property
    def needs(self) -> frozenset[str]:
        """Keys of the study file that it can't do without: ``data`` and ``systems``, or ``runs``."""
        ...

    @property
    def instructions(self) -> str:
        """What people are told, paragraph by paragraph, where the study file says nothing else."""
        ...

    def tasks(self, material: Material) -> Sequence[NewTask]:
        """
        The tasks that a study begins with.

        Raises:
            InputError: there are none in *material*.
        """
        ...

    @property
    def practice_item(self) -> type[PracticeItem]:
        """What a line of the study's practice file holds, read and checked as it says."""
        ...

    def practice(self, item: Any) -> NewTask:
        """
        The practice task of *item*, a ``practice_item``, with the right answers by step and field.

        Its ``steps`` are asked for as any task's, without a talk. A field without a right answer is shown
        and doesn't count. Right answers that their screen doesn't take are found by the caller.

        Raises:
            InputError: something is wrong that its type doesn't say; names the field.
        """
        ...

    def talk(self, task: Task) -> TalkPlan | None:
        """The talk that *task* begins with."""
        ...

    def steps(
        self, task: Task, turns: Sequence[TalkTurn], answers: Mapping[str, Answer]
    ) -> Sequence[StudyStep]:
        """
        The screens of *task*, after its talk, as far as the *answers* so far decide which they are.

        An answer may open further screens behind it (why an answer is wrong), never before it.
        """
        ...

    def follow_ups(self, state: StudyState, ended: Assignment) -> Sequence[NewTask]:
        """The tasks that come of *ended*, an assignment that is done: a validation, another round."""
        ...

    def further(self, state: StudyState, rater: int) -> Sequence[NewTask] | None:
        """
        What else there is for *rater*, who has nothing left to do: tasks that are made now, another round.

        None of them as long as they come of what others have yet to do. None in their place where nothing
        more will come.
        """
        ...

    def to_come(self, state: StudyState, rater: int) -> float | None:
        """
        Return how many tasks that aren't made yet will probably come to *rater*: a second round, validations.

        None where nobody can tell, 0 where there will be none.
        """
        ...

    def results(self, state: StudyState) -> Results:
        """What people said, as records and scores of turns, and as tables of the preset's own."""
        ...
