"""Finding files, and their conversations one after another."""

from __future__ import annotations

import pytest

from replay.core.conversation import Conversation, Turn
from replay.core.errors import DatasetError
from replay.datasets.loading import expand, read_conversations
from tests.datasets.files import ids, json_lines_file, native_file


class TestReadConversations:
    def test_files_are_read_in_order_each_in_its_own_format(self, tmp_path):
        bench = {"question_id": 81, "category": "writing", "turns": ["Write."]}
        paths = [
            native_file(tmp_path / "b.jsonl", "b1", "b2"),
            json_lines_file(tmp_path / "a.jsonl", [bench]),
            json_lines_file(
                tmp_path / "c.jsonl", [{"id": "c", "messages": [{"role": "user", "content": "Hi?"}]}]
            ),
        ]

        assert ids(paths) == ["b1", "b2", "81", "c"]

    def test_a_limit_counts_conversations_and_nothing_behind_it_is_opened(self, tmp_path):
        paths = [native_file(tmp_path / "a.jsonl", "a1", "a2"), tmp_path / "missing.jsonl"]

        assert ids(paths, limit=2) == ["a1", "a2"]
        assert ids(paths, limit=0) == []

    def test_a_bad_conversation_stops_the_reading(self, tmp_path):
        path = native_file(tmp_path / "a.jsonl", "a1", " ", "a3")
        found = read_conversations([path], reader=None, on_bad=None, limit=None)

        assert next(found).id == "a1"
        with pytest.raises(DatasetError, match=r"a\.jsonl:2: id: is empty"):
            next(found)

    def test_bad_conversations_and_files_can_be_passed_over(self, tmp_path):
        bad = []
        paths = [
            native_file(tmp_path / "a.jsonl", "a1", " ", "a3"),
            tmp_path / "no.jsonl",
            native_file(tmp_path / "b", "b1"),
        ]

        assert ids(paths, on_bad=bad.append) == ["a1", "a3", "b1"]
        assert [(error.path, error.line) for error in bad] == [(str(paths[0]), 2), (str(paths[1]), None)]

    def test_an_id_that_two_files_use_names_both_places(self, tmp_path):
        first, second = (
            native_file(tmp_path / "a.jsonl", "x", "y"),
            native_file(tmp_path / "b.jsonl", "z", "y"),
        )

        with pytest.raises(DatasetError) as caught:
            ids([first, second])

        assert str(caught.value) == (
            f'{second}: id: conversation 2 of this file has the id "y", '
            f"and so has conversation 2 of {first}; results are kept by id, so rename or remove one"
        )

    def test_the_same_file_twice_is_full_of_used_ids(self, tmp_path):
        path = native_file(tmp_path / "a.jsonl", "x", "y")
        bad = []

        assert ids([path, path], on_bad=bad.append) == ["x", "y"]
        assert len(bad) == 2

    def test_a_reader_of_someone_elses_is_checked_as_ours_are(self, tmp_path):
        class Careless:
            def recognizes(self, path, head):
                return True

            def read(self, path):
                yield Conversation(id="a", turns=())
                yield Conversation(id="b", turns=(Turn(id="t", question="Who?"),))

        bad = []

        assert ids([tmp_path / "any"], reader=Careless(), on_bad=bad.append) == ["b"]
        assert str(bad[0]) == f'{tmp_path / "any"}: conversation "a": has no turns; there is nothing to ask'

    def test_an_error_of_the_callers_gets_out(self, tmp_path):
        def stop(error):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            ids([tmp_path / "missing.jsonl"], on_bad=stop)


class TestExpand:
    def test_patterns_keep_their_order_and_matches_are_sorted(self, tmp_path):
        for name in ("b.jsonl", "a.jsonl", "c.json"):
            native_file(tmp_path / name, name)

        assert expand(["c.json", "*.jsonl"], tmp_path) == [
            tmp_path / "c.json",
            tmp_path / "a.jsonl",
            tmp_path / "b.jsonl",
        ]

    def test_a_file_that_two_patterns_match_is_there_once(self, tmp_path):
        path = native_file(tmp_path / "a.jsonl", "a")

        assert expand(["*.jsonl", "a.jsonl", str(path)], tmp_path) == [path]

    def test_folders_are_searched_below_with_two_stars(self, tmp_path):
        (tmp_path / "x" / "y").mkdir(parents=True)
        path = native_file(tmp_path / "x" / "y" / "a.jsonl", "a")

        assert expand(["**/*.jsonl"], tmp_path) == [path]

    def test_brackets_in_a_name_are_just_brackets(self, tmp_path):
        folder = tmp_path / "run[1]"
        folder.mkdir()
        path = native_file(folder / "a[b].jsonl", "a")

        assert expand(["a[b].jsonl"], folder) == expand(["*.jsonl"], folder) == [path]

    @pytest.mark.parametrize(
        ("pattern", "message"),
        [
            ("b.jsonl", r'there is no such file; did you mean "a\.jsonl"\?'),
            ("x/b.jsonl", 'there is no such file, nor a folder "'),
            ("*.csv", "matches no file; check the pattern"),
            ("sub", r"is a folder; name the files in it, for example sub/\*\.jsonl"),
            ("su*", r"is a folder; name the files in it, for example sub/\*\.jsonl"),
        ],
    )
    def test_a_pattern_that_names_no_file_is_an_error(self, tmp_path, pattern, message):
        native_file(tmp_path / "a.jsonl", "a")
        (tmp_path / "sub").mkdir()

        with pytest.raises(DatasetError, match=message):
            expand([pattern], tmp_path)
