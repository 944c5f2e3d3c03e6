"""The pages of a review: what is sent is checked, kept at once, and comes from whoever has the token."""

from __future__ import annotations

import json
import random
import stat
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession, CookieJar, web

from replay.collecting.collect import collect
from replay.collecting.report import CollectSettings
from replay.collecting.review import (
    ReviewPages,
    apply_form,
    expectations_in,
    expectations_text,
    marked_pieces,
)
from replay.collecting.suite import Suite, read_replaced, replaced_path
from tests.collecting.logs import write_logs
from tests.data_tables import from_table

TOKEN = "a-token-for-tests"


@pytest.fixture(scope="module")
def collected(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("review")
    collect([write_logs(folder / "shop.jsonl")], folder / "suite", settings=CollectSettings(read=0))
    return folder


@pytest.fixture
def folder(collected, tmp_path) -> Path:
    """A suite of its own."""
    for path in (collected / "suite").iterdir():
        (tmp_path / "suite").mkdir(exist_ok=True)
        (tmp_path / "suite" / path.name).write_bytes(path.read_bytes())
    listed = replaced_path(tmp_path / "suite")
    listed.write_bytes(replaced_path(collected / "suite").read_bytes())
    return tmp_path / "suite"


@asynccontextmanager
async def reviewing(folder: Path, token: str | None = None):
    """A client of the review of *folder*, and its address."""
    pages = ReviewPages(Suite(folder), replaced_path(folder), token, random.Random(0))
    runner = web.AppRunner(pages.app(), access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as client:
            yield client, f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def send(folder: Path, id: str, **form: str) -> tuple[int, str, str]:
    """The status, address and text that come of sending *form*, whose names have ``_`` for ``-``."""
    fields = {name.replace("_", "-"): value for name, value in form.items()}
    async with (
        reviewing(folder) as (client, address),
        client.post(f"{address}/conversation/{id}", data=fields) as response,
    ):
        return response.status, response.url.path, await response.text()


def line(folder: Path, id: str) -> dict:
    lines = (folder / "conversations.jsonl").read_text("utf-8").splitlines()
    return next(json.loads(one) for one in lines if f'"id": "{id}"' in one)


async def test_the_list_and_a_conversation_show_what_was_replaced(folder):
    (value, *_) = read_replaced(replaced_path(folder))["c0002"][1]
    async with reviewing(folder) as (client, address):
        async with client.get(address) as response:
            assert "0 accepted, 0 dropped, 4 to look at" in await response.text()
        async with client.get(f"{address}/conversation/c0002") as response:
            text = await response.text()
            assert response.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert f'<mark title="name, was: {value.original}">{value.replacement}</mark>' in text
    assert "ann.lee@mail.example" in text


async def test_what_is_accepted_is_written_at_once_and_the_next_one_comes(folder):
    status, path, _ = await send(
        folder, "c0001", do="accept", key_2="on", expect_2="contains: Tuesday", answer_2="On Tuesday."
    )
    assert (status, path) == (200, "/conversation/c0002")
    kept = line(folder, "c0001")
    assert kept["metadata"]["review"] == "accepted"
    assert kept["metadata"]["key_turns"] == [2]
    assert kept["turns"][1]["expect"] == {"contains": "Tuesday"}
    assert kept["turns"][1]["gold_answers"] == ["On Tuesday."]


async def test_what_is_dropped_is_played_no_more_and_can_come_back(folder):
    await send(folder, "c0002", do="drop")
    assert '"c0002"' not in (folder / "conversations.jsonl").read_text("utf-8")
    await send(folder, "c0002", do="reopen")
    assert line(folder, "c0002")["turns"]
    assert (folder / "dropped.jsonl").read_text("utf-8") == ""


@from_table
async def test_what_cannot_be_is_said_and_nothing_is_saved(folder, form, said):
    before = (folder / "conversations.jsonl").read_bytes()
    status, _, text = await send(folder, "c0001", do="accept", answer_1="Other words.", **form)
    assert status == 422
    assert said in text
    assert "Other words." in text, "what was typed is still there"
    assert (folder / "conversations.jsonl").read_bytes() == before


async def test_an_expectation_is_checked_while_it_is_typed(folder):
    async with reviewing(folder) as (client, address):
        async with client.post(
            f"{address}/check", data={"expect": "contains: refund\nlatency_below_s: 2"}
        ) as response:
            assert await response.json() == {"problem": None, "checks": 2}
        async with client.post(f"{address}/check", data={"expect": "calls: {nmae: x}"}) as response:
            assert "nmae" in (await response.json())["problem"]


async def test_a_value_is_put_back_everywhere(folder):
    values = read_replaced(replaced_path(folder))["c0002"][1]
    await send(folder, "c0002", do="put-back:0")
    assert values[0].original in line(folder, "c0002")["turns"][0]["question"]
    assert read_replaced(replaced_path(folder))["c0002"][1] == values[1:]
    assert stat.S_IMODE(replaced_path(folder).stat().st_mode) == 0o600


async def test_what_is_left_is_replaced_everywhere(folder):
    _, _, text = await send(folder, "c0002", do="replace", leak="Leeds", kind="name")
    assert "replaced 1 times" in text
    assert "Leeds" not in json.dumps(line(folder, "c0002"))
    assert read_replaced(replaced_path(folder))["c0002"][1][-1].original == "Leeds"
    status, _, text = await send(folder, "c0002", do="replace", leak="Bergen", kind="name")
    assert (status, "stands nowhere in this conversation" in text) == (422, True)


async def test_nobody_gets_in_without_the_token_or_from_another_page(folder):
    async with reviewing(folder, TOKEN) as (client, address):
        async with client.get(address) as response:
            assert response.status == 401
        async with client.get(f"{address}/?token={TOKEN}") as response:
            assert (response.status, str(response.url)) == (200, f"{address}/")
        elsewhere = {"Origin": "https://evil.example"}
        async with client.post(
            f"{address}/conversation/c0001", data={"do": "drop"}, headers=elsewhere
        ) as response:
            assert response.status == 403
    assert line(folder, "c0001")


async def test_an_unknown_conversation_is_none(folder):
    assert (await send(folder, "c9999", do="drop"))[0] == 404


def test_another_question_is_one_message(folder):
    from msgspec.structs import replace

    from replay.core.message import Message

    talk = Suite(folder).entries()[0].conversation
    pieces = tuple(Message(role="user", text=text) for text in ("Hi.", "Where?"))
    asked = (Message(role="system", text="Be kind."), *pieces)
    turn = replace(talk.turns[0], question="Hi.\nWhere?", asked_with=asked)
    talk = replace(talk, turns=(turn, *talk.turns[1:]))
    assert apply_form(talk, {"question-1": "Hi.\r\nWhere?"}).conversation == talk
    edited = apply_form(talk, {"question-1": "Hi. Where is it?"}).conversation.turns[0]
    assert [one.role for one in edited.asked_with] == ["system"]


def test_expectations_come_back_as_they_were_typed():
    typed = 'contains: "refund"\nlatency_below_s: 2'
    assert expectations_text(expectations_in(typed)) == typed
    twice = '- {"contains": "a"}\n- {"contains": "b"}'
    assert expectations_text(expectations_in(twice)) == twice
    assert expectations_in("  ") == ()


def test_pieces_are_the_text():
    assert [piece.text for piece in marked_pieces("no values", [])] == ["no values"]
