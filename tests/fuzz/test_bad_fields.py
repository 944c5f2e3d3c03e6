"""
Every field that an adapter reads from a server, one after another given what no server should send.

Over a real socket, headers included: whatever is drawn, the ask ends with an answer or an error of ours, and
the record of either can be kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from replay import AdapterError, ChatReply
from tests.fuzz.field_server import ask, check, running
from tests.fuzz.inputs import DEEP
from tests.fuzz.services import SERVICES, Field, Literally, Service

KEY = "sk-q7Rt2vXw9LmZ4kBn8Ys3"

HUGE = Literally("1" + "0" * 400)
ABSURD: tuple[Any, ...] = (
    None, True, 0, -1, -0.0, 1.5, 2**63, 2**64, HUGE, Literally("-" + HUGE), Literally("1e400"),
    Literally("-1e400"),
    Literally("NaN"), Literally("9" * 5_000), "", " ", "0", "-1", "²", "٣", "1e400", "9" * 400, "9" * 5_000,
    "NaN",
    "\ud800", "\udc00\ud800", "a\nb", "a\r\nX-Evil: 1", "a\0b", "\x1b[2J\u202e", "x" * 70_000, "http://[",
    "http://[::1",
    "//", "ws://", "http://127.0.0.1:99999999/", "http://user:pw@127.0.0.1/", "http://\ud800/", "/\ud800",
    "?" * 300,
    [], {}, [[]], {"": ""}, [None], [5], ["a"], [{}], {"a": {"b": None}}, Literally("[" * DEEP + "]" * DEEP),
    Literally("[" * 900 + "]" * 900),
)  # fmt: skip
ABSURD_HEADERS: tuple[bytes, ...] = (
    b"", b"0", b"-1", b"1e400", b"NaN", b"9" * 400, b"9" * 5_000, b"\xc2\xb2", b"\xff\xfe", b"\xed\xa0\x80",
    b"http://[",
    b"Sun, 06 Nov 99999 08:49:37 GMT", b"Sun, 06 Nov 99999999999999999999 08:49:37 GMT",
    b"Sun, 06 Nov 0001 08:49:37 +2359", b"Mon, 01 Jan 0001 00:00:00 -2359",
    b"Fri, 31 Dec 9999 23:59:59 -2359",
    b"Sun, 06 Nov 1994 08:49:37 +99999999", b"Sun, 06 Nov 1994 08:49:" + b"9" * 30 + b" GMT",
    b"a=b; Max-Age=" + b"9" * 400, b"a=b; Expires=Sun, 06 Nov 99999 08:49:37 GMT", b'a="\\777"; Path=\xff',
    b"=;;",
    b"text/plain; charset=rot13", b"text/plain; charset=undefined", b"text/plain; charset=punycode",
    b"text/plain; charset=unicode_escape", b"text/plain; charset*=x'y'%FF", b"text/plain; charset=\xff",
    b"http://127.0.0.1:99999999/", b"//", b"/\xff", b"?", b"\t", b"x" * 7_000,
)  # fmt: skip
HEADERS = (
    "Retry-After", "Date", "Location", "Set-Cookie", "Content-Type", "x-litellm-response-cost",
    "x-ratelimit-reset",
    "Content-Encoding", "Link", "Keep-Alive", "Content-Length",
)  # fmt: skip
STATUSES = (
    "200 OK",
    "200 OK",
    "202 Accepted",
    "302 Found",
    "400 No",
    "401 No",
    "429 Busy",
    "503 Down",
    "999 ?",
)


def fields_in(value: Any, path: Field) -> Iterator[Field]:
    """Where in *value* something stands."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from fields_in(item, (*path, str(key)))


def all_fields(service: Service) -> list[Field]:
    found: list[Field] = []
    for where, value in service.replies.items():
        found += fields_in(value, (where, "json"))
        found += [(where, "header", name) for name in HEADERS]
    return found


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    monkeypatch.setenv("BOT_ID", "bot-12345")
    monkeypatch.setenv("BOT_SECRET", KEY)


@pytest.mark.parametrize("name", SERVICES)
def test_whatever_stands_in_a_field_of_a_reply_the_ask_has_an_outcome(name):
    service = SERVICES[name]
    values = st.sampled_from(ABSURD) | st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=5,
    )
    headers = st.sampled_from(ABSURD_HEADERS)
    one = st.sampled_from(all_fields(service)).flatmap(
        lambda path: st.tuples(st.just(path), headers if path[1] == "header" else values)
    )
    statuses = st.tuples(
        st.sampled_from([(where, "status") for where in service.replies]), st.sampled_from(STATUSES)
    )
    with asyncio.Runner() as runner:
        context = running(service)
        served = runner.run(context.__aenter__())
        try:
            good = runner.run(ask(served))
            assert isinstance(good, AdapterError if service.fails else ChatReply), good

            @settings(derandomize=True, max_examples=settings.default.max_examples // 2)
            @given(st.lists(one, min_size=1, max_size=2), st.lists(statuses, max_size=1))
            def tried(drawn, status):
                served.wrong = dict([*drawn, *status])
                check(runner.run(ask(served)))

            tried()
        finally:
            runner.run(context.__aexit__(None, None, None))
