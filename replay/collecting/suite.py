"""
A suite: a folder with conversations, a scenario that plays them, and what a person has made of each.

``conversations.jsonl`` is what is played, ``dropped.jsonl`` what a person has dropped, which may come back.
What was accepted says so in its metadata. The list of what was replaced stands beside the folder and never in
it, for its owner alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from replay.collecting.deidentify import ReplacedValue
from replay.core.conversation import Conversation
from replay.core.decoding import decoder_of
from replay.core.errors import DatasetError, InputError, writing
from replay.datasets.native import NativeReader, write_native

CONVERSATIONS = "conversations.jsonl"
DROPPED = "dropped.jsonl"
SCENARIO = "scenario.yaml"
REVIEW = "review"
"""The key of the metadata that says ``accepted``."""
KEY_TURNS = "key_turns"
"""The key of the metadata with the depths of the turns that matter."""
ReviewStatus = Literal["open", "accepted", "dropped"]


class ReplacedRow(msgspec.Struct, frozen=True, kw_only=True):
    """What was replaced in one conversation, as a line of the list."""

    conversation: str
    was: str
    """Its id in the logs."""
    replaced: list[dict[str, Any]] = []


_ROW = decoder_of(ReplacedRow)


def replaced_path(suite: Path) -> Path:
    """Return where the list of what was replaced in *suite* stands, if nobody names another place."""
    return suite.absolute().parent / f"{suite.absolute().name}-replaced.jsonl"


def write_replaced(path: Path, rows: Iterable[tuple[str, str, Sequence[ReplacedValue]]]) -> None:
    """
    Write for each conversation its id, its id in the logs and what was replaced, readable by the owner alone.

    Raises:
        InputError: it can't be written.
    """
    lines = [
        json.dumps(
            {"conversation": id, "was": was, "replaced": [asdict(one) for one in values]}, ensure_ascii=False
        )
        for id, was, values in rows
    ]
    unfinished = path.with_name(f"{path.name}.part")
    with writing(path):
        unfinished.unlink(missing_ok=True)
        # Nobody else may read it from its first byte on.
        handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "w", encoding="utf-8", errors="surrogatepass") as stream:
            stream.writelines(f"{line}\n" for line in lines)
        unfinished.replace(path)


def read_replaced(path: Path) -> dict[str, tuple[str, list[ReplacedValue]]]:
    """
    Return by conversation its id in the logs and what was replaced; empty where there is no list.

    Raises:
        InputError: a line is none of such a list.
    """
    if not path.exists():
        return {}
    found = {}
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            row = _ROW.decode(line)
            found[row.conversation] = (row.was, [ReplacedValue(**one) for one in row.replaced])
        except (msgspec.DecodeError, TypeError) as error:
            raise InputError(f"{path}:{number}: is no line of what was replaced: {error}") from error
    return found


@dataclass(frozen=True, slots=True)
class SuiteEntry:
    """A conversation of a suite and what a person has made of it."""

    conversation: Conversation
    status: ReviewStatus

    @property
    def key_turns(self) -> tuple[int, ...]:
        """Depths of the turns that matter."""
        listed = self.conversation.metadata.get(KEY_TURNS)
        return tuple(one for one in listed if isinstance(one, int)) if isinstance(listed, list) else ()


class Suite:
    """The conversations of a folder; each change is written at once."""

    def __init__(self, folder: Path) -> None:
        """
        Raises:
            InputError: there is no suite, or it can't be read.
        """
        self.folder = folder
        if not (folder / CONVERSATIONS).is_file() and not (folder / DROPPED).is_file():
            raise InputError(
                f'"{folder}" has no {CONVERSATIONS}; replay collect LOGS --out {folder} makes a suite'
            )
        self._entries: dict[str, SuiteEntry] = {}
        for conversation in _read(folder / CONVERSATIONS):
            accepted = conversation.metadata.get(REVIEW) == "accepted"
            self._entries[conversation.id] = SuiteEntry(conversation, "accepted" if accepted else "open")
        for conversation in _read(folder / DROPPED):
            self._entries.setdefault(conversation.id, SuiteEntry(conversation, "dropped"))

    def entries(self) -> list[SuiteEntry]:
        """Return all conversations in the order of their ids, dropped ones among them."""
        return [self._entries[id] for id in sorted(self._entries)]

    def find(self, id: str) -> SuiteEntry | None:
        """Return the conversation *id*; None if there is none."""
        return self._entries.get(id)

    def keep(self, conversation: Conversation, status: ReviewStatus, key_turns: Sequence[int]) -> None:
        """
        Put *conversation* in place of the one with its id, with what a person says of it.

        Raises:
            InputError: it can't be written.
        """
        metadata = {
            name: value for name, value in conversation.metadata.items() if name not in (REVIEW, KEY_TURNS)
        }
        if key_turns:
            metadata[KEY_TURNS] = list(key_turns)
        if status == "accepted":
            metadata[REVIEW] = status
        self._entries[conversation.id] = SuiteEntry(replace(conversation, metadata=metadata), status)
        entries = self.entries()
        with writing(self.folder / CONVERSATIONS):
            # What is dropped is in its file before it leaves the other.
            for name, dropped in ((DROPPED, True), (CONVERSATIONS, False)):
                chosen = [one.conversation for one in entries if (one.status == "dropped") == dropped]
                if chosen or (self.folder / name).exists():
                    write_native(chosen, self.folder / name)


def _read(path: Path) -> list[Conversation]:
    if not path.is_file() or not path.stat().st_size:
        return []
    found = []
    for conversation in NativeReader().read(path):
        if isinstance(conversation, DatasetError):
            raise conversation
        found.append(conversation)
    return found
