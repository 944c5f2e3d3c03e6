"""
Items with known answers among the work: who looks at what they judge, and who is stopped.

They look like all other work and count in no result. Each person meets one in every so many pieces of work,
at a spot and in an order drawn for them. Platforms let one turn somebody away for failing such items,
Prolific from the second one on where a study takes more than five minutes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from replay.study.assignment import draw_number
from replay.study.preset import Preset
from replay.study.running.practice import checked_fields
from replay.study.running.study_file import StudyFile
from replay.study.running.withdrawal import stop
from replay.study.store import StudyStore
from replay.study.tasks import Assignment, Judgement, Rater, Task


class Attention:
    """The attention items of one study."""

    def __init__(self, file: StudyFile, store: StudyStore) -> None:
        self._section = file.study.attention
        self._preset = file.preset
        self._seed = file.study.seed
        self._store = store

    @cached_property
    def _items(self) -> dict[int, Task]:
        """By id; none is added later."""
        return {id: task for id, task in self._store.tasks().items() if task.attention}

    def among(self, assignments: Sequence[Assignment]) -> list[Assignment]:
        """Of *assignments* those of attention items that are in their rater's hands, or done."""
        return [one for one in assignments if one.task in self._items and one.counts]

    def due(self, rater: Rater) -> Task | None:
        """The item that *rater* is to be given before further work; None where it isn't time for one."""
        if self._section is None:
            return None
        assignments = self._store.assignments(rater.id)
        taken = self.among(assignments)
        left = set(self._items) - {one.task for one in taken}
        every, number = self._section.every, len(taken)
        spot = number * every + draw_number(self._seed, rater.id, number) % every
        done = sum(one.state == "done" for one in assignments if self._store.task(one.task).practice is None)
        if done < spot or not left:
            return None
        return self._items[min(left, key=lambda id: draw_number(self._seed, rater.id, id))]

    def finish(self, assignment: Assignment, rater: Rater) -> None:
        """All screens of an item were answered; whoever has had too many wrong is stopped."""
        assert self._section is not None
        self._store.end(assignment.id, "done")
        taken = self.among(self._store.assignments(rater.id))
        wrong = sum(
            is_wrong(self._preset, self._items[one.task], self._store.judgements(one.id)[one.id])
            for one in taken
        )
        if self._section.stop_after is not None and wrong >= self._section.stop_after:
            stop(self._store, rater.id)


def is_wrong(preset: Preset, task: Task, given: Mapping[str, Judgement]) -> bool:
    """Return whether anything was answered to an attention item that is not what is known to be right."""
    answers = {step: judgement.answer for step, judgement in given.items()}
    return not all(field.is_right for field in checked_fields(preset, task, answers))
