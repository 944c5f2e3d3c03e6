"""Chat logs, with everything that stands in them besides questions and answers."""

from __future__ import annotations

import pytest

from replay.datasets.chat import ChatReader
from replay.testing import ReaderContract
from tests.datasets.files import fault, json_lines_file, only


def user(content):
    return {"role": "user", "content": content}


def assistant(content, **more):
    return {"role": "assistant", "content": content, **more}


def system(content, role="system"):
    return {"role": role, "content": content}


CALL = assistant(
    None, tool_calls=[{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
)
RESULT = {"role": "tool", "tool_call_id": "c", "content": "42"}
FIRST = {"id": "log-1", "model": "m", "messages": [system("Be brief."), user("Who?"), assistant("Okafor.")]}
SECOND = {"messages": [user("When?"), assistant("In 1987."), user("Why?")]}


class TestChatReader(ReaderContract):
    @pytest.fixture
    def reader(self):
        return ChatReader()

    @pytest.fixture
    def good(self, tmp_path):
        # The same file name for good and bad, since it is part of an unnamed conversation's id.
        return json_lines_file(tmp_path / "log.jsonl", [FIRST, SECOND])

    @pytest.fixture
    def one_bad(self, tmp_path):
        (tmp_path / "bad").mkdir()
        return json_lines_file(tmp_path / "bad" / "log.jsonl", [{"messages": [{"content": "Who?"}]}, SECOND])


def read(tmp_path, *messages, **more):
    return only(ChatReader(), json_lines_file(tmp_path / "log.jsonl", [{"messages": messages, **more}]))


def pairs(conversation):
    return [(turn.question, turn.gold_answer) for turn in conversation.turns]


def test_the_assistants_turns_are_the_gold_answers(tmp_path):
    found = read(tmp_path, user("Who?"), assistant("Okafor."), user("When?"), assistant("In 1987."), id="c")

    assert pairs(found) == [("Who?", "Okafor."), ("When?", "In 1987.")]
    assert [turn.id for turn in found.turns] == ["c#1", "c#2"]


@pytest.mark.parametrize("role", ["system", "developer"])
def test_instructions_and_a_greeting_before_the_first_question_are_the_background(tmp_path, role):
    found = read(tmp_path, system("Be brief.", role), assistant("Hello!"), user("Who?"), assistant("Okafor."))

    assert found.background == "Be brief.\nHello!"
    assert pairs(found) == [("Who?", "Okafor.")]


def test_later_instructions_are_kept_where_they_give_nothing_away(tmp_path):
    found = read(
        tmp_path,
        user("Who?"),
        assistant("Me."),
        system("The user is 12."),
        user("Why?"),
        metadata={"app": "web"},
    )

    assert found.background == ""
    assert found.metadata == {"app": "web", "later_system_messages": ["The user is 12."]}


def test_user_messages_in_a_row_are_one_question(tmp_path):
    found = read(tmp_path, user("I mean the album."), user("Who wrote it?"), assistant("Okafor."))

    assert pairs(found) == [("I mean the album.\nWho wrote it?", "Okafor.")]


def test_assistant_messages_in_a_row_are_one_answer(tmp_path):
    assert pairs(read(tmp_path, user("Who?"), assistant("Okafor."), assistant("In 1987."))) == [
        ("Who?", "Okafor.\nIn 1987.")
    ]


def test_tool_calls_and_their_results_are_no_answers(tmp_path):
    look = CALL | {"content": "Let me look that up."}

    assert pairs(read(tmp_path, user("How many?"), look, RESULT, CALL, RESULT, assistant("42."))) == [
        ("How many?", "42.")
    ]


def test_a_question_after_a_tool_call_is_a_new_turn(tmp_path):
    found = read(tmp_path, user("How many?"), CALL, RESULT, user("Never mind. Who?"), assistant("Okafor."))

    assert pairs(found) == [("How many?", None), ("Never mind. Who?", "Okafor.")]


def test_a_missing_last_answer_is_asked_but_unscored(tmp_path):
    assert pairs(read(tmp_path, user("Who?"), assistant("Okafor."), user("Why?"))) == [
        ("Who?", "Okafor."),
        ("Why?", None),
    ]


def test_content_in_text_parts_is_joined(tmp_path):
    parts = [{"type": "text", "text": "Who"}, {"type": "input_text", "text": "wrote it?"}]
    refusal = [{"type": "refusal", "refusal": "I won't say."}]

    assert pairs(read(tmp_path, user(parts), assistant(refusal))) == [("Who\nwrote it?", "I won't say.")]


def test_a_refusal_is_an_answer(tmp_path):
    assert pairs(read(tmp_path, user("Who?"), assistant(None, refusal="I can't say."))) == [
        ("Who?", "I can't say.")
    ]


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        (
            [
                user(
                    [
                        {"type": "text", "text": "What's this?"},
                        {"type": "image_url", "image_url": {"url": "x"}},
                    ]
                )
            ],
            ':1: messages[0].content[1]: is a part of type "image_url", and only text can be replayed; leave '
            "the line out",
        ),
        ([user([{"type": "text"}])], ":1: messages[0].content[0]: is a text part without a text"),
        (
            [user("Q"), {"role": "asistant", "content": "A"}],
            ':1: messages[1].role: "asistant" is not a role; did you mean "assistant"? (allowed: system, '
            "developer, user, assistant, tool, function)",
        ),
        ([system("Be brief.")], ':1: conversation "log.jsonl:1": has no turns; there is nothing to ask'),
        (
            [user(""), assistant("Hello?")],
            ':1: conversation "log.jsonl:1", turns[0].question: is empty; there is nothing to ask',
        ),
        ([user(5)], ":1: messages[0].content: found a whole number, expected text or a list or null"),
        ("Hi", ":1: messages: found text, expected a list"),
    ],
)
def test_what_cannot_be_replayed_is_an_error(tmp_path, messages, message):
    path = json_lines_file(tmp_path / "log.jsonl", [{"messages": messages}])

    assert fault(ChatReader(), path) == message


