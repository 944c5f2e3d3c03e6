"""
``person``: a user played by people, in the pages of a study of the kind ``wording``.

A turn becomes a task of the study, which `replay study serve` puts to whoever is free, and the run goes on
with what was written. The two are processes of their own that share nothing but the study's database: either
may be killed and started again, and a turn that was put is found there, with its answer. Whoever asks for the
same turn again, in a run that is resumed or made once more, gets the same words.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from replay.core.asking.prompt import short_hash
from replay.core.errors import InputError, RunStoppedError
from replay.core.lifetimes import in_thread
from replay.core.logs import log_event
from replay.study.presets.wording import TURN, WordingStudy, WordingTask
from replay.study.running.participation import phase_of
from replay.study.running.start import find_study, open_study
from replay.study.store import StudyStore
from replay.users.user import Wording, WordingRequest, skip

LOOKING_S = 0.5
"""How often the run looks for an answer."""


@dataclass(slots=True, kw_only=True)
class PersonUser:
    """Puts turns to people; an async context manager, open while they are asked."""

    database: Path
    """The study's."""
    signature: str
    _store: StudyStore | None = field(init=False, default=None)
    _has_told: bool = field(init=False, default=False)

    @property
    def asked_in(self) -> str:
        return str(self.database.parent)

    async def __aenter__(self) -> Self:
        self._store = StudyStore(self.database)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    async def word(self, request: WordingRequest) -> Wording:
        """
        Return what somebody has written, however long that takes; a skip where they have nothing to say.

        Raises:
            RunStoppedError: the study is closed, so that nobody is given the turn.
        """
        if self._store is not None:
            return await self._word(self._store, request)
        with closing(StudyStore(self.database)) as store:
            return await self._word(store, request)

    async def _word(self, store: StudyStore, request: WordingRequest) -> Wording:
        task = await in_thread(_put, store, request)
        while True:
            try:
                answer = await in_thread(store.answer_to, task)
            except KeyError:  # it showed words of somebody whose data was erased
                task = await in_thread(_put, store, request)
                continue
            if answer is not None:
                break
            if await in_thread(phase_of, store) == "closed":
                raise RunStoppedError(
                    f'the study "{self.asked_in}" is closed, so nobody is given turn {request.depth} of '
                    f"conversation {request.conversation}; open it on its owner's page, then resume the run"
                )
            self._tell(request)
            await asyncio.sleep(LOOKING_S)
        if TURN not in answer:
            return skip("the person has nothing to say that is known")
        return Wording(move=request.usual_move, text=str(answer[TURN]), source="person")

    def _tell(self, request: WordingRequest) -> None:
        """Log, once, that somebody has to be there."""
        if not self._has_told:
            self._has_told = True
            log_event(
                logging.WARNING,
                "waiting for a person",
                study=self.asked_in,
                conversation=request.conversation,
                turn=request.depth,
                hint=f"replay study serve {self.asked_in}",
            )


def _put(store: StudyStore, request: WordingRequest) -> int:
    """Return the id of the task that *request* is, which may have been put before."""
    shown = {one.question for one in request.history} | {one.text for one in request.rejected}
    with store.writing():
        given = store.answers_about(request.conversation)
        # Who has their data erased has what shows their words erased with it.
        sources = tuple(id for id, answer in given.items() if answer.get(TURN) in shown)
        return store.task_for(WordingTask(request=request).task(request.conversation, sources=sources))


def person_user(*, study: Path) -> PersonUser:
    """
    Return the user from a scenario's settings.

    Args:
        study: A study of the kind ``wording`` that has begun: its file, its folder or its database.

    Raises:
        ValueError: it is none.
    """
    try:
        database = find_study(study).database
        file, store = open_study(database)
    except InputError as error:
        raise ValueError(f"study: {error}") from error
    with closing(store):
        study_id = short_hash(store.fact("secret"))[:8]  # other people are another user
    if not isinstance(file.preset, WordingStudy):
        raise ValueError(
            f'study: in "{study}" people do not word turns; `replay study init wording FOLDER` writes '
            "a study in which they do"
        )
    return PersonUser(database=database, signature=f"person(study:{study_id})")
