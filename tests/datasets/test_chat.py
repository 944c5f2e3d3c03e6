"""Chat logs as a whole: questions, answers, instructions, settings, faults, times."""

from __future__ import annotations

import json

import pytest

from replay.core.errors import DatasetError
from replay.datasets.chat import ChatReader
from tests.data_tables import from_table
from tests.datasets.chat_logs import CALL, RESULT, assistant, pairs, read, system, user
from tests.datasets.files import contract, fault, json_file, json_lines_file, only

FIRST = {"id": "log-1", "model": "m", "messages": [system("Be brief."), user("Who?"), assistant("Okafor.")]}


SECOND = {"messages": [user("When?"), assistant("In 1987."), user("Why?")]}


TestChatReader = contract(
    ChatReader(), "log.jsonl", [FIRST, SECOND], [{"messages": [{"content": "Who?"}]}, SECOND]
)


def test_the_assistants_turns_are_the_gold_answers(tmp_path):
    found = read(tmp_path, user("Who?"), assistant("Okafor."), user("When?"), assistant("In 1987."), id="c")

    assert pairs(found) == [("Who?", "Okafor."), ("When?", "In 1987.")]
    assert [turn.id for turn in found.turns] == ["c#1", "c#2"]


@pytest.mark.parametrize("role", ["system", "developer"])
def test_a_greeting_before_the_first_question_is_the_background_and_instructions_are_not(tmp_path, role):
    """What an operator tells the system is no part of what was said."""
    found = read(tmp_path, system("Be brief.", role), assistant("Hello!"), user("Who?"), assistant("Okafor."))

    assert found.background == "Hello!"
    assert pairs(found) == [("Who?", "Okafor.")]


def prompts(conversation):
    return [tuple(message.text for message in turn.asked_with) for turn in conversation.turns]


def test_system_prompts_are_those_of_the_question_that_comes_next(tmp_path):
    found = read(
        tmp_path,
        system("Be brief."),
        system(" "),
        user("Who?"),
        assistant("Me."),
        system("The user is 12."),
        system("Be kind.", "developer"),
        user("Why?"),
        assistant("So."),
        user("So?"),
        system("Nobody follows this."),
        metadata={"app": "web"},
    )

    assert prompts(found) == [("Be brief.",), ("The user is 12.", "Be kind."), ()]
    assert (found.background, found.metadata) == ("", {"app": "web"})


@pytest.mark.parametrize("told", ["Be brief.", [{"type": "text", "text": "Be brief."}]])
def test_a_system_prompt_may_stand_beside_the_messages(tmp_path, told):
    """As in requests to Anthropic's API."""
    log = {"system": told, "messages": [system("And kind."), user("Who?")]}
    path = json_lines_file(tmp_path / "log.jsonl", [log])

    assert prompts(only(ChatReader(system_field="system"), path)) == [("Be brief.", "And kind.")]
    assert prompts(only(ChatReader(), path)) == [("And kind.",)]


def test_the_items_of_a_list_are_told_apart_and_recognized(tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps([SECOND, {"messages": [{"content": "Who?"}]}, SECOND]))
    first, bad, third = ChatReader().read(path)

    assert (first.id, third.id) == ("log.json:1", "log.json:3")
    assert ":1: item 2, messages[0].role: is required but missing" in str(bad)
    assert ChatReader().recognizes(path, path.read_bytes())


@from_table
def test_settings_that_name_no_fields_or_roles_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        ChatReader(**settings)


