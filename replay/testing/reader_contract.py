"""
What every reader must keep, as tests: subclass, give the fixtures ``reader``, ``good`` and ``one_bad``, and
they run.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from replay.core.conversation import Conversation
from replay.core.errors import DatasetError
from replay.core.settings.plugins import available, misfit
from replay.datasets.loading import HEAD_BYTES
from replay.datasets.native import NativeReader, write_native
from replay.datasets.reader import Reader


def recognizers(path: Path, head: bytes) -> list[str]:
    """Return the names of the installed readers that recognize *path* by *head*."""
    return [name for name, reader in _installed_readers().items() if reader.recognizes(path, head)]


@cache
def _installed_readers() -> dict[str, Reader]:
    return {name: entry.load()() for name, entry in available("readers").items()}


class ReaderContract:
    """Subclasses are called ``Test...``."""

    installed = True
    """It is an entry point of ``replay.readers``; False for one that scenarios name by its file."""
    recognized = True
    """It knows its files by their names or beginnings; False for a format that scenarios have to name."""

    @pytest.fixture
    def reader(self) -> Reader:
        raise NotImplementedError("give a fixture `reader` that returns the reader to be tested")

    @pytest.fixture
    def good(self, tmp_path: Path) -> Path:
        """Return a file of at least two valid conversations that the reader, and no other, recognizes."""
        raise NotImplementedError("give a fixture `good` that writes a file and returns its path")

    @pytest.fixture
    def one_bad(self, tmp_path: Path) -> Path:
        """Return the good file with its first conversation spoilt and nothing else changed."""
        raise NotImplementedError("give a fixture `one_bad` that writes the file with a bad conversation")

    def test_it_is_a_reader(self, reader: Reader) -> None:
        assert not (why := misfit(reader, Reader)), f"this is no reader: {why}"

    def test_it_is_installed_under_a_name_and_needs_no_settings(self, reader: Reader) -> None:
        if not self.installed:
            pytest.skip("scenarios name it by its file")
        assert _own_names(reader), (
            f'no entry point of the group "replay.readers" is {type(reader).__name__}: add one to '
            "pyproject.toml and install the package, or set installed = False"
        )

    def test_it_reads_sound_conversations(self, reader: Reader, good: Path) -> None:
        found = _conversations(reader, good)

        assert len(found) >= 2, f"read {len(found)} conversations: let the good file hold at least two"
        for one in found:
            assert one.id, f"a conversation has no id: {one}"
            assert one.turns or one.goal, f'conversation "{one.id}" has no turns and no goal: nothing to ask'
            assert all(t.id and t.question for t in one.turns), f"a turn has no id or no question: {one}"
            assert all(isinstance(t.gold_answers, tuple) for t in one.turns), (
                f'gold_answers of conversation "{one.id}" must be tuples of texts; () where none is known'
            )
        ids = [one.id for one in found]
        assert len(set(ids)) == len(ids), f"conversations share an id ({ids}): results are kept by id"

    def test_it_gives_the_same_each_time(self, reader: Reader, good: Path) -> None:
        assert _conversations(reader, good) == _conversations(reader, good), (
            "a second reading gave other conversations: keep nothing from one reading to the next"
        )

    def test_it_opens_nothing_before_it_is_asked(self, reader: Reader, tmp_path: Path) -> None:
        found = reader.read(tmp_path / "later.jsonl")
        message = _refusal_message(found, "a file that isn't there")
        assert "no such file" in message, (
            f'{message}: open files with replay.read_whole, which says "no such file"'
        )

    def test_it_can_be_left_half_way(self, reader: Reader, good: Path) -> None:
        """The file is closed then; a forgotten one would warn."""
        found = reader.read(good)
        next(found)
        assert hasattr(found, "close"), (
            "read must be a generator (use yield), so that it can be left half-way"
        )
        found.close()

    def test_a_bad_conversation_is_a_value_and_the_others_are_read(
        self, reader: Reader, good: Path, one_bad: Path
    ) -> None:
        try:
            bad, *rest = list(reader.read(one_bad))
        except DatasetError as error:
            raise AssertionError(
                f"the bad conversation ended the reading ({error}): yield the error, don't raise it, and "
                "go on with the next one"
            ) from error

        assert isinstance(bad, DatasetError), (
            f"the bad conversation was read as {bad}: yield a replay.DatasetError in its place"
        )
        assert bad.path == str(one_bad), f'the error names "{bad.path}", not the file "{one_bad}"'
        assert bad.line is not None, f"the error names no line: {bad}"
        assert bad.field, f"the error doesn't say which field is wrong: {bad}"
        assert rest == list(reader.read(good))[1:], (
            "the conversations after the bad one are not read as they are without it"
        )

    def test_a_folder_is_named_as_one(self, reader: Reader, tmp_path: Path) -> None:
        message = _refusal_message(reader.read(tmp_path), "a folder")
        assert "is a folder" in message, (
            f'{message}: open files with replay.read_whole, which says "is a folder"'
        )

    def test_other_encodings_are_named(self, reader: Reader, good: Path, tmp_path: Path) -> None:
        wide = tmp_path / f"wide{good.suffix}"
        wide.write_bytes(good.read_text("utf-8").encode("utf-16"))
        message = _refusal_message(reader.read(wide), "a file in UTF-16")
        assert "UTF-16" in message, (
            f"{message}: open files with replay.read_whole, which names other encodings"
        )

    def test_a_byte_order_mark_changes_nothing(self, reader: Reader, good: Path) -> None:
        plain = _conversations(reader, good)
        good.write_bytes(b"\xef\xbb\xbf" + good.read_bytes())

        assert _conversations(reader, good) == plain, (
            "with a byte order mark the file is read otherwise: open files with replay.read_whole, which "
            "drops it"
        )
        self._check_recognized(reader, good, good.read_bytes()[:HEAD_BYTES])

    def test_windows_line_ends_change_nothing(self, reader: Reader, good: Path) -> None:
        plain = _conversations(reader, good)
        good.write_bytes(good.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))

        assert _conversations(reader, good) == plain, (
            "with Windows line ends the file is read otherwise: strip lines, or use str.splitlines"
        )

    def test_it_is_the_only_one_to_recognize_its_files(self, reader: Reader, good: Path) -> None:
        self._check_recognized(reader, good, good.read_bytes()[:HEAD_BYTES])

    def test_it_never_shares_a_file_with_another_however_short_its_head(
        self, reader: Reader, good: Path
    ) -> None:
        head = good.read_bytes()[:2000]
        for size in range(0, len(head) + 1, 7):
            found = self._recognizers(reader, good, head[:size])
            assert len(found) <= 1, f"{found} all recognize a file that begins {head[:size]!r}"

    def test_what_it_reads_can_be_kept_in_the_native_format(
        self, reader: Reader, good: Path, tmp_path: Path
    ) -> None:
        conversations = _conversations(reader, good)
        write_native(conversations, tmp_path / "native.jsonl")

        kept = list(NativeReader().read(tmp_path / "native.jsonl"))
        assert kept == conversations, (
            "written and read again they are others: metadata may hold JSON values only"
        )

    def _recognizers(self, reader: Reader, path: Path, head: bytes) -> list[str]:
        """Return the names of the readers that recognize the file: installed ones, and ``this one``."""
        others = [name for name in recognizers(path, head) if name not in _own_names(reader)]
        return [*others, *["this one"] * reader.recognizes(path, head)]

    def _check_recognized(self, reader: Reader, path: Path, head: bytes) -> None:
        found = self._recognizers(reader, path, head)
        wanted = ["this one"] if self.recognized else []
        assert found == wanted, (
            f'"{path.name}" is recognized by {found or "no reader"}: let recognizes look at what only '
            "this format has, or give False and set recognized = False, so that scenarios name the format"
        )


def _own_names(reader: Reader) -> list[str]:
    """Return the names under which *reader* is installed."""
    return [name for name, entry in available("readers").items() if entry.load() is type(reader)]


def _conversations(reader: Reader, path: Path) -> list[Conversation]:
    found = list(reader.read(path))
    for one in found:
        assert isinstance(one, Conversation), f"the good file gave {one!r}: yield replay.Conversation objects"
    return [one for one in found if isinstance(one, Conversation)]


def _refusal_message(found: Iterator[Conversation | DatasetError], what: str) -> str:
    """
    Return the message of the ``DatasetError`` with which reading *what* fails.

    Raises:
        AssertionError: it fails otherwise, or not at all.
    """
    try:
        read = list(found)
    except DatasetError as error:
        return str(error)
    except Exception as error:
        raise AssertionError(f"{what} is a {error!r}: raise replay.DatasetError") from error
    raise AssertionError(f"{what} was read as {read}: raise replay.DatasetError")
