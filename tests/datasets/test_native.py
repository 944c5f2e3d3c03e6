"""The native format: strict in reading, exact in writing."""

from __future__ import annotations

import json
import string
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from replay.core.conversation import Conversation, Passage, Turn
from replay.core.errors import DatasetError
from replay.core.expectation import Expectation
from replay.core.message import Message, ToolCall, match_results
from replay.datasets.loading import read_conversations
from replay.datasets.native import NativeReader, write_native
from tests.data_tables import from_table
from tests.datasets.files import contract, fault, json_lines_file, only

ALBUM: dict[str, Any] = {
    "id": "album",
    "title": "Mira Okafor",
    "section": "Stone Garden",
    "background": "Mira Okafor is a singer.",
    "passages": [{"id": "p1", "title": "Stone Garden", "text": "Okafor wrote it in 1987."}],
    "turns": [
        {
            "id": "album-first",
            "question": "Who wrote\nStone Garden?",
            "gold_answers": ["Mira Okafor", "Okafor"],
            "standalone": "Who wrote Stone Garden?",
            "gold_passages": ["p1"],
            "fact": "Okafor wrote it.",
            "asked_with": [
                {"role": "system", "text": "Be brief."},
                {"role": "user", "text": "Who wrote"},
                {"role": "developer", "text": "Be kind."},
                {"role": "user", "text": "Stone Garden?"},
            ],
            "steps": [
                {
                    "role": "assistant",
                    "tool_calls": [{"name": "find", "arguments": {"album": "Stone Garden"}}],
                },
                {"role": "tool", "text": "Okafor", "left_out": ["image"]},
                {"role": "assistant", "text": "Let me see.", "tool_calls": [{"name": "find", "id": "b"}]},
                {"role": "tool", "tool_call_id": "b", "text": "Okafor"},
            ],
        },
        {"question": "When?", "gold_answer": "In 1987."},
        {"question": "Why?"},
    ],
    "metadata": {"domain": "music", "difficulty": [1, {"of": 3}]},
}
FIND = ToolCall(id="call_1", name="find", arguments='{"album":"Stone Garden"}')
SHORT = {"id": "short", "turns": [{"question": "Hello?"}]}


TestNativeReader = contract(NativeReader(), "good.jsonl", [ALBUM, SHORT], [ALBUM | {"title": 5}, SHORT])


def test_every_field_is_read(tmp_path):
    found = only(NativeReader(), json_lines_file(tmp_path / "a.jsonl", [ALBUM]))

    assert found == Conversation(
        id="album",
        title="Mira Okafor",
        section="Stone Garden",
        background="Mira Okafor is a singer.",
        passages=(Passage(id="p1", title="Stone Garden", text="Okafor wrote it in 1987."),),
        turns=(
            Turn(
                id="album-first",
                question="Who wrote\nStone Garden?",
                gold_answers=("Mira Okafor", "Okafor"),
                standalone="Who wrote Stone Garden?",
                gold_passages=("p1",),
                fact="Okafor wrote it.",
                asked_with=(
                    Message(role="system", text="Be brief."),
                    Message(role="user", text="Who wrote"),
                    Message(role="developer", text="Be kind."),
                    Message(role="user", text="Stone Garden?"),
                ),
                steps=(
                    Message(role="assistant", tool_calls=(FIND,)),
                    Message(
                        role="tool", text="Okafor", tool_call_id="call_1", name="find", left_out=("image",)
                    ),
                    Message(
                        role="assistant",
                        text="Let me see.",
                        tool_calls=(ToolCall(id="b", name="find", arguments="{}"),),
                    ),
                    Message(role="tool", text="Okafor", tool_call_id="b", name="find"),
                ),
            ),
            Turn(id="album#2", question="When?", gold_answers=("In 1987.",)),
            Turn(id="album#3", question="Why?"),
        ),
        metadata={"domain": "music", "difficulty": [1, {"of": 3}]},
    )


@from_table
def test_a_bad_line_is_named_by_line_and_field(tmp_path, line, message):
    path = tmp_path / "a.jsonl"
    path.write_text("\n\n" + json.dumps(line))

    assert fault(NativeReader(), path) == f":3: {message}"


