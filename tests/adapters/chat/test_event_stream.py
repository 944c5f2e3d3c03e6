"""Events are the same wherever a stream is cut into reads, and are those that the WHATWG's rules give."""

from __future__ import annotations

import json
import random
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from replay_adapters.chat.event_stream import (
    JsonLinesReader,
    ServerSentEvents,
    done_has_come,
    events_in,
    json_array,
)


def _events(stream: bytes) -> list[tuple[bytes, bytes]]:
    return [(event.name, event.data) for event, _ in events_in([stream], ServerSentEvents())]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        # The examples of the specification, section 9.2.6.
        (b"data: YHOO\ndata: +2\ndata: 10\n\n", [(b"", b"YHOO\n+2\n10")]),
        (
            b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n",
            [(b"", b"first event"), (b"", b"second event")],
        ),
        (b"data\n\ndata\ndata\n\ndata:", [(b"", b""), (b"", b"\n")]),
        (b"data:test\n\ndata: test\n\n", [(b"", b"test"), (b"", b"test")]),
        # Names last for one event, and are forgotten with one that has no data.
        (b"event: add\ndata: 1\n\ndata: 2\n\n", [(b"add", b"1"), (b"", b"2")]),
        (b"event: add\n\ndata: 2\n\n", [(b"", b"2")]),
        (b"data: 1\r\rdata: 2\r\n\r\ndata: 3\n\n", [(b"", b"1"), (b"", b"2"), (b"", b"3")]),
        (b"data: 1\r\n\rdata: 2\n\r", [(b"", b"1"), (b"", b"2")]),
        (b"\xef\xbb\xbfdata: 1\n\n\xef\xbb\xbfdata: 2\n\n", [(b"", b"1")]),
        (b"retry: 5\nid: 7\nunknown: x\ndata: 1\n:data: 2\n\n", [(b"", b"1")]),
        (b" data: 1\ndatum: 2\nDATA: 3\n\n", []),
        (b"data: a:b\xe2\x80\xa8c\x0bd\x0c\x85\n\n", [(b"", b"a:b\xe2\x80\xa8c\x0bd\x0c\x85")]),
        (b"data: not ended\n", []),
        (b"", []),
    ],
)
def test_a_stream_has_the_events_of_the_specification(stream: bytes, events: list[tuple[bytes, bytes]]):
    assert _events(stream) == events


LINES = st.lists(
    st.sampled_from(
        ["data: {}", "data:x", "data", ": note", "event: e", "", "", "id: 1", "data: ä€😀", "\ufeffdata: y"]
    ),
    max_size=25,
)
ENDS = st.sampled_from(["\n", "\r", "\r\n"])


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    mark = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    return mark + "".join(line + draw(ENDS) for line in draw(LINES)).encode()


def _cut(stream: bytes, places: list[int]) -> list[bytes]:
    inside = sorted({place % (len(stream) + 1) for place in places} | {0, len(stream)})
    return [stream[begin:end] for begin, end in pairwise(inside)] or [b""]


@given(streams(), st.lists(st.integers(min_value=0, max_value=2000), max_size=12))
def test_where_a_stream_is_cut_does_not_matter(stream: bytes, places: list[int]):
    cut = events_in(_cut(stream, places), ServerSentEvents())

    assert [(event.name, event.data) for event, _ in cut] == _events(stream)


@given(streams())
def test_a_stream_may_come_byte_by_byte(stream: bytes):
    """Each event is there as soon as its last byte is: the first of CR LF is enough."""
    found = events_in([bytes([byte]) for byte in stream], ServerSentEvents())

    assert [(event.name, event.data) for event, _ in found] == _events(stream)
    assert all(stream[position] in b"\r\n" for _, position in found)


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_each_event_belongs_to_the_read_that_ends_it(end: bytes):
    reads = [b"data: 1" + end, end + b"data: 2" + end + end + b"da", b"ta: 3", end, end]

    found = events_in(reads, ServerSentEvents())

    assert [(event.data, read) for event, read in found] == [(b"1", 1), (b"2", 1), (b"3", 4)]