def test_faults_are_named_by_the_fields_as_they_are_called(tmp_path):
    path = json_lines_file(tmp_path / "log.jsonl", [{"talk": [{"from": "human", "value": 5}]}])
    reader = ChatReader(messages_field="talk", role_field="from", text_field="value")

    assert fault(reader, path) == ":1: talk[0].value: found a whole number, expected text or a list or null"
    path = json_lines_file(path, [{"talk": [{"from": "human", "value": "Hi"}]}])
    assert 'talk[0].from: "human" is not a role' in fault(reader, path)


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        (
            [user("Q"), assistant(None, tool_calls=[{"id": "a"}])],
            ":1: messages[1].tool_calls[0]: is a call of a tool without its name",
        ),
        ([user("Q"), {"type": "function_call"}], ":1: messages[1]: is a call of a tool without its name"),
        ([user("Q"), {"content": "A"}], ":1: messages[1].role: is required but missing"),
        ([user([{"type": "text"}])], ":1: messages[0].content[0]: is a text part without a text"),
        (
            [user("Q"), {"role": "asistant", "content": "A"}],
            ':1: messages[1].role: "asistant" is not a role; did you mean "assistant"? (allowed: system, '
            "developer, user, assistant, tool, function, function_call); the setting roles says what it "
            'stands for, as in roles: {"asistant": user}',
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
    with pytest.raises(ValueError, match="expected the name of a field of its own"):
        ChatReader(id_field="messages")


def test_times_are_those_of_a_questions_and_an_answers_last_message(tmp_path):
    found = read(
        tmp_path,
        assistant("Hello!", timestamp=1),
        user("Who?") | {"timestamp": 2},
        user("Quick!") | {"timestamp": 3},
        CALL | {"timestamp": 4},
        RESULT,
        assistant("Let me see.", timestamp=5),
        assistant("Okafor.", timestamp="2024-05-01T12:00:00Z"),
        user("When?"),
    )
    assert found.metadata == {"timestamps": [3, None], "answer_timestamps": ["2024-05-01T12:00:00Z", None]}


def test_what_was_said_on_the_way_is_no_time_of_an_answer(tmp_path):
    found = read(tmp_path, user("Who?"), assistant("I look.", timestamp=5), CALL, RESULT, user("Hello?"))

    assert found.metadata == {}


def test_a_log_without_times_says_nothing_of_them_and_odd_ones_spoil_nothing(tmp_path):
    assert read(tmp_path, user("Who?")).metadata == {}
    odd = {"$date": "yesterday"}
    assert read(tmp_path, user("Who?") | {"timestamp": odd}).metadata == {"timestamps": [odd]}


TALK = [
    {"author": {"role": "customer"}, "body": {"text": "Who?"}},
    {"author": {"role": "agent"}, "body": {"text": "Okafor."}},
]
DOTTED = {
    "role_field": "author.role",
    "text_field": "body.text",
    "roles": {"customer": "user", "agent": "assistant"},
}


def test_dots_in_a_fields_name_lead_into_objects(tmp_path):
    path = json_lines_file(tmp_path / "log.jsonl", [{"meta": {"key": "c"}, "log": {"lines": TALK}}])

    found = only(ChatReader(messages_field="log.lines", id_field="meta.key", **DOTTED), path)

    assert (found.id, pairs(found)) == ("c", [("Who?", "Okafor.")])


def test_what_is_wrong_within_an_object_is_named_by_its_dots(tmp_path):
    bad = {"messages": [{"author": {"role": "customer"}, "body": {"text": 7}}]}
    unnamed = {"messages": [{"author": "customer", "body": {"text": "Who?"}}]}

    first, second = ChatReader(**DOTTED).read(json_lines_file(tmp_path / "log.jsonl", [bad, unnamed]))

    assert ":1: messages[0].body.text: found a whole number, expected" in str(first)
    assert ":2: messages[0].author.role: is required but missing" in str(second)


@pytest.mark.parametrize(("list_field", "wrap"), [("tickets", 0), ("export.tickets", 1)])
def test_the_list_of_conversations_can_stand_in_an_object(tmp_path, list_field, wrap):
    tickets = {"tickets": [{"id": "a", "messages": TALK}, {"id": "b", "messages": TALK}]}
    path = json_file(tmp_path / "log.json", {"export": tickets} if wrap else tickets)

    found = list(ChatReader(list_field=list_field, **DOTTED).read(path))

    assert [(one.id, pairs(one)) for one in found] == [(name, [("Who?", "Okafor.")]) for name in "ab"]


def test_a_list_that_is_called_otherwise_is_said_with_what_is_there(tmp_path):
    path = json_file(tmp_path / "log.json", {"tickets": [], "page": 1})

    with pytest.raises(DatasetError, match=r'list under "items".*\(found: tickets, page\)'):
        list(ChatReader(list_field="items").read(path))
    assert "messages: is required but missing (found: tickets, page)" in fault(ChatReader(), path)


def test_messages_of_many_threads_in_one_list_are_a_conversation_each(tmp_path):
    """As Slack exports a channel: everybody but the bot is a user, and who got no reply has no thread."""
    messages = [
        {"type": "message", "user": "U1", "text": "Who?", "ts": "1.1", "thread_ts": "1.1"},
        {"type": "message", "user": "U2", "text": "Hello, all.", "ts": "2.1"},
        {"type": "message", "user": "U3", "text": "When?", "ts": "3.1", "thread_ts": "3.1"},
        {"type": "message", "user": "UBOT", "text": "Okafor.", "ts": "4.1", "thread_ts": "1.1"},
        {"type": "message", "user": "UBOT", "text": "In 1987.", "ts": "5.1", "thread_ts": "3.1"},
    ]
    path = json_file(tmp_path / "channel.json", messages)
    reader = ChatReader(
        thread_field="thread_ts",
        role_field="user",
        text_field="text",
        roles={"UBOT": "assistant", "*": "user"},
    )

    bad, *found = list(reader.read(path))

    assert [(one.id, pairs(one)) for one in found] == [
        ("1.1", [("Who?", "Okafor.")]),
        ("3.1", [("When?", "In 1987.")]),
    ]
    assert "item 2, thread_ts: is required but missing" in str(bad)


def test_threads_have_nothing_beside_their_messages():
    with pytest.raises(ValueError, match="leave out id_field"):
        ChatReader(thread_field="thread_ts", id_field="id")


def test_one_conversation_may_be_spread_over_lines(tmp_path):
    path = json_file(tmp_path / "log.json", {"messages": [user("Who?"), assistant("Okafor.")]})

    assert pairs(only(ChatReader(), path)) == [("Who?", "Okafor.")]


def test_a_first_line_that_was_cut_off_spoils_only_itself(tmp_path):
    path = json_lines_file(tmp_path / "log.jsonl", [SECOND])
    path.write_text('{"messages": [{"role": "us\n' + path.read_text())

    bad, good = ChatReader().read(path)

    assert ":1: is not valid JSON: it ends before it is complete" in str(bad)
    assert len(good.turns) == 2