def test_a_log_without_an_id_is_named_by_file_and_line(tmp_path):
    first, second = ChatReader().read(json_lines_file(tmp_path / "log.jsonl", [FIRST, SECOND]))

    assert (first.id, second.id) == ("log-1", "log.jsonl:2")


def test_the_field_with_the_id_can_be_named(tmp_path):
    path = json_lines_file(tmp_path / "log.jsonl", [FIRST | {"session": 7}, SECOND])
    first, bad = ChatReader(id_field="session").read(path)

    assert first.id == "7"
    assert ":2: session: is required but missing" in str(bad)


def test_a_field_that_holds_no_id_is_refused():
    with pytest.raises(ValueError, match="expected the name of the field that holds an id"):
        ChatReader(id_field="messages")


def test_times_are_those_of_a_questions_and_an_answers_last_message(tmp_path):
    found = read(
        tmp_path,
        assistant("Hello!", timestamp=1),
        user("Who?") | {"timestamp": 2},
        user("Quick!") | {"timestamp": 3},
        CALL | {"timestamp": 4},
        assistant("Let me see.", timestamp=5),
        assistant("Okafor.", timestamp="2024-05-01T12:00:00Z"),
        user("When?"),
    )
    assert found.metadata == {
        "timestamps": [3, None],
        "answer_timestamps": ["2024-05-01T12:00:00Z", None],
    }


def test_a_log_without_times_says_nothing_of_them_and_odd_ones_spoil_nothing(tmp_path):
    assert read(tmp_path, user("Who?")).metadata == {}
    odd = {"$date": "yesterday"}
    assert read(tmp_path, user("Who?") | {"timestamp": odd}).metadata == {"timestamps": [odd]}
