"""
Templates in scenario files.

Making a template reads it and computes nothing of it: that takes no time, no memory and no code.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from uuid import UUID

import pytest
from jinja2 import StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from replay.core.adapter import ChatRequest
from replay.core.asking.templating import Template, TextTemplate, template_variables
from replay.core.conversation import Conversation, Passage, Turn
from replay.core.history import Exchange
from replay.core.message import Message, ToolCall
from tests.data_tables import from_table

TALK = Conversation(
    id="c",
    title="T",
    turns=(Turn(id="1", question="q", gold_answers=("SECRET",), standalone="SECRET"),),
    passages=(Passage(id="p1", text="One."), Passage(id="p2", text="Two.")),
)
VARIABLES = template_variables(
    TALK,
    ChatRequest(question="Why?", history=(Exchange(question="Who?", answer="Me."),), depth=2),
    session_id="s",
)


def test_a_single_expression_keeps_its_type():
    body = Template(
        {"messages": "{{ messages }}", "n": "{{ depth }}", "text": "{{ depth }}!", "k": [1, None]}
    )
    assert body.render(VARIABLES) == {
        "messages": [
            {"role": "user", "content": "Who?"},
            {"role": "assistant", "content": "Me."},
            {"role": "user", "content": "Why?"},
        ],
        "n": 2,
        "text": "2!",
        "k": [1, None],
    }


def test_passages_are_one_text_or_a_list():
    assert TextTemplate("Use: {{ passage }}").render(VARIABLES) == "Use: One.\n\nTwo."
    assert Template("{{ passages | map(attribute='text') | list }}").render(VARIABLES) == ["One.", "Two."]


def test_gold_answers_are_out_of_reach():
    """A template is what the system under test is sent."""
    assert "SECRET" not in repr(dict(VARIABLES))


@pytest.mark.parametrize("text", ["{{ nothing }}", "x {{ nothing }}", "{{ conversation.nothing.deep }}"])
def test_an_unknown_variable_is_an_error_that_names_it(text):
    with pytest.raises(ValueError, match="nothing"):
        Template(text).render(VARIABLES)


@pytest.mark.parametrize("text", ["{{ question", "{% for %}", "{{ 1 + }}"])
def test_a_broken_template_is_found_before_anything_is_asked(text):
    with pytest.raises(ValueError, match="template"):
        Template({"a": [text]})


@from_table
def test_a_template_can_not_reach_out_of_its_sandbox_nor_fail_otherwise(text):
    with pytest.raises(ValueError, match="template"):
        Template(text).render(VARIABLES)


def test_brackets_without_end_in_a_template_are_no_recursion_error():
    with pytest.raises(ValueError, match="template"):
        Template("{{ " + "(" * 5_000 + "1" + ")" * 5_000 + " }}").render(VARIABLES)


def test_text_in_a_variable_is_not_a_template():
    variables = template_variables(TALK, ChatRequest(question="{{ 1 + 1 }}", history=(), depth=1))
    assert Template("{{ question }}").render(variables) == "{{ 1 + 1 }}"
    assert TextTemplate("a {{ question }}").render(variables) == "a {{ 1 + 1 }}"


PLAIN = ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)


@from_table
def test_texts_come_out_as_jinja_renders_them(text):
    """Those of names and constants are put together without it."""
    assert TextTemplate(text).render(VARIABLES) == PLAIN.from_string(text).render(VARIABLES)


@from_table
def test_single_expressions_come_out_as_jinja_evaluates_them(expression):
    expected = PLAIN.compile_expression(expression)(**VARIABLES)
    assert Template(f"{{{{ {expression} }}}}").render(VARIABLES) == expected


def test_a_method_of_a_dict_is_not_an_item_of_it():
    """Jinja looks for attributes first, and so do we."""
    variables = {"given": {"items": "an item", "id": 7}}
    assert TextTemplate("{{ given.id }}").render(variables) == "7"
    assert TextTemplate("{{ given.items }}").render(variables) == PLAIN.from_string(
        "{{ given.items }}"
    ).render(variables)


def test_a_variable_goes_before_a_global_of_the_same_name():
    assert Template("{{ range }}").render({"range": "ours"}) == "ours"
    assert TextTemplate("a {{ range }}").render({"range": "ours"}) == "a ours"


def test_recorded_instructions_and_steps_are_among_the_messages_and_the_former_joined():
    call = ToolCall(id="t1", name="find", arguments="{}")
    steps = (Message(role="assistant", tool_calls=(call,)), Message(role="tool", tool_call_id="t1", text="1"))
    exchange = Exchange(question="Who?", answer="Me.", asked_with=told("system", "Be brief."), steps=steps)
    request = ChatRequest(
        question="Why?", history=(exchange,), asked_with=told("developer", "Be kind."), steps=steps, depth=2
    )
    variables = template_variables(TALK, request)

    assert [(m["role"], m["content"], "tool_calls" in m) for m in variables["messages"]] == [
        ("system", "Be brief.", False),
        ("user", "Who?", False),
        ("assistant", None, True),
        ("tool", "1", False),
        ("assistant", "Me.", False),
        ("developer", "Be kind.", False),
        ("user", "Why?", False),
        ("assistant", None, True),
        ("tool", "1", False),
    ]
    assert variables["system_prompt"] == "Be brief.\n\nBe kind."
    assert VARIABLES["system_prompt"] == ""


CALL = Message(role="assistant", tool_calls=(ToolCall(id="t1", name="find", arguments="{}"),))
RESULT = Message(role="tool", tool_call_id="t1", text="1")
EACH = {
    "each": {
        "id": "{{ message.id }}",
        "role": "{{ message.role }}",
        "parts": [{"type": "text", "text": "{{ message.content }}"}],
        "calls": "{{ message.tool_calls }}",
        "of": "{{ message.tool_call_id }}",
    }
}


def each(*, only=None, session_id="s", **request):
    template = Template({"messages": EACH | ({"if": only} if only else {})})
    return template.render(template_variables(TALK, ChatRequest(**request), session_id=session_id))[
        "messages"
    ]


def test_each_message_is_put_as_a_template_says_without_fields_that_are_nothing():
    exchange = Exchange(question="Who?", answer="Me.", steps=(CALL, RESULT))
    asked, called, returned, answered, question = each(question="Why?", history=(exchange,), depth=2)

    assert {key: value for key, value in asked.items() if key != "id"} == {
        "role": "user",
        "parts": [{"type": "text", "text": "Who?"}],
    }
    function = {"name": "find", "arguments": "{}"}
    assert called["calls"] == [{"id": "t1", "type": "function", "function": function}]
    assert called["parts"] == [{"type": "text"}]
    assert returned["of"] == "t1"
    assert [message["role"] for message in (answered, question)] == ["assistant", "user"]


def test_messages_for_which_a_condition_does_not_hold_are_left_out():
    exchange = Exchange(question="Who?", answer="Me.", steps=(CALL, RESULT))
    only = "{{ message.content and message.role != 'tool' }}"
    put = each(only=only, question="Why?", history=(exchange,), depth=2)

    assert [message["parts"][0]["text"] for message in put] == ["Who?", "Me.", "Why?"]


def test_a_message_has_one_id_of_its_own_in_all_requests_of_a_session():
    """LangGraph puts messages of known ids in their old place, and databases refuse them."""
    exchange = Exchange(question="Who?", answer="Me.")
    first = each(question="Who?", history=(), depth=1)
    second = each(question="Why?", history=(exchange,), depth=2)
    kept_there = each(question="Why?", history=(), depth=2)
    elsewhere = each(question="Who?", history=(), depth=1, session_id="another")

    assert second[0]["id"] == first[0]["id"]
    ids = [message["id"] for message in (*second, *kept_there, *elsewhere)]
    assert len({*ids}) == len(ids)
    assert all(str(UUID(id)) == id for id in ids)


def test_other_objects_with_such_a_field_stay_objects():
    assert Template({"each": "{{ depth }}"}).render(VARIABLES) == {"each": 2}
    with pytest.raises(ValueError, match="message"):
        Template(EACH | {"more": 1}).render(VARIABLES)


def test_a_template_of_each_message_uses_the_messages():
    assert Template({"all": EACH}).names == {"messages"}


def told(role, text):
    return (Message(role=role, text=text),)


HEAVY = (
    "{{ 9**(9**9) }}",
    "x {{ 9**(9**9) }}",
    "{{ 1|round(300000000, 'ceil') }}",
    "x {{ '%0900000000d'|format(1) }}",
    "{{ 'a' * 10**10 }}",
    "{{ 'x'.center(2000000000) }}",
    "{{ [] " + "|tojson" * 40 + " }}",
    "{{ {} " + "|tojson" * 40 + " }} x",
    "{% autoescape 9**(9**9) %}{% endautoescape %}",
    "{% if 9**(9**9) %}{% endif %}",
    "{% set _iterations = 9**(9**9) %}",
    "{% macro f(a=9**(9**9)) %}{% endmacro %}",
    "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}"
    "{% endfor %}{% endfor %}{% endfor %}",
)


def _limits() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30, 2 * 2**30))
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))


def test_nothing_is_computed_by_reading():
    """In a process that would be ended: some of these can't be interrupted otherwise."""
    program = (
        "from replay.core.asking.templating import Template, TextTemplate\n"
        f"for text in {HEAVY!r}:\n"
        "    TextTemplate(text); Template({'body': text}).names\n"
        "print('read')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, preexec_fn=_limits
    )
    assert done.stdout == "read\n", done.stderr[-2000:]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{{ question }} of {{ conversation.title|upper }}", {"question", "conversation"}),
        ("{% for e in history %}{{ loop.index }}{{ e.question }}{% endfor %}", {"history"}),
        ("{% for e in history %}{% endfor %}{{ e }}", {"history", "e"}),
        ("{% set question = question|upper %}{{ question }}", {"question"}),
        ("{% set n = 3 %}{{ n }}{{ range(n)|list }}", set()),
        (
            "{{ [question, 1, 'x'] }}{{ {'a': depth} }}{{ (1, session_id) }}",
            {"question", "depth", "session_id"},
        ),
        ("no variable", set()),
    ],
)
def test_the_names_are_what_somebody_has_to_give(text, names):
    assert TextTemplate(text).names == names
    assert Template({"a": [text, 1]}).names == names


@pytest.mark.parametrize(
    "text", ["{{ x|nope }}", "{{ x is nope }}", "{{ x", "{% endfor %}", "{{ " + "(" * 5000]
)
@pytest.mark.parametrize("kind", [TextTemplate, Template])
def test_what_is_no_template_is_told_when_it_is_made(kind, text):
    with pytest.raises(ValueError, match="template"):
        kind(text)


def test_what_was_read_renders_as_it_stands():
    assert Template("{{ 2**10 }}").render({}) == 1024
    assert Template("{{- [a, 1] -}}").render({"a": "x"}) == ["x", 1]
    assert TextTemplate("{{ []|tojson }}{% set b = a|upper %}{{ b }}").render({"a": "x"}) == "[]X"
