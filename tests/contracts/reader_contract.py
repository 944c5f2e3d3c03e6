"""
What every reader must keep. A reader's test class inherits this one and gives three fixtures.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.core.conversation import Conversation
from replay.core.errors import DatasetError
from replay.core.settings.plugins import available
from replay.datasets.loading import HEAD_BYTES
from replay.datasets.native import NativeReader, write_native
from replay.datasets.reader import Reader


def recognizers(path: Path, head: bytes) -> list[str]:
    """The names of the installed readers that recognize *path* by *head*."""
    return [name for name, entry in available("readers").items() if entry.load()().recognizes(path, head)]


class ReaderContract:
    @pytest.fixture
    def reader(self) -> Reader:
        raise NotImplementedError("say which reader is tested")

    @pytest.fixture
    def good(self, tmp_path: Path) -> Path:
        """A file of at least two sound conversations that the reader, and no other, recognizes."""
        raise NotImplementedError("write a good file")

    @pytest.fixture
    def one_bad(self, tmp_path: Path) -> Path:
        """The good file with its first conversation spoilt and nothing else changed."""
        raise NotImplementedError("write a file with a bad conversation")

    def test_satisfies_the_protocol(self, reader):
        assert isinstance(reader, Reader)

    def test_is_installed_under_a_name_and_needs_no_settings(self, reader):
        assert any(entry.load() is type(reader) for entry in available("readers").values())

    def test_reads_sound_conversations(self, reader, good):
        found = list(reader.read(good))

        assert len(found) >= 2
        assert all(isinstance(c, Conversation) for c in found)
        assert all(c.id and c.turns and all(t.id and t.question for t in c.turns) for c in found)
        assert len({c.id for c in found}) == len(found)
        assert all(isinstance(t.gold_answers, tuple) for c in found for t in c.turns)

    def test_gives_the_same_each_time(self, reader, good):
        assert list(reader.read(good)) == list(reader.read(good))

    def test_opens_nothing_before_it_is_asked(self, reader, tmp_path):
        found = reader.read(tmp_path / "later.jsonl")

        with pytest.raises(DatasetError, match="no such file"):
            next(iter(found))

    def test_can_be_left_half_way(self, reader, good):
        """The file is closed then; a forgotten one would warn, and warnings are errors here."""
        found = reader.read(good)
        next(found)

        found.close()

    def test_a_bad_conversation_is_a_value_and_the_others_are_read(self, reader, good, one_bad):
        bad, *rest = reader.read(one_bad)

        assert isinstance(bad, DatasetError)
        assert bad.path == str(one_bad)
        assert bad.line is not None
        assert bad.field
        assert str(bad).startswith(f"{one_bad}:{bad.line}: {bad.field}: ")
        assert rest == list(reader.read(good))[1:]

    def test_a_folder_is_named_as_one(self, reader, tmp_path):
        with pytest.raises(DatasetError, match="is a folder"):
            list(reader.read(tmp_path))

    def test_other_encodings_are_named(self, reader, good, tmp_path):
        wide = tmp_path / f"wide{good.suffix}"
        wide.write_bytes(good.read_text("utf-8").encode("utf-16"))

        with pytest.raises(DatasetError, match="UTF-16"):
            list(reader.read(wide))

    def test_a_byte_order_mark_changes_nothing(self, reader, good):
        plain = list(reader.read(good))
        good.write_bytes(b"\xef\xbb\xbf" + good.read_bytes())

        assert list(reader.read(good)) == plain
        assert len(recognizers(good, good.read_bytes()[:HEAD_BYTES])) == 1

    def test_windows_line_ends_change_nothing(self, reader, good):
        plain = list(reader.read(good))
        good.write_bytes(good.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))

        assert list(reader.read(good)) == plain

    def test_is_the_only_one_to_recognize_its_files(self, reader, good):
        (name,) = recognizers(good, good.read_bytes()[:HEAD_BYTES])

        assert available("readers")[name].load() is type(reader)

    def test_never_shares_a_file_with_another_however_short_its_head(self, good):
        head = good.read_bytes()[:2000]

        assert max(len(recognizers(good, head[:size])) for size in range(0, len(head) + 1, 7)) <= 1

    def test_what_it_reads_can_be_kept_in_the_native_format(self, reader, good, tmp_path):
        conversations = list(reader.read(good))
        write_native(conversations, tmp_path / "native.jsonl")

        assert list(NativeReader().read(tmp_path / "native.jsonl")) == conversations
