"""
A key is found however it is spelled, and nothing else is touched.

Keys that a system repeats: hidden in what comes in and in what a program logs.
"""

from __future__ import annotations

import json
import re
import traceback
from html import escape
from urllib.parse import quote, quote_plus

import pytest
from aiohttp import web
from hypothesis import assume, given, strategies as st

from replay import ChatRequest, Conversation
from replay.core.errors import AdapterConnectionError, AdapterCutOffError, AdapterError
from replay.core.safety import redaction
from replay.core.safety.redaction import keep_secret, redact, redact_error, redact_pieces
from replay_adapters.http.adapter import HttpAdapter
from replay_adapters.http.polling import Poll
from replay_adapters.http.reply import EXAMINED
from replay_adapters.http.websocket import WebSocketAdapter
from tests.adapters.servers import answering, delta, event, playing

KEY = "k7/q-Zq9+8Xw2=Lm4&Kb<%21>"
PHRASE = "correct horse 4711 battery"


def percent(sign: str) -> str:
    return "".join(f"%{byte:02x}" for byte in sign.encode())


def in_json(sign: str) -> str:
    units = sign.encode("utf-16-be").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


ONE_SIGN = {
    "as it is": lambda sign: sign,
    "percent": percent,
    "PERCENT": lambda sign: percent(sign).upper(),
    "json": in_json,
    "JSON": lambda sign: in_json(sign).upper().replace("U", "u"),
    "decimal": lambda sign: f"&#{ord(sign)};",
    "zeros": lambda sign: f"&#00{ord(sign)};",
    "hexadecimal": lambda sign: f"&#x{ord(sign):X};",
    "named": escape,
    "backslash": lambda sign: f"\\{sign}" if sign == "/" else sign,
}
"""Ways to write one sign."""

KEYS = st.text(st.sampled_from("ab9XZ/+=&<%_-.~:äß😀"), min_size=8, max_size=40)


@given(KEYS, st.lists(st.sampled_from(sorted(ONE_SIGN)), min_size=40, max_size=40), st.text("uvw ,!"))
def test_each_sign_may_be_spelled_in_another_way(key, ways, around):
    assume(not key.isalpha() and "".join(key.split()) == key)
    redaction._known = redaction.SecretMatcher(())
    keep_secret(key)
    spelled = "".join(
        sign if sign.isascii() and sign.isalnum() else ONE_SIGN[way](sign)
        for sign, way in zip(key, ways, strict=False)
    )
    assert redact(f"{around}{spelled}{around}") == f"{around}***{around}"


@pytest.mark.parametrize("key", [KEY, PHRASE, "päss&lt;wörd 😀12", "C:\\keys\\a%41b", "%25%32%35-4711-%25x"])
@pytest.mark.parametrize(
    "spell",
    [
        str,
        quote,
        quote_plus,
        lambda key: re.sub("%..", lambda escape: escape[0].lower(), quote(key, safe="")),
        json.dumps,
        lambda key: json.dumps(json.dumps(key, ensure_ascii=False)),
        lambda key: json.dumps(key).replace("/", "\\/"),
        escape,
        lambda key: json.dumps(
            "".join(sign if sign.isascii() and sign.isalnum() else in_json(sign) for sign in key)
        ),
    ],
)
def test_a_key_is_found_as_programs_spell_it(key, spell):
    keep_secret(key)
    spelled = spell(key)
    plain = spelled.strip('"') if spelled not in key else spelled
    shown = redact(f"It is {spelled}, says the server")
    assert "***" in shown, spelled
    for length in range(6, len(plain)):
        assert plain[:length] not in shown
        assert plain[-length:] not in shown


@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_a_text_without_a_key_stays_as_it_is(text):
    redaction._known = redaction.SecretMatcher(())
    keep_secret(KEY)
    assert redact(text) == text
    assert redact_pieces(text) == text


@pytest.mark.parametrize(
    "text", ["100 % & more", "a\\nb\\u00e9 %E4 &auml; &lt;b&gt; %2541", "a+b\\\\c", "&#99999999;"]
)
def test_escapes_around_a_key_are_left_as_they_were(text):
    keep_secret(KEY)
    assert redact(f"{text}|{quote(KEY)}|{text}") == f"{text}|***|{text}"


def test_backslashes_before_a_key_go_with_it_so_that_json_stays_json():
    keep_secret("/k-4711-abc")
    assert json.loads(redact('{"a": "\\/k-4711-abc"}')) == {"a": "***"}


def test_a_key_that_comes_to_spaces_alone_hides_no_spaces():
    keep_secret("%20" * 9)
    assert redact("a" + " " * 9 + "b") == "a" + " " * 9 + "b"


@pytest.mark.parametrize("spell", [str, quote, lambda key: json.dumps(json.dumps(key))[3:-3]])
def test_half_a_key_at_the_end_of_what_was_cut_off_is_hidden(spell):
    keep_secret(KEY)
    spelled = spell(KEY)
    for length in range(len(spell(KEY[:9])), len(spelled)):
        assert redact(f"So: {spelled[:length]}", cut=True) == "So: ***"
    assert redact("So: k7/q", cut=True) == "So: k7/q"