VALUES = st.lists(
    st.dictionaries(st.text(max_size=3), st.text(max_size=10) | st.integers(), max_size=3), min_size=1
)


@given(
    VALUES,
    st.sampled_from([b"", b"event: e\n", b"event:e\n"]),
    st.sampled_from([b"data: ", b"data:"]),
    st.sampled_from([b"\n", b"\r\n"]),
    st.booleans(),
    st.lists(st.integers(min_value=0, max_value=5000), max_size=12),
)
def test_a_regular_stream_decoded_at_once_is_what_it_is_event_by_event(
    values, name, start, end, done, places
):
    data = [json.dumps(value, ensure_ascii=False).encode() for value in values] + [b"[DONE]"] * done
    stream = b"".join(name + start + one + b"\n\n" for one in data).replace(b"\n", end)
    reads = _cut(stream, places)
    one_by_one = events_in(reads, ServerSentEvents())

    array = json_array(reads)

    assert array is not None
    assert json.loads(array.content) == values
    assert array.done == done
    ended_by = [read for _, read in one_by_one][: len(values)]
    # Of CR LF the first is enough to end an event; what counts the line ends waits for the second.
    assert all(0 <= late - read <= (end == b"\r\n") for late, read in zip(array.reads, ended_by, strict=True))


@pytest.mark.parametrize(
    "stream",
    [
        b"",
        b"data: {}",
        b"data: {}\n",
        b'{"error": 1}\n\n',
        b": note\n\ndata: {}\n\n",
        b"\xef\xbb\xbfdata: {}\n\n",
        b"data: {}\n\n\n\ndata: {}\n\n",
        b"data: {}\n\nevent: e\ndata: {}\n\n",
        b'data: {"a":\ndata: 1}\n\n',
        b"data: {}\r\rdata: {}\r\r",
        b"data: {}\r\n\r\ndata: {}\n\n",
        b"data: {}\n\ndata: {}\r\n\r\n",
        b'data: {"a":\r1}\n\n',
        b'data: {"a":\r1}\r\n\r\n',
        b"event: e\ndata: {}\n\ndata: {}\n\n",
    ],
)
def test_a_stream_of_another_form_is_left_to_the_rules(stream: bytes):
    """Either there is no array, or it can't be decoded."""
    array = json_array([stream])

    if array is not None:
        with pytest.raises(ValueError):  # noqa: PT011 - whichever way it isn't JSON
            json.loads(array.content)


@pytest.mark.parametrize("end", [b"data: [DONE]\n\n", b"data:[DONE]\r\n\r\n", b"data: [DONE]\r\r"])
def test_the_end_is_seen_wherever_it_is_cut(end: bytes):
    stream = b'data: {"a": "[DONE]"}\n\n' + end
    for place in range(1, len(stream)):
        assert done_has_come([stream[:place], stream[place:]])
    assert done_has_come([bytes([byte]) for byte in stream])


@pytest.mark.parametrize("text", ["[DONE]", "data: [DONE]", "\\ndata: [DONE]\\n"])
def test_an_answer_may_speak_of_the_end(text: str):
    assert not done_has_come([b'data: {"a": "' + text.encode() + b'"}\n\n'])


def test_json_lines_need_no_last_end_and_may_have_empty_lines():
    reads = [b'{"a": 1}\r\n\r\n{"b"', b": 2}\n", b"3"]

    events = events_in(reads, JsonLinesReader())

    assert [(event.data, read) for event, read in events] == [(b'{"a": 1}', 0), (b'{"b": 2}', 1), (b"3", 2)]
    assert [event.data for event, _ in events_in(reads, JsonLinesReader(), ended=False)] == [
        b'{"a": 1}',
        b'{"b": 2}',
    ]


def test_a_long_line_in_a_drip_of_reads_is_put_together_once():
    """Were it put together at each read, this would copy 25 GB."""
    part = random.Random(1).randbytes(500).replace(b"\n", b" ").replace(b"\r", b" ")
    reads = [b"data: ", *[part] * 10_000, b"\n\n"]

    ((event, read),) = events_in(reads, ServerSentEvents())

    assert (len(event.data), read) == (5_000_000, 10_001)
