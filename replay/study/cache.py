"""What whoever writes a study's database knows of it: its raters and tasks, and who has which."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from dataclasses import fields

from replay.study.schema import assignment_of, task_of
from replay.study.tasks import Assignment, Rater, Task

RATER = ", ".join(field.name for field in fields(Rater))


class StudyCache:
    """
    The tasks and assignments of a database, each read once.

    Every click asks for them, and reading a study of 5,000 assignments takes longer than all else that a
    click does.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.tasks: dict[int, Task] = {}
        """Never changed but replaced, since other threads may be looking through it."""
        self.assignments: dict[int, Assignment] = {}
        self.of_rater: dict[int, dict[int, Assignment]] = defaultdict(dict)
        self.given: Counter[int] = Counter()
        """By task: in how many hands it is, or was until it was done."""
        self.raters: dict[int, Rater] = {}
        """Never changed but replaced, so that who asks can be told without waiting for whoever writes."""
        self.read_raters()
        self.read_new_tasks()
        self.read_assignments()

    def read_raters(self) -> None:
        rows = self._connection.execute(f"SELECT {RATER} FROM rater ORDER BY id")
        self.raters = {row["id"]: Rater(**dict(row)) for row in rows}

    def read_new_tasks(self) -> None:
        last = max(self.tasks, default=0)
        rows = self._connection.execute("SELECT * FROM task WHERE id > ? ORDER BY id", (last,))
        self.tasks = {**self.tasks, **{row["id"]: task_of(row) for row in rows}}

    def read_assignments(self, id: int | None = None) -> None:
        """Read the one that has changed, or all."""
        for row in self._connection.execute(
            "SELECT * FROM assignment WHERE id = ?1 OR ?1 IS NULL ORDER BY id", (id,)
        ):
            self._know(assignment_of(row))

    def _know(self, one: Assignment) -> None:
        before = self.assignments.get(one.id)
        self.given[one.task] += one.counts - (before is not None and before.counts)
        self.assignments[one.id] = self.of_rater[one.rater][one.id] = one
