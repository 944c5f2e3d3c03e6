"""Writing the small data files that the tests of this folder read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from replay.core.conversation import Conversation
from replay.datasets.loading import read_conversations
from replay.datasets.reader import Reader
from replay.testing import ReaderContract


def json_file(path: Path, value: Any) -> Path:
    """*value* at *path*, indented as the published data sets are."""
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False), encoding="utf-8")
    return path


def json_lines_file(path: Path, values: Iterable[Any]) -> Path:
    """*values* at *path*, one a line."""
    path.write_text("".join(json.dumps(v, ensure_ascii=False) + "\n" for v in values), encoding="utf-8")
    return path


def only(reader: Reader, path: Path) -> Conversation:
    """The one conversation in *path*; raises the error that stands in its place."""
    (found,) = reader.read(path)
    if not isinstance(found, Conversation):
        raise found
    return found


def pairs(conversation: Conversation) -> list[tuple[str, str | None]]:
    """The questions of *conversation* with their gold answers."""
    return [(turn.question, turn.gold_answer) for turn in conversation.turns]


def fault(reader: Reader, path: Path) -> str:
    """What is said of the one bad conversation in *path*, without the path."""
    (found,) = reader.read(path)
    assert not isinstance(found, Conversation)
    return str(found).removeprefix(str(path))


def native_file(path: Path, *names: str) -> Path:
    """A native file at *path* with one conversation of each name."""
    return json_lines_file(path, [{"id": name, "turns": [{"question": "Who?"}]} for name in names])


def ids(paths: Sequence[Path], *, reader: Reader | None = None, **more: Any) -> list[str]:
    """The ids of all conversations in *paths*; *more* goes to ``read_conversations``."""
    return [c.id for c in read_conversations(paths, reader=reader, **{"on_bad": None, "limit": None} | more)]


def contract(made: Reader, name: str, content: Any, one_bad_of_two: Any) -> type[ReaderContract]:
    """
    The test class of a reader's contract; both of its files are called *name*.

    Contents are written as text where they are one, as JSON Lines where the name says so, else as JSON.
    """

    def write(path: Path, value: Any) -> Path:
        if isinstance(value, str):
            path.write_text(value, encoding="utf-8")
            return path
        return json_lines_file(path, value) if path.suffix == ".jsonl" else json_file(path, value)

    class Contract(ReaderContract):
        @pytest.fixture
        def reader(self) -> Reader:
            return made

        @pytest.fixture
        def good(self, tmp_path: Path) -> Path:
            return write(tmp_path / name, content)

        @pytest.fixture
        def one_bad(self, tmp_path: Path) -> Path:
            (tmp_path / "bad").mkdir()  # a conversation without an id is called by its file
            return write(tmp_path / "bad" / name, one_bad_of_two)

    return Contract