ONE_OF_TWO = {"contains": "x"}, {"contains": {"texts": "x"}}


@pytest.mark.parametrize(
    ("expect", "message"),
    [
        (
            {"contians": "x"},
            '.contians: "contians" is no kind of check; did you mean "contains"? (known: cont',
        ),
        ({"contains": 17}, ".contains: 17 is not "),
        ({"contains": []}, ".contains: is empty; give a text, or a list of texts"),
        (
            {"contains": {"text": "x", "exat": True}},
            '.contains.exat: "exat" is not a setting here; did you mean',
        ),
        ({"regex": "(a"}, '.regex: "(a" is not a regular expression that can be used ('),
        ({"regex": "(?=a)"}, '.regex: "(?=a)" is not a regular expression that can be used (look-around'),
        (ONE_OF_TWO, '[1].contains.texts: "texts" is not a setting here; did you mean "text"?'),
        ({"contains": "x", "regex": "x", "as": "both"}, ".as: is a text beside a single kind of check"),
        ([{"contains": "x", "as": "two words"}], '.contains.as: "two words" can\'t name a check: letters'),
        ([{"contains": "x", "as": "regex"}], '.contains.as: "regex" can\'t name a check: letters'),
        ([{}], ": has an entry without a kind of check"),
        ("contains", ": found text, expected an object or a list"),
    ],
)
@pytest.mark.parametrize("of_end", [False, True])
def test_an_expectation_that_nothing_can_check_is_named_where_it_stands(tmp_path, expect, message, of_end):
    turn = {"question": "Q"}
    line = (
        {"id": "a", "turns": [turn], "expect": expect}
        if of_end
        else {"id": "a", "turns": [{**turn, "expect": expect}]}
    )
    found = fault(NativeReader(), json_lines_file(tmp_path / "a.jsonl", [line]))

    place = "expect" if of_end else "turns[0].expect"
    assert found.startswith(":1: ")
    assert f"{place}{message}" in found


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            b'{"id": "a", "turns": [',
            "is not valid JSON: it ends before it is complete. If the file was cut off, ",
        ),
        (b'{"id": "a",}', "is not valid JSON: trailing comma in object at byte 12"),
        (b'{"id": "a", "turns": []} {"id": "b"}', "is not valid JSON: trailing characters at byte 27"),
        (b'{"id": "\xe9t\xe9", "turns": []}', "is not UTF-8: found the byte 0xe9; save the file as UTF-8"),
        (b'{"id": "a\0", "turns": []}', "is not JSON: found a NUL byte (byte 10); the file was cut off, or "),
        (b'{"id": "\\ud800", "turns": []}', "is not valid JSON: "),
    ],
)
def test_a_line_that_is_no_json_spoils_only_itself(tmp_path, line, message):
    path = tmp_path / "a.jsonl"
    path.write_bytes(line + b"\n" + json.dumps(SHORT).encode())

    bad, good = NativeReader().read(path)

    assert str(bad).startswith(f"{path}:1: {message}")
    assert good.id == "short"


IDS = st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip)
TEXTS = st.text(st.characters(codec="utf-8"))
QUESTIONS = IDS
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
EXPECTATIONS = st.builds(
    Expectation,
    kind=st.sampled_from(["contains", "not_contains", "equals"]),
    value=IDS
    | st.lists(IDS, min_size=1, max_size=2)
    | st.fixed_dictionaries({"text": IDS, "exact": st.booleans()}),
    called=st.none() | st.sampled_from(["first", "2nd-try"]),
)
EXPECTED = st.lists(EXPECTATIONS, max_size=3).map(tuple)
STEPS = st.tuples(
    st.builds(
        Message,
        role=st.just("assistant"),
        text=TEXTS,
        tool_calls=st.lists(st.builds(ToolCall, id=TEXTS, name=IDS, arguments=IDS), max_size=1).map(tuple),
    ),
    st.builds(Message, role=st.sampled_from(["system", "assistant"]), text=TEXTS),
)
TURNS = st.builds(
    Turn,
    id=IDS,
    question=QUESTIONS,
    gold_answers=st.lists(TEXTS, max_size=3).map(tuple),
    standalone=st.none() | TEXTS,
    gold_passages=st.lists(TEXTS, max_size=2).map(tuple),
    fact=st.none() | TEXTS,
    kind=TEXTS,
    expect=EXPECTED,
    steps=st.lists(STEPS, max_size=2).map(lambda pairs: match_results(chain.from_iterable(pairs))),
)


