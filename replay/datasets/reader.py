"""
The protocol of a data-set reader, and what every conversation must be before it can be played.

A reader turns one file into conversations, one at a time and in file order. A conversation that
can't be read is *yielded* as a ``DatasetError`` (not raised), so that the caller decides whether to
stop there or to skip, count and report it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, TypeVar, runtime_checkable

from replay.core.conversation import Conversation, UserGoal
from replay.core.errors import DatasetError
from replay.datasets.data_file import SourceLocation
from replay.datasets.expected import check_expectations


@runtime_checkable
class SetReader(Protocol):
    """A reader whose conversations come from all files together, and not from one after the other."""

    def read_set(self, paths: Sequence[Path]) -> Iterator[Conversation | DatasetError]:
        """
        Yield the conversations of *paths*, as ``Reader.read`` does those of one.

        Raises:
            DatasetError: the files as a whole can't be read.
        """
        ...


@runtime_checkable
class Reader(Protocol):
    """Reads one file format. Built from the ``settings`` of a scenario's ``data`` section."""

    def recognizes(self, path: Path, head: bytes) -> bool:
        """
        Return whether *path*, whose first bytes are *head*, is surely in this format.

        At most one built-in reader says yes for any file; a format that can't be told apart safely
        always says no and has to be named.
        """
        ...

    def read(self, path: Path) -> Iterator[Conversation | DatasetError]:
        """
        Yield the file's conversations, or in place of one the reason why it can't be read.

        Raises:
            DatasetError: the file as a whole can't be read.
        """
        ...


T = TypeVar("T")


def conversations(
    rows: Iterable[tuple[SourceLocation, T | DatasetError]],
    build: Callable[[T, SourceLocation], Conversation],
) -> Iterator[Conversation | DatasetError]:
    """
    Yield for each row the conversation that *build* makes of it, or an error that says why there is none.

    Args:
        rows: Each with its place in the file, or the error of reading it.
        build: May raise a ``DatasetError`` that names the place.
    """
    for place, row in rows:
        if isinstance(row, DatasetError):
            yield row
            continue
        try:
            conversation = build(row, place)
            check(conversation, place)
        except DatasetError as error:
            yield error
        else:
            yield conversation


def check(conversation: Conversation, place: SourceLocation) -> None:
    """
    Make sure that *conversation* can be played and its turns told apart.

    Raises:
        DatasetError: an empty id or question, neither a turn nor a goal, a goal that says nothing, an id that
            is used twice, a session that comes back, evidence that no earlier turn is, or an expectation that
            can't be checked.
    """
    if not conversation.id.strip():
        raise place.error("is empty; give the conversation a name", "id")
    named = f'conversation "{conversation.id}"'
    if conversation.goal is not None:
        _check_goal(conversation.goal, conversation, place, named)
    elif not conversation.turns:
        raise place.error("has no turns; there is nothing to ask", named)
    for index, turn in enumerate(conversation.turns):
        if not turn.question.strip():
            raise place.error("is empty; there is nothing to ask", f"{named}, turns[{index}].question")
        if not turn.id.strip():
            raise place.error("is empty; leave it out to number the turns", f"{named}, turns[{index}].id")
        if turn.expect:
            check_expectations(turn.expect, place, f"{named}, turns[{index}].expect")
    _check_sessions(conversation, place, named)
    check_expectations(conversation.expect, place, f"{named}, expect")
    for name, ids in (
        ("turns", [turn.id for turn in conversation.turns]),
        ("passages", [passage.id for passage in conversation.passages]),
    ):
        first = _first_repeated(ids)
        if first is not None:
            raise place.error(
                f'"{ids[first]}" is already the id of {name}[{ids.index(ids[first])}]; ids must differ',
                f"{named}, {name}[{first}].id",
            )


def _check_sessions(conversation: Conversation, place: SourceLocation, named: str) -> None:
    over: set[str] = set()
    earlier: set[str] = set()
    session = conversation.turns[0].session if conversation.turns else ""
    for index, turn in enumerate(conversation.turns):
        if turn.session != session:
            over.add(session)
            session = turn.session
            if session in over:
                raise place.error(
                    f'"{session}" comes back after another; a session\'s turns stand together'
                    if session
                    else "is missing behind turns of a session; name it for all turns that follow",
                    f"{named}, turns[{index}].session",
                )
        if unknown := [id for id in turn.evidence if id not in earlier]:
            raise place.error(
                f'"{unknown[0]}" is not the id of an earlier turn', f"{named}, turns[{index}].evidence"
            )
        earlier.add(turn.id)


def _check_goal(goal: UserGoal, conversation: Conversation, place: SourceLocation, named: str) -> None:
    if conversation.turns:
        raise place.error("stands beside turns; give one of the two", f"{named}, goal")
    if not goal.wants.strip():
        raise place.error("is empty; say what the user wants", f"{named}, goal.wants")
    if goal.opener is not None and not goal.opener.strip():
        raise place.error("is empty; leave it out to let the user begin", f"{named}, goal.opener")
    if goal.turns is not None and goal.turns < 1:
        raise place.error(f"{goal.turns} is not a positive whole number", f"{named}, goal.turns")


def _first_repeated(ids: list[str]) -> int | None:
    if len(set(ids)) == len(ids):
        return None
    seen: set[str] = set()
    for index, name in enumerate(ids):
        if name in seen:
            return index
        seen.add(name)
    return None
