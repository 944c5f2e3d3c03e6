"""Bodies are the same whether or not a part of them was encoded before."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from replay import AdapterRefusedError, ChatRequest, Conversation, Exchange, Message, Passage, message_fields
from replay_adapters.chat.anthropic import Messages
from replay_adapters.chat.body import ChatBodies, ChatBody
from replay_adapters.chat.openai_chat import ChatCompletions

TALK = Conversation(id="c", turns=(), title="T", passages=(Passage(id="p", text="One."),))


def _bodies(system: str | None = None, extra: dict[str, Any] | None = None) -> ChatBodies:
    spoken = ChatCompletions(model="m", stream=False, stream_usage=False)
    return ChatBodies(system, extra or {}, spoken)


def _request(history: tuple[Exchange, ...] = (), **more: Any) -> ChatRequest:
    return ChatRequest(question="Q?", history=history, depth=len(history) + 1, **more)


TEXTS = st.text(st.characters(categories=None), max_size=8)
MESSAGES = st.lists(
    st.builds(Message, role=st.sampled_from(["system", "user", "assistant"]), text=TEXTS), max_size=2
).map(tuple)
HISTORIES = st.lists(
    st.builds(Exchange, question=TEXTS, answer=TEXTS)
    | st.builds(Exchange, question=TEXTS, answer=TEXTS, asked_with=MESSAGES, steps=MESSAGES),
    max_size=5,
).map(tuple)


@given(st.lists(HISTORIES, max_size=6), st.booleans())
def test_a_body_does_not_depend_on_those_before_it(histories: list[tuple[Exchange, ...]], grow: bool) -> None:
    bodies = _bodies("S: {{conversation.title}}")
    body = ChatBody(bodies, TALK)
    history: tuple[Exchange, ...] = ()
    for added in histories:
        history = history + added if grow else added
        sent = json.loads(body.of(_request(history)))
        messages = [{"role": "system", "content": "S: T"}]
        for exchange in history:
            shown = exchange.messages if exchange.answer.strip() else ()
            messages += [message_fields(m) for m in shown if m.role != "system"]
        messages.append({"role": "user", "content": "Q?"})

        assert sent == {"model": "m", "messages": messages}
        assert body.of(_request(history)) == ChatBody(bodies, TALK).of(_request(history))


@pytest.mark.parametrize(
    ("system", "extra", "change"),
    [
        (None, {}, "never"),
        ("Be brief.", {"temperature": 0, "stop": ["x"]}, "never"),
        ("{{passage}}", {"user": "u"}, "with the conversation"),
        ("{% for p in passages %}{{p.text}}{% endfor %}", {}, "with the conversation"),
        (None, {"metadata": {"conversation": "{{conversation.id}}"}}, "with the conversation"),
        ("{{passage}}", {"metadata": {"depth": "{{depth}}"}}, "with the turn"),
        ("You were asked {{history|length}} questions.", {}, "with the turn"),
    ],
)
def test_settings_are_rendered_as_often_as_they_change(system, extra, change) -> None:
    assert _bodies(system, extra).change == change


def test_what_changes_with_the_turn_is_rendered_at_each() -> None:
    body = ChatBody(_bodies("{{depth}}: {{question}}"), TALK)
    history = (Exchange(question="A?", answer="A."),)

    systems = [json.loads(body.of(_request(past)))["messages"][0]["content"] for past in ((), history)]

    assert systems == ["1: Q?", "2: Q?"]


def test_two_conversations_do_not_share_what_is_theirs() -> None:
    bodies = _bodies("{{conversation.id}}")
    talks = [TALK, Conversation(id="d", turns=())]

    sent = [json.loads(ChatBody(bodies, talk).of(_request())) for talk in talks]

    assert [body["messages"][0]["content"] for body in sent] == ["c", "d"]


def test_parameters_are_for_one_question() -> None:
    body = ChatBody(_bodies(), TALK)

    sent = [json.loads(body.of(_request(parameters=given))) for given in ({}, {"seed": 1}, {})]

    assert [each.get("seed") for each in sent] == [None, 1, None]


def test_a_setting_that_is_not_json_is_a_refusal_of_ours() -> None:
    with pytest.raises(AdapterRefusedError, match="not JSON") as caught:
        ChatBody(_bodies(extra={"a": object()}), TALK).of(_request())

    assert not caught.value.reached


def _told(prompt: str) -> tuple[Message, ...]:
    return (Message(role="system", text=prompt),)


def _system(prompt: str) -> dict[str, str]:
    return {"role": "system", "content": prompt}


PROMPTED = ChatRequest(
    question="Q?",
    history=(
        Exchange(question="A?", answer="A.", asked_with=_told("Be brief.")),
        Exchange(question="Unanswered?", answer=" ", asked_with=_told("Be kind.")),
    ),
    asked_with=_told("Be quick."),
    depth=3,
)
SAID = [{"role": "user", "content": "A?"}, {"role": "assistant", "content": "A."}]
ASKED = {"role": "user", "content": "Q?"}


def test_recorded_system_prompts_stand_where_they_stood() -> None:
    body = ChatBody(_bodies(), TALK)
    for _ in range(2):
        assert json.loads(body.of(PROMPTED))["messages"] == [
            *(_system("Be brief."), *SAID, _system("Be kind."), _system("Be quick."), ASKED)
        ]


@pytest.mark.parametrize(
    ("system", "told"),
    [
        ("Be mine.", "Be mine."),
        ("{{system_prompt}}\n\nBe mine.", "Be brief.\n\nBe kind.\n\nBe quick.\n\nBe mine."),
    ],
)
def test_a_system_text_of_the_settings_stands_in_their_place_and_may_hold_them(system, told) -> None:
    sent = json.loads(ChatBody(_bodies(system), TALK).of(PROMPTED))

    assert sent["messages"] == [_system(told), *SAID, ASKED]


def test_where_no_system_message_may_stand_they_are_on_top_turn_by_turn() -> None:
    spoken = Messages(model="m", max_tokens=9, stream=False)
    body = ChatBody(ChatBodies(None, {}, spoken), TALK)
    first = ChatRequest(question="A?", history=(), asked_with=_told("Be brief."), depth=1)
    requests = [first, _request(), PROMPTED, _request(PROMPTED.history), _request()]

    assert [json.loads(body.of(request)).get("system") for request in requests] == [
        *("Be brief.", None, "Be brief.\n\nBe kind.\n\nBe quick.", "Be brief.\n\nBe kind.", None)
    ]
    assert json.loads(body.of(PROMPTED))["messages"] == [*SAID, ASKED]
