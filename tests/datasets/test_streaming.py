"""
Large files and pipes are read as far as they are asked for.

Files that are one JSON list, on its own or under a key.
"""

from __future__ import annotations

import os
import threading
import tracemalloc
from pathlib import Path

import pytest

from replay.core.conversation import Conversation, Turn
from replay.core.errors import DatasetError
from replay.datasets.data_file import open_data
from replay.datasets.loading import read_conversations
from replay.datasets.native import NativeReader, write_native
from replay.datasets.quac_coqa import CoqaReader
from tests.data_tables import from_table
from tests.datasets.files import ids, json_file


class TestStreaming:
    def test_a_conversation_is_there_before_the_next_is_written(self, tmp_path):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        seen = threading.Event()

        def write():
            with pipe.open("wb", buffering=0) as stream:
                stream.write(b'{"id": "a", "turns": [{"question": "Who?"}]}\n')
                assert seen.wait(60)
                stream.write(b'{"id": "b", "turns": [{"question": "Why?"}]}\n')

        writer = threading.Thread(target=write)
        writer.start()
        found = read_conversations([pipe], reader=NativeReader(), on_bad=None, limit=None)

        assert next(found).id == "a"
        seen.set()
        assert [conversation.id for conversation in found] == ["b"]
        writer.join()

    def test_reading_the_first_conversation_reads_a_bounded_part_of_a_large_file(self, tmp_path, monkeypatch):
        path = tmp_path / "large.jsonl"
        write_native(
            (Conversation(id=str(n), turns=(Turn(id=f"t{n}", question="Who?" * 250),)) for n in range(4_000)),
            path,
        )
        opened = []

        def watched(path):
            opened.append(open_data(path))
            return opened[-1]

        monkeypatch.setattr("replay.datasets.json_rows.open_data", watched)

        found = read_conversations([path], reader=None, on_bad=None, limit=None)
        next(found)

        assert path.stat().st_size > 4_000_000
        assert os.lseek(opened[0].fileno(), 0, os.SEEK_CUR) <= 2**20
        found.close()
        assert opened[0].closed

    def test_a_large_file_is_never_held_in_memory(self, tmp_path):
        path = tmp_path / "large.jsonl"
        write_native(
            (Conversation(id=str(n), turns=(Turn(id="t", question="Who?" * 2500),)) for n in range(1_000)),
            path,
        )
        tracemalloc.start()
        try:
            count = sum(1 for _ in read_conversations([path], reader=None, on_bad=None, limit=None))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

        assert count == 1_000
        assert peak < path.stat().st_size / 3

    def test_a_line_too_long_to_be_one_conversation_is_passed_over(self, tmp_path, monkeypatch):
        monkeypatch.setattr("replay.datasets.json_rows.LONGEST_LINE_BYTES", 100)
        path = tmp_path / "a.jsonl"
        line = b'{"id": "%s", "turns": [{"question": "Who?"}]}'
        path.write_bytes(line % (b"a" * 500) + b"\n" + line % b"b" + b"\n" + line % (b"c" * 100))

        first, second, third = NativeReader().read(path)

        assert str(first).startswith(f"{path}:1: is longer than")
        assert second.id == "b"
        assert third.line == 3

    def test_a_pipe_is_read_when_its_format_is_named(self, tmp_path):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        content = b'{"id": "a", "turns": [{"question": "Who?"}]}\n'
        writer = threading.Thread(target=pipe.write_bytes, args=(content,))

        with pytest.raises(DatasetError, match="is a pipe or device"):
            ids([pipe])
        writer.start()
        assert ids([pipe], reader=NativeReader()) == ["a"]
        writer.join()


@from_table
def test_a_file_that_is_not_the_expected_json_fails_as_a_whole(tmp_path, content, message):
    path = tmp_path / "a.json"
    path.write_text(content)

    with pytest.raises(DatasetError) as caught:
        list(CoqaReader().read(path))

    assert message in str(caught.value)


def test_an_item_is_named_by_the_line_it_begins_on(tmp_path):
    """Also when items are equal, so that the first of them would be found again."""
    row = {"id": 5}
    path = json_file(tmp_path / "a.json", {"version": [row], "data": [row, row]})

    first, second = CoqaReader().read(path)

    assert (first.line, second.line) == (8, 11)
    assert path.read_text().splitlines()[7] == path.read_text().splitlines()[10] == "  {"


def test_a_file_that_may_not_be_read_says_so(tmp_path, monkeypatch):
    def refuse(self, mode):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)

    with pytest.raises(DatasetError, match=r"can't be opened \(Permission denied\)"):
        open_data(tmp_path / "a.jsonl")
