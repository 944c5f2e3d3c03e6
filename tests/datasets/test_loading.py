"""
Finding files, and their conversations one after another.

Telling a format from the first bytes: one reader or none, never a guess.
"""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, strategies as st

from replay.core.conversation import Conversation, Turn
from replay.core.errors import DatasetError
from replay.core.settings.plugins import available
from replay.datasets.json_rows import outline
from replay.datasets.loading import expand, read_conversations
from replay.datasets.native import NativeReader
from replay.testing.reader_contract import recognizers
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


class TestFormatDetection:
    def test_an_unknown_format_lists_those_that_can_be_named(self, tmp_path):
        path = json_lines_file(tmp_path / "a.jsonl", [{"text": "Hello"}])

        with pytest.raises(DatasetError) as caught:
            ids([path])

        assert str(caught.value) == (
            f"{path}: is in no format that can be told safely; name the format under data.format (one of: "
            f"{', '.join(available('readers'))})"
        )

    def test_a_format_that_two_readers_claim_has_to_be_named(self, tmp_path, monkeypatch):
        class Also:
            def recognizes(self, path, head):
                return True

            def read(self, path):
                return iter(())

        class NeedsSettings(Also):
            def __init__(self, *, key):
                self.key = key

        class Entry:
            def __init__(self, factory):
                self.load = lambda: factory

        entries = {"also": Entry(Also), "native": Entry(NativeReader), "needy": Entry(NeedsSettings)}
        monkeypatch.setattr("replay.core.settings.plugins.available", lambda kind: entries)
        monkeypatch.setattr("replay.datasets.loading.available", lambda kind: entries)

        with pytest.raises(
            DatasetError, match=r"looks like also and like native; .* \(one of: also, native\)"
        ):
            ids([native_file(tmp_path / "a.jsonl", "a")])

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "is empty"),
            (b" \n\n", "is empty"),
            ("{}".encode("utf-16"), "is UTF-16"),
            (b"\x1f\x8b\x08", "is compressed with gzip; unpack it first"),
            (b"PK\x03\x04", "is a zip archive"),
        ],
    )
    def test_a_file_in_no_text_format_is_named_for_what_it_is(self, tmp_path, content, message):
        (tmp_path / "a.jsonl").write_bytes(content)

        with pytest.raises(DatasetError, match=message):
            ids([tmp_path / "a.jsonl"])

    def test_other_published_json_is_not_recognized(self, shared_data):
        for path in [*shared_data.glob("fed/*.json"), *shared_data.glob("topical_chat/*.json")]:
            assert recognizers(path, path.read_bytes()[:65536]) == []


# One first item of each format; merging two of them is the hardest case for telling them apart.
ITEMS = [
    [{"History": [], "QuAC_dialog_id": "", "Question": "", "Question_no": 1, "Rewrite": ""}],
    [{"number": 1, "turn": [{"number": 1, "raw_utterance": ""}]}],
    [{"number": 1, "title": "", "ptkb": {}, "turns": [{"turn_id": 1, "utterance": ""}]}],
    {"data": [{"title": "", "paragraphs": [{"id": "", "qas": [{"question": "", "orig_answer": {}}]}]}]},
    {"data": [{"id": "", "story": "", "questions": [], "answers": []}]},
    {"messages": [{"role": "user", "content": ""}]},
    {"conversation_id": "", "task_id": "", "contexts": [], "input": [{"speaker": "user", "text": ""}]},
    {"conversations": [{"from": "human", "value": ""}]},
    {"conversation_id": "", "model": "", "conversation": [{"role": "user", "content": ""}]},
    {"conversation_hash": "", "model": "", "conversation": [{"role": "user", "content": ""}]},
    {"QUESTION_ID": "", "CONVERSATION": [{"role": "user", "content": ""}]},
    {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "", "attributes": []}]}]}]},
    {"id": "", "trace_id": "", "type": "GENERATION", "start_time": "", "input": [{"role": "user"}]},
    {"id": "", "sessionId": "", "observations": [{"id": "", "traceId": "", "type": "", "startTime": ""}]},
    {"id": "", "run_type": "llm", "dotted_order": "", "inputs": {"messages": [{"role": "user"}]}},
    {"inputs": {"messages": [{"role": "user"}]}, "outputs": {"message": {"role": "assistant"}}},
    {"question_id": 1, "category": "", "turns": [""]},
    {"id": "", "turns": [{"question": ""}]},
    {"id": "", "goal": {"wants": "", "opener": "", "facts": {"": ""}}},
    [{"id": "", "user_scenario": {"persona": "", "instructions": {}}, "evaluation_criteria": {}}],
    [{"goal": "", "persona": "", "context": {}, "simulation_guidelines": [""]}],
    {"inputs": {"goal": "", "persona": ""}, "expectations": {}},
    {"eval_set_id": "", "eval_cases": [{"eval_id": "", "conversation_scenario": {"starting_prompt": ""}}]},
    {"evalSetId": "", "evalCases": [{"evalId": "", "conversationScenario": {"startingPrompt": ""}}]},
    {"scenarios": [{"starting_prompt": "", "conversation_plan": ""}]},
    [{"id": "", "name": "", "situation": "", "criteria": [""], "labels": [""]}],
]
KEYS = st.sampled_from([*dict.fromkeys(re.findall(r'"(\w+)":', json.dumps(ITEMS))), "version", "metadata"])
MIXED = st.recursive(
    KEYS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=8), max_leaves=40
)


def merged(one, other):
    if isinstance(one, dict) and isinstance(other, dict):
        return {key: merged(one[key], other[key]) if key in other else one[key] for key in one} | {
            key: value for key, value in other.items() if key not in one
        }
    if isinstance(one, list) and isinstance(other, list) and one and other:
        return [merged(one[0], other[0])]
    return one or other


@given(
    st.builds(merged, st.sampled_from(ITEMS), MIXED)
    | st.builds(merged, MIXED, st.sampled_from(ITEMS))
    | MIXED
)
def test_no_mixture_of_formats_is_recognized_twice(tmp_path_factory, value):
    path = tmp_path_factory.getbasetemp() / "mixed.json"

    assert len(recognizers(path, json.dumps(value).encode())) <= 1


@pytest.mark.parametrize("one", ITEMS)
def test_no_two_formats_in_one_are_recognized_twice(tmp_path, one):
    for other in ITEMS:
        found = recognizers(tmp_path / "two.json", json.dumps(merged(one, other)).encode())
        assert len(found) == 1 if one is other else len(found) <= 1, other


@given(st.text('{}[]:,"\\a 1\n', max_size=60))
def test_no_head_whatever_breaks_the_outline(text):
    assert all(path == "" or path[0] in ".[" for path in outline(text.encode()))


def test_an_outline_ends_in_the_string_that_the_head_cuts_off():
    """What a cut text holds may look like keys."""
    assert outline(b'{"id": "a", "text": "say {\\"turns\\": [') == {"": {"id", "text"}}


def test_a_file_that_was_cut_off_is_named_as_that(tmp_path):
    path = tmp_path / "quac.json"
    path.write_text('{"data": [{"title": "Mira",\n"paragraphs": [{"id": "C_1", "context": "Oka')

    with pytest.raises(
        DatasetError, match=r"quac\.json:2: is not valid JSON: it ends before .* fetch it again"
    ):
        ids([path])
