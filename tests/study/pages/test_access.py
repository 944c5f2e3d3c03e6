"""Who gets in, and what odd requests come to; over real sockets."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager

import pytest
from aiohttp import ClientSession, CookieJar, web

from replay.study.pages.access import Access
from replay.web.access import MOST_KEYS, RequestRateLimit
from tests.study.serving import Browser, begun, served
from tests.waiting import PATIENCE_S

FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def database(quick_run, tmp_path):
    """Of a study in which Ann and Ben rate three answers."""
    text = f"name: check\npreset: {{rating: {{answers: 3}}}}\nruns: ['{quick_run}']\nraters: [Ann, Ben]\n"
    return begun(text, tmp_path)


# Links and cookies ---------------------------------------------------------------------------------------


async def test_a_link_s_token_leaves_the_address_and_opens_its_own_part_only(database):
    async with served(database) as study, ClientSession() as client:
        async with client.get(study.rater_link(1), allow_redirects=False) as response:
            cookie = response.headers["Set-Cookie"]
            assert response.headers["Location"] == "/rate"
        assert "HttpOnly" in cookie
        assert "SameSite=Lax" in cookie
        assert "Path=/rate" in cookie
        assert "Secure" not in cookie

        async with client.get(study.owner_link, allow_redirects=False) as response:
            assert "Path=/owner" in response.headers["Set-Cookie"]
        for wrong in (study.rater_link(1).replace("/rate", "/owner"), study.rater_link(1) + "x"):
            async with client.get(wrong) as response:
                assert response.status == 401


NO_TOKENS = ["", "1-", "1", "-", "١-" + "x" * 43, "0-" + "x" * 43, "9" * 5000, "\0"]


async def test_no_token_that_nobody_was_given_opens_anything(database):
    async with served(database) as study, ClientSession() as client:
        study.pages.access._wrong_links = RequestRateLimit(at_once=1000, per_s=1)
        for token in NO_TOKENS:
            for asked in ({"params": {"token": token}}, {"headers": {"Cookie": f"a={token[:99]!r}"}}):
                for part in ("rate", "owner"):
                    async with client.get(f"{study.address}/{part}", **asked) as response:
                        assert response.status == 401, await response.text()
        token = study.pages.access.rater_token(1)
        assert study.pages.access.rater_of(token).name == "Ann"
        assert study.pages.access.rater_of("2" + token[1:]) is None, "with another's number"
        assert study.pages.access.rater_of(study.pages.access.rater_token(3)) is None


async def test_a_rater_s_page_holds_no_token_and_no_other_rater(database):
    async with served(database) as study, study.at_work(1) as browser:
        for token in (study.pages.access.rater_token(1), study.pages.access.owner_token):
            assert token not in browser.html
        assert "Ben" not in browser.text
        async with browser.client.get(f"{study.address}/rate") as response:
            assert response.headers["Referrer-Policy"] == "same-origin"
            assert response.headers["Cache-Control"] == "no-store"


# Forms ---------------------------------------------------------------------------------------------------


async def test_another_s_assignment_stays_as_it_is_and_one_that_is_none_does_nothing(database):
    async with served(database) as study, study.at_work(1) as browser, study.at_work(2) as other:
        theirs = other.form("/rate/answer")["assignment"]
        form = {**browser.form("/rate/answer"), "rating": "1"}
        assert theirs != form["assignment"]
        for number in (theirs, "", "x", "-1", "1.0", "١", "9" * 40, "\0", "1 OR 1"):
            await browser.post("/rate/answer", {**form, "assignment": number})
            assert (browser.status, browser.heading) == (409, "Not saved"), number
        assert not study.store.judgements()


STRANGE = [
    ({"form_token": ""}, 403),
    ({"form_token": "x" * 43}, 403),
    ({"click": ""}, 400),
    ({"click": "x" * 65}, 400),
    ({"step": "\0"}, 409),
    ({"rating": "\0"}, 422),
    ({"rating": "x" * 200_000}, 422),
    ({"rating": "x" * 300_000}, 413),
]


async def test_a_form_that_our_pages_do_not_send_keeps_nothing(database):
    async with served(database) as study, study.at_work(1) as browser:
        form = {**browser.form("/rate/answer"), "rating": "1"}
        for number, (changed, status) in enumerate(STRANGE):
            await browser.post("/rate/answer", {**form, "click": f"click-{number}", **changed})
            assert browser.status == status, changed
        assert not study.store.judgements()


async def test_what_cannot_be_a_form_is_refused_in_words(database):
    async with served(database) as study, study.at_work(1) as browser:
        token = browser.form("/rate/answer")["form_token"]
        for kind, body, status in (
            ("application/json", b'{"form_token": ["x"]}', 415),
            ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="a"', 415),
            (FORM, b"\xff\xfe=1", 400),
            (f"{FORM}; charset=klingon", f"form_token={token}".encode(), 400),
            (FORM, b"", 403),
            (FORM, b"&".join([b"form_token=x"] * 1000), 403),
        ):
            sent = browser.client.post(
                f"{study.address}/rate/answer", data=body, headers={"Content-Type": kind}
            )
            async with sent as response:
                assert response.status == status, (kind, await response.text())
                assert "<h2>" in await response.text()
        assert not study.store.judgements()


async def test_a_comment_of_any_characters_is_kept_and_shown_harmless(database):
    comment = "<script>alert(1)</script> \0 \u202e 👩‍👩‍👧 \ud800".encode("utf-8", "replace").decode()
    async with served(database) as study, study.at_work(1) as browser:
        await browser.send("/rate/answer", {"rating": "1", "comment": comment})
        assert browser.status == 200
        (kept,) = study.store.judgements().values()
        assert kept["rate"].comment == comment


# Where requests come from --------------------------------------------------------------------------------


async def test_a_page_is_only_looked_at(database):
    """A HEAD or a preview must not give a task."""
    async with served(database) as study, study.at_work(1) as browser:
        for method in ("HEAD", "OPTIONS", "PUT", "DELETE", "TRACE", "POST", "PROPFIND"):
            async with browser.client.request(method, f"{study.address}/rate") as response:
                assert (response.status, response.headers["Allow"]) == (405, "GET"), method


async def test_other_names_and_other_sites_pages_are_sent_away(database):
    async with served(database) as study, study.at_work(1) as browser:
        form = {**browser.form("/rate/answer"), "rating": "1"}
        for headers, status in (
            ({"Host": "evil.example"}, 421),
            ({"Host": "127.0.0.1:1"}, 421),
            ({"Origin": "https://evil.example"}, 403),
            ({"Origin": "null"}, 403),
            ({"Origin": "http://127.0.0.1@evil.example"}, 403),
        ):
            sent = browser.client.post(f"{study.address}/rate/answer", data=form, headers=headers)
            async with sent as response:
                assert response.status == status, headers
        assert not study.store.judgements()


# How often -----------------------------------------------------------------------------------------------


def test_so_much_at_once_and_then_evenly():
    now = 0.0
    limit = RequestRateLimit(at_once=3, per_s=2, clock=lambda: now)
    assert [limit.wait_s("a") for _ in range(4)] == [0, 0, 0, 0.5]
    assert limit.wait_s("b") == 0
    now = 0.5
    assert [limit.wait_s("a") for _ in range(2)] == [0, 0.5]
    now = 100.0
    assert [limit.wait_s("a") for _ in range(4)] == [0, 0, 0, 0.5]


def test_ever_new_addresses_fill_no_memory():
    limit = RequestRateLimit(at_once=1, per_s=1, clock=lambda: 0.0)
    for number in range(MOST_KEYS + 10):
        limit.wait_s(str(number))
    assert len(limit._over_at) <= MOST_KEYS


async def test_whoever_tries_links_has_to_wait_and_nobody_else_has(database):
    """Behind a proxy all come from one address."""
    async with served(database) as study, study.at_work(1) as browser, ClientSession() as client:
        statuses = []
        for _ in range(25):
            async with client.get(f"{study.address}/rate", params={"token": "x"}) as response:
                statuses.append(response.status)
                told = response.headers.get("Retry-After")
        assert statuses == [401] * 20 + [429] * 5
        assert 1 <= int(told) <= 6
        await browser.send("/rate/answer", {"rating": "1"})
        assert browser.status == 200


async def test_a_rater_who_never_stops_has_to_wait(database, monkeypatch):
    async with served(database) as study, study.at_work(1) as browser:
        monkeypatch.setattr(
            study.pages.access, "_work", RequestRateLimit(at_once=2, per_s=1, clock=lambda: 0.0)
        )
        for status in (200, 200, 429):
            await browser.open("/rate/1/rate")
            assert browser.status == status
        assert "try again in 1 s, nothing is lost" in browser.html


def test_no_token_is_a_part_of_another():
    class Store:
        def fact(self, key):
            return "00" * 32 if key == "secret" else None

    access = Access(Store())
    tokens = [access.owner_token, *(access.rater_token(number) for number in range(1, 30))]
    assert len({re.sub("^[0-9]+-", "", one) for one in tokens}) == len(tokens)


# Behind another server -----------------------------------------------------------------------------------


@asynccontextmanager
async def proxied(below: str, to: str):
    """A reverse proxy that passes on what is asked of it below a path, and nothing else; its address."""

    async def pass_on(request: web.Request) -> web.Response:
        headers = {key: value for key, value in request.headers.items() if key != "Transfer-Encoding"}
        async with (
            ClientSession(auto_decompress=False) as client,
            client.request(
                request.method, to + request.raw_path, headers=headers, data=await request.read(),
                allow_redirects=False,
            ) as answer,
        ):  # fmt: skip
            return web.Response(status=answer.status, headers=answer.headers, body=await answer.read())

    app = web.Application()
    app.router.add_route("*", below + "/{rest:.*}", pass_on)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def test_a_study_below_a_path_behind_a_proxy_works_from_link_to_end(database):
    """Every link, form and redirect stays below the path; the proxy answers 404 to all else."""
    root = "/labs/a-1"
    async with (
        served(database, root=root, names=["127.0.0.1"]) as study,
        proxied(root, study.address) as front,
        ClientSession(cookie_jar=CookieJar(unsafe=True), headers={"Origin": front}) as client,
    ):
        browser = Browser(client, front)
        await browser.open(f"{root}/rate?token={study.pages.access.rater_token(1)}")
        await browser.send(f"{root}/rate/begin")
        for address in re.findall(r'(?:href|src|action)="(.*?)"', browser.html):
            assert address.startswith((root + "/", "#", "data:")), address
        for asset in re.findall(r'(?:href|src)="(.*?/static/.*?)"', browser.html):
            async with client.get(front + asset) as response:
                assert response.status == 200
        for _ in range(3):
            await browser.send(f"{root}/rate/answer", {"rating": "1"})
        assert browser.heading == "Done"
        assert {cookie["path"] for cookie in client.cookie_jar} == {f"{root}/rate"}

        await browser.open(f"{root}/owner?token={study.pages.access.owner_token}")
        assert f"{front}{root}/rate?token={study.pages.access.rater_token(2)}" in browser.html


async def test_with_https_before_it_cookies_are_sent_by_nothing_else(database):
    async with (
        served(database, origin="https://lab.example.org") as study,
        ClientSession() as client,
        client.get(study.owner_link, allow_redirects=False) as response,
    ):
        assert "Secure" in response.headers["Set-Cookie"]


async def test_whoever_sends_a_form_too_slowly_is_told(database, monkeypatch):
    monkeypatch.setattr("replay.web.app.BODY_WITHIN_S", 0.05)
    async with served(database) as study, study.at_work(1) as browser, asyncio.timeout(PATIENCE_S):
        never = asyncio.Event()

        async def slow():
            yield b"rating="
            await never.wait()

        headers = {"Content-Type": FORM, "Content-Length": "99"}
        async with browser.client.post(f"{study.address}/rate/answer", data=slow(), headers=headers) as sent:
            assert sent.status == 408