def test_a_message_is_looked_through_before_it_is_cut():
    keep_secret(KEY)
    for length in range(560, 620):  # a key across the place where a long message loses its middle
        error = AdapterConnectionError("x" * length + KEY + "y" * 2000)
        redact_error(error)
        assert len(str(error)) < 1000
        assert not any(KEY[:8] in part for part in str(error).split("x"))


def test_a_partial_answer_that_ends_in_a_key_shows_no_half_of_it():
    keep_secret(KEY)
    error = AdapterCutOffError("cut", partial=f"Your key is {KEY[:15]}")
    redact_error(error)
    assert error.partial == "Your key is ***"


# In pieces ------------------------------------------------------------------------------------------------


@given(st.integers(1, len(KEY) - 1), st.integers(1, len(KEY) - 1), st.sampled_from(["\n", "\r\n"]))
def test_a_key_in_pieces_of_a_stream_is_in_none_of_them(first, second, end):
    redaction._known = redaction.SecretMatcher(())
    keep_secret(KEY)
    first, second = sorted((first, second))
    pieces = ["It is ", KEY[:first], KEY[first:second], KEY[second:], " and no other."]
    raw = b"".join(delta(piece) for piece in pieces).decode().replace("\n", end) + "data: [DONE]"
    shown = redact_pieces(raw)
    events = [json.loads(line[6:]) for line in shown.splitlines() if line.startswith("data: {")]
    text = "".join(one["choices"][0]["delta"]["content"] for one in events)
    assert text.replace("***", "") == "It is  and no other."
    assert [set(one) for one in events] == [{"object", "choices"}] * 5
    assert shown.endswith("data: [DONE]")


def test_a_key_in_pieces_that_are_no_json_is_in_none_of_them():
    keep_secret(KEY)
    raw = "".join(event(piece).decode() for piece in ("It is ", KEY[:9], KEY[9:], "!"))
    assert redact_pieces(raw) == "".join(event(piece).decode() for piece in ("It is ", "***", "***", "!"))


DRAWN = "q7Rt2vXw9LmZ4kBn8Ys3"


def test_a_secret_is_hidden_as_it_is_and_as_addresses_and_json_write_it():
    keep_secret('Bearer a/b+c="12345')
    for form in ('a/b+c="12345', "a%2Fb%2Bc%3D%2212345", json.dumps('a/b+c="12345'), 'a\\/b+c=\\"12345'):
        assert "12345" not in redact(f"<{form}>"), form


def test_words_that_an_answer_may_well_hold_are_left():
    keep_secret("english")
    keep_secret("Bearer swordfish")
    assert redact("An english swordfish, said the bearer.") == "An english swordfish, said the bearer."


def test_a_part_of_an_address_that_looks_drawn_by_lot_is_hidden_by_itself():
    keep_secret(f"services/T0/{DRAWN}?sig={DRAWN[::-1]}&v=english")
    assert redact(f"{DRAWN[::-1]}, {DRAWN} and english") == "***, *** and english"


async def test_a_jobs_reason_is_looked_through_before_it_is_cut():
    keep_secret(DRAWN)

    async def handler(request: web.Request) -> web.StreamResponse:
        return web.json_response({"done": False, "why": "x" * 190 + DRAWN})

    poll = Poll(until="done", failed="why", url="http://127.0.0.1:1")
    async with answering(handler) as address, HttpAdapter(url=address, answer="a", poll=poll) as adapter:
        assert DRAWN[:8] not in await failure(adapter)


async def test_half_a_key_where_the_look_at_a_reply_ends_is_not_shown():
    keep_secret(DRAWN)

    async def handler(request: web.Request) -> web.StreamResponse:
        return web.Response(text=" " * (EXAMINED - 10) + DRAWN, status=400)

    async with answering(handler) as address, HttpAdapter(url=address, answer="a") as adapter:
        assert DRAWN[:8] not in await failure(adapter)


async def test_an_address_with_a_key_is_in_no_traceback_where_the_reply_is_not_http(monkeypatch):
    monkeypatch.setenv("BOT_KEY", DRAWN)
    async with (
        playing(b"no HTTP at all\r\n\r\n") as address,
        HttpAdapter(url=f"{address}/${{BOT_KEY}}", answer="a") as adapter,
    ):
        assert DRAWN not in await failure(adapter)


async def test_half_a_key_at_the_end_of_a_close_reason_is_not_shown():
    keep_secret(DRAWN)

    async def handler(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.close(code=4001, message=("x " * 55 + DRAWN).encode()[:123])
        return socket

    async with answering(handler) as address:
        url = address.replace("http", "ws")
        async with WebSocketAdapter(url=url, send="{{question}}", answer="a") as adapter:
            assert "x x ***)" in await failure(adapter)


async def failure(adapter: HttpAdapter | WebSocketAdapter) -> str:
    """What a program logs that asks *adapter* and gets an error."""
    async with adapter.session(Conversation(id="c", turns=())) as session:
        with pytest.raises(AdapterError) as caught:
            await session.ask(ChatRequest(question="Who?", history=(), depth=1))
    return "".join(traceback.format_exception(caught.value))


def test_an_errors_message_and_partial_answer_hold_no_secret():
    keep_secret(DRAWN)
    error = AdapterCutOffError(f"cut: {DRAWN}", partial=f"your key is {DRAWN}")
    redact_error(error)
    assert (str(error), error.partial) == ("cut: ***", "your key is ***")
