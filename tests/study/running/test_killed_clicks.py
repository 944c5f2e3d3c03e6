"""A server that is killed in the middle of clicks, at drawn moments, and started again."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
from contextlib import closing, suppress

import pytest
from aiohttp import ClientError, ClientSession, CookieJar

from tests.study.process import study_process
from tests.study.serving import Browser

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")

TURNS_OF_A_CLICK = 250
"""Of this process's event loop, about: from the first byte of a form to the next page."""


def kept(folder):
    """The ids of clicks, and how often each assignment was answered."""
    with closing(sqlite3.connect(folder / "study.db")) as connection:
        clicks = [click for (click,) in connection.execute("SELECT click FROM judgement ORDER BY id")]
        states = connection.execute(
            "SELECT state, (SELECT count(*) FROM judgement WHERE assignment = assignment.id) FROM assignment"
        ).fetchall()
    return clicks, states


async def test_a_server_killed_in_the_middle_of_clicks_loses_and_doubles_none(quick_run, tmp_path, long):
    """The browser sends each form again that was not confirmed, as people do who load a page anew."""
    kills, drawn = 18 if long else 1, random.Random(5)
    sent, confirmed = [], 0
    text = f"name: check\npreset: {{rating: {{answers: 9}}}}\nruns: ['{quick_run}']\nraters: 2\n"
    async with study_process(text, tmp_path) as study:
        await study.start()
        for number in range(kills):
            link = study.links[f"rater-{number // 9 + 1}"]
            async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as client:
                browser = Browser(client, study.address)
                await browser.open(link)
                if number % 9 == 0:
                    await browser.send("/rate/begin")
                form = {**browser.form("/rate/answer"), "rating": str(number % 2)}
                sent.append(form["click"])
                sending = asyncio.create_task(browser.post("/rate/answer", form))
                for _ in range(drawn.randrange(TURNS_OF_A_CLICK)):
                    await asyncio.sleep(0)
                await study.kill()
                was_confirmed = False
                with suppress(ClientError):
                    await sending
                    was_confirmed = True
                confirmed += was_confirmed
                clicks, _ = kept(tmp_path)
                assert clicks in (sent, sent[:-1])
                assert clicks == sent or not was_confirmed, "what was confirmed is there"

                await study.start()
                await browser.post("/rate/answer", form)
                assert browser.status == 200
                clicks, states = kept(tmp_path)
                assert clicks == sent
                assert [one for one in states if one[0] == "done"] == [("done", 1)] * len(sent)
                assert all(count == 0 for state, count in states if state == "open")
        assert await study.end() == 130