def in_sessions(turns: list[Turn], begins: list[bool]) -> tuple[Turn, ...]:
    """Put *turns* into sessions, each with the turn before as its evidence."""
    numbers = accumulate(begins[: len(turns)])
    before = [(), *((turn.id,) for turn in turns)]
    return tuple(
        replace(turn, session=f"s{number}", evidence=evidence)
        for turn, number, evidence in zip(turns, numbers, before, strict=False)
    )


TURN_LISTS = st.lists(TURNS, min_size=1, max_size=4, unique_by=lambda turn: turn.id)
CONVERSATIONS = st.builds(
    Conversation,
    id=IDS,
    turns=TURN_LISTS.map(tuple)
    | st.builds(in_sessions, TURN_LISTS, st.lists(st.booleans(), min_size=4, max_size=4)),
    title=TEXTS,
    section=TEXTS,
    background=TEXTS,
    passages=st.lists(
        st.builds(Passage, id=TEXTS, text=TEXTS, title=TEXTS), max_size=3, unique_by=lambda p: p.id
    ).map(tuple),
    metadata=st.dictionaries(TEXTS, JSON, max_size=3),
    expect=EXPECTED,
)


@given(st.lists(CONVERSATIONS, max_size=3))
def test_what_is_written_is_read_back_exactly(tmp_path_factory, conversations):
    path = tmp_path_factory.mktemp("native") / "written.jsonl"

    assert write_native(conversations, path) == len(conversations)
    assert list(NativeReader().read(path)) == conversations


@given(st.binary(max_size=200) | st.text(alphabet=string.printable, max_size=200).map(str.encode))
def test_no_bytes_whatever_make_it_fail_otherwise(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("native") / "any.jsonl"
    path.write_bytes(content)

    try:
        found = list(NativeReader().read(path))
    except DatasetError:
        return
    assert all(isinstance(item, Conversation | DatasetError) for item in found)


def test_a_failed_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "kept.jsonl"
    path.write_text("old")
    good = Conversation(id="a", turns=(Turn(id="t", question="Q"),))
    bad = Conversation(id="b", turns=good.turns, metadata={"score": float("nan")})

    with pytest.raises(ValueError, match="not JSON compliant"):
        write_native([good, bad], path)

    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_shipped_conversations_are_read_without_naming_their_format():
    folder = Path(__file__).parents[2] / "scenarios" / "conversations"
    paths = sorted(folder.glob("*.jsonl"))

    found = list(read_conversations(paths, reader=None, on_bad=None, limit=None))

    assert len(found) == sum(len(path.read_text("utf-8").splitlines()) for path in paths)


def test_the_turns_times_are_kept_in_the_metadata(tmp_path):
    turns = [
        {"question": "Who?", "timestamp": 10, "answer_timestamp": 12.5},
        {"question": "When?"},
        {"question": "Why?", "timestamp": "2024-05-01T12:00:00Z"},
    ]
    path = json_lines_file(tmp_path / "a.jsonl", [{"id": "a", "turns": turns, "metadata": {"app": "web"}}])

    found = only(NativeReader(), path)
    assert found.metadata == {
        "app": "web",
        "timestamps": [10, None, "2024-05-01T12:00:00Z"],
        "answer_timestamps": [12.5, None, None],
    }
    write_native([found], tmp_path / "b.jsonl")
    assert only(NativeReader(), tmp_path / "b.jsonl") == found


@from_table
def test_a_time_that_is_none_or_given_twice_is_an_error(tmp_path, more, complaint):
    assert fault(NativeReader(), json_lines_file(tmp_path / "a.jsonl", [{"id": "a"} | more])) == complaint
