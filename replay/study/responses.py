"""
What people said and judged in a study, click by click.

Each click carries an id of its own. A click that comes again, since its confirmation was lost on the way,
finds what it did the first time and does nothing.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace

import msgspec

from replay.study.database import StudyDatabase, seconds_between
from replay.study.schema import sound, sound_json, talk_turn_of
from replay.study.steps import Answer
from replay.study.tasks import Judgement, TalkTurn


class ResponseStore(StudyDatabase):
    """The part of a study's database that holds judgements and talks."""

    # Judgements --------------------------------------------------------------------------------------

    def show(self, assignment: int, step: str) -> None:
        """Note that the screen is shown now."""
        self._write("INSERT OR REPLACE INTO shown VALUES (?, ?, ?)", assignment, step, self.now())

    def was_shown(self, assignment: int, step: str) -> bool:
        return bool(self._rows("SELECT 1 FROM shown WHERE assignment = ? AND step = ?", assignment, step))

    def keep_judgement(self, click: str, assignment: int, step: str, answer: Answer, comment: str) -> bool:
        """Keep what was answered on a screen; returns False where the same *click* was kept before."""
        at = self.now()
        with self.writing():
            # A page that the browser has kept is shown again without our knowing.
            shown = self._rows(
                "SELECT at FROM shown WHERE assignment = ?1 AND step = ?2 AND at > coalesce("
                "(SELECT max(at) FROM judgement WHERE assignment = ?1 AND step = ?2), '')",
                assignment,
                step,
            )
            seconds = seconds_between(shown[0]["at"], at) if shown else None
            insert = (
                "INSERT OR IGNORE INTO judgement (click, assignment, step, answer, comment, at, seconds)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)"
            )
            kept = (click, assignment, step, sound_json(answer), sound(comment), at, seconds)
            return bool(self._write(insert, *kept))

    def was_judged(self, click: str) -> bool:
        """Return whether an answer was kept by this *click*."""
        return bool(self._rows("SELECT 1 FROM judgement WHERE click = ?", click))

    def judgements(self, assignment: int | None = None) -> dict[int, dict[str, Judgement]]:
        """Return the judgements that count, by assignment and step; of one *assignment* or all."""
        where, values = ("", ()) if assignment is None else (" WHERE assignment = ?", (assignment,))
        found: dict[int, dict[str, Judgement]] = {}
        for row in self._rows(f"SELECT * FROM judgement{where} ORDER BY id", *values):
            steps = found.setdefault(row["assignment"], {})
            steps[row["step"]] = _judgement(row, steps.get(row["step"]))
        return found

    def answer_to(self, task: int) -> Answer | None:
        """
        Return what was answered last on the one screen of *task*, once it is done; None before that.

        Raises:
            KeyError: there is no such task any more.
        """
        rows = self._rows(
            "SELECT judgement.answer FROM task"
            " LEFT JOIN assignment ON assignment.task = task.id AND assignment.state = 'done'"
            " LEFT JOIN judgement ON judgement.assignment = assignment.id"
            " WHERE task.id = ? ORDER BY judgement.id DESC LIMIT 1",
            task,
        )
        if not rows:
            raise KeyError(task)
        answer: Answer | None = rows[0]["answer"] and msgspec.json.decode(rows[0]["answer"])
        return answer

    def answers_about(self, conversation: str) -> dict[int, Answer]:
        """Return by assignment what was answered last in what is done about *conversation*."""
        rows = self._rows(
            "SELECT assignment.id, judgement.answer FROM judgement"
            " JOIN assignment ON assignment.id = judgement.assignment AND assignment.state = 'done'"
            " JOIN task ON task.id = assignment.task WHERE task.conversation = ? ORDER BY judgement.id",
            conversation,
        )
        return {row["id"]: msgspec.json.decode(row["answer"]) for row in rows}

    # Talks -------------------------------------------------------------------------------------------

    def ask(self, click: str, assignment: int, depth: int, question: str) -> bool:
        """
        Keep a question before it is asked; returns False where the same *click* was kept before.

        Raises:
            sqlite3.IntegrityError: another question stands at *depth*.
        """
        with self.writing():
            if self.was_asked(click):
                return False
            self._write(
                "INSERT INTO talk_turn (assignment, depth, click, question, asked_at, passages, attempts)"
                " VALUES (?, ?, ?, ?, ?, '[]', 0)",
                assignment,
                depth,
                click,
                sound(question),
                self.now(),
            )
            return True

    def was_asked(self, click: str) -> bool:
        """Return whether a question was kept by this *click*."""
        return bool(self._rows("SELECT 1 FROM talk_turn WHERE click = ?", click))

    def take_back(self, turn: TalkTurn) -> None:
        """Take a question that failed out of its talk."""
        self._write("DELETE FROM talk_turn WHERE assignment = ? AND depth = ?", turn.assignment, turn.depth)

    def keep_turn(self, turn: TalkTurn) -> None:
        """Keep what came of a question; or, without an outcome, that it is asked again."""
        self._write(
            "UPDATE talk_turn SET outcome = ?, answer = ?, passages = ?, error = ?, attempts = ?,"
            " latency_s = ? WHERE assignment = ? AND depth = ?",
            turn.outcome,
            None if turn.answer is None else sound(turn.answer),
            sound_json(turn.passages),
            None if turn.error is None else sound(turn.error),
            turn.attempts,
            turn.latency_s,
            turn.assignment,
            turn.depth,
        )

    def talks(self, assignment: int | None = None) -> dict[int, list[TalkTurn]]:
        """Return the turns of talks by assignment, in order of depth; of one *assignment* or all."""
        where, values = ("", ()) if assignment is None else (" WHERE assignment = ?", (assignment,))
        found: dict[int, list[TalkTurn]] = {}
        for row in self._rows(f"SELECT * FROM talk_turn{where} ORDER BY assignment, depth", *values):
            found.setdefault(row["assignment"], []).append(talk_turn_of(row))
        return found


def _judgement(row: sqlite3.Row, before: Judgement | None) -> Judgement:
    """
    Return the judgement of a screen once *row* was saved, after the judgement *before*.

    Seconds of both are added up; the first judgement is kept when the answer changes.
    """
    plain = {name: row[name] for name in ("assignment", "step", "comment", "at", "seconds")}
    saved = Judgement(answer=msgspec.json.decode(row["answer"]), **plain)
    if before is None:
        return saved
    looks = [one for one in (before.seconds, saved.seconds) if one is not None]
    seconds = sum(looks) if looks else None
    if saved.answer == before.answer:
        return replace(before, comment=saved.comment, seconds=seconds)
    return replace(saved, seconds=seconds, first=before.first or before)
