"""What a system did before it answered, on a page."""

from __future__ import annotations

import json

import pytest

from replay.core.message import Message, ToolCall
from replay.viewer.pages import ROOM
from replay.viewer.turn_view import TextLimits, laid_out, steps_view
from tests.report.sample_steps import STEPS, TIMES_S, stepped_run
from tests.viewer.runs import page_of, seen


def shown(*steps, times_s=(), **room):
    return steps_view(steps, times_s, TextLimits(**room))


def test_steps_are_shown_in_order_with_who_and_how_long():
    found = shown(*STEPS, times_s=TIMES_S)
    assert found.title.startswith("2 calls of tools: find_order, ")
    assert found.shown == list(zip(STEPS, ["500 ms", "250 ms", ""], strict=True))
    first, second = (laid_out(call) for call in STEPS[0].tool_calls)
    assert json.loads(first)["id"] == 7
    assert second == "no { JSON </details>"
    assert [took for _, took in shown(*STEPS).shown] == ["", "", ""], "of recorded ones nothing is known"
    assert shown() is None
    assert shown(Message(role="assistant", text="x")).title == "1 step before the answer"


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ('{"a": 1, "b": {"c": 2}}', 6),
        ("[1, 2]", 1),
        ("", 1),
        ('{"a": "' + "x" * 5000 + '"}', 1),
        ('{"a": ' + "[" * 1900 + "]" * 1900 + "}", 1),
    ],
)
def test_arguments_are_laid_out_where_they_are_an_object_that_can_be_read(arguments, lines):
    text = laid_out(ToolCall(id="", name="", arguments=arguments))
    assert text.count("\n") + 1 == lines


def test_there_is_room_for_so_much():
    many = [Message(role="tool", text="x" * 9000, name="n" * 900)] * 7
    found = shown(*many, steps=3, first=200, most=1000)
    assert (len(found.shown), found.more) == (3, 4)
    calls = tuple(ToolCall(id="", name="n" * 900, arguments="") for _ in range(300))
    found = shown(Message(role="assistant", tool_calls=calls))
    assert len(found.title) < 600


def page(folder, room=None, **more):
    return page_of(seen(stepped_run(folder / "run", **more), room=room))


def test_a_page_shows_them_before_the_answer_played_and_recorded_and_none_of_it_is_markup(tmp_path):
    html = page(tmp_path)
    assert html.count("2 calls of tools: find_order, &lt;/script&gt;&lt;img") == 2, "played, and recorded"
    for harmful in ("<img", "</pre><b>", "\u202e", "no { JSON </details>", "</script>"):
        assert harmful not in html
    assert html.count("&#34;id&#34;: 7") == 2
    assert "asks 2" in html
    assert "attempts" not in html, "none was a retry"
    assert page(tmp_path / "retried", attempts=3).count("attempts 3") == 1


def test_a_page_has_a_bound_whatever_a_system_does(tmp_path):
    huge = tuple(Message(role="tool", text="word " * 20_000, name="t") for _ in range(500))
    html = page(tmp_path, room=ROOM, steps=huge, step_times_s=())
    assert len(html) < 20 * 5_000
    assert "and 480 more, left out here; replay export --table steps has them" in html
    calls = tuple(ToolCall(id="", name="n" * 900, arguments="") for _ in range(300))
    many = (Message(role="assistant", tool_calls=calls, name="n" * 900),)
    html = page(tmp_path / "calls", room=ROOM, steps=many, step_times_s=())
    assert "and 280 more calls" in html
    assert "n" * 81 not in html
