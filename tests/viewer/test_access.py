"""Whoever isn't meant to see a run: other users of the machine, pages elsewhere, and odd requests."""

from __future__ import annotations

import asyncio
import re
from http.cookies import SimpleCookie
from urllib.parse import quote, urlsplit

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from yarl import URL

from replay.web.access import bearer, is_own_name, is_token, token_from
from tests.cli.command import replay_cli
from tests.data_tables import from_table
from tests.viewer.conftest import viewing


@pytest.fixture(scope="module")
def link(quickstart, tmp_path_factory):
    """What `replay view` prints."""
    with viewing(str(quickstart), cwd=tmp_path_factory.mktemp("door"), asks=True) as link:
        yield link


def parts(link: str) -> tuple[str, str]:
    address, _, token = link.partition("?token=")
    return address, token


async def status(http, url, **request) -> int:
    async with http.get(url, allow_redirects=False, **request) as answer:
        if answer.status in (401, 421):
            assert "quickstart" not in await answer.text()
        return answer.status


@pytest.mark.parametrize("page", ["", "run/{}/state", "none"])
async def test_without_the_token_there_is_nothing_to_be_seen(http, link, quickstart, page):
    address, token = parts(link)
    url = address + page.format(quickstart.name)
    assert len(token) >= 40
    wrong = token[:-1] + ("A" if token[-1] != "A" else "B")
    port = urlsplit(address).port
    for headers in (
        {},
        {"Authorization": f"Bearer {wrong}"},
        {"Authorization": f"Basic {token}"},
        {"Cookie": f"replay-view-{port}={wrong}"},
        {"Cookie": f"replay-view-{port + 1}={token}"},
        {"X-Forwarded-For": "127.0.0.1", "X-Forwarded-User": "root", "X-Real-Ip": "127.0.0.1"},
    ):
        assert await status(http, url, headers=headers) == 401, headers
    for given_token in ("", wrong, token[:-1], token + "x", "%C2%B2", "%ff"):
        assert await status(http, URL(f"{url}?token={given_token}", encoded=True)) == 401


async def test_the_link_puts_its_token_into_a_cookie_and_out_of_the_address(http, link, quickstart):
    address, token = parts(link)
    url = f"{address}run/{quickstart.name}/conversations?q=b%26c&page=2&token={token}"
    async with http.get(URL(url, encoded=True), allow_redirects=False) as answer:
        assert answer.status == 303
        assert answer.headers["Location"] == f"/run/{quickstart.name}/conversations?q=b%26c&page=2"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cache-Control"] == "no-store"
        (cookie,) = SimpleCookie(answer.headers["Set-Cookie"]).values()
    assert (cookie["httponly"], cookie["samesite"], cookie["path"], cookie["domain"]) == (
        True,
        "Lax",
        "/",
        "",
    )
    assert await status(http, address, headers={"Cookie": f"{cookie.key}={cookie.value}"}) == 200
    assert await status(http, address, headers={"Authorization": f"Bearer {token}"}) == 200


@pytest.mark.parametrize("path", ["//evil.example/", "/\\evil.example/", "///evil.example"])
async def test_the_link_leads_to_this_server_only(link, path):
    address, token = parts(link)
    answer = await raw(
        address, f"GET {path}?token={token} HTTP/1.1\r\nHost: {urlsplit(address).netloc}\r\n\r\n"
    )
    location = re.search(r"\r\nLocation: (\S+)", answer)
    assert location is None or re.match(r"/(?![/\\])", location[1])
    assert answer.startswith(("HTTP/1.1 303", "HTTP/1.1 400"))


async def raw(address: str, request: str) -> str:
    """What comes back on a plain socket, up to the end of the headers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(address).port)
    writer.write(request.encode("latin-1"))
    try:
        return (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    finally:
        writer.close()


@pytest.mark.parametrize("header", ["X-Forwarded-Host", "Forwarded", "X-Original-Host"])
async def test_what_a_proxy_says_of_names_is_not_believed(http, link, header):
    address, token = parts(link)
    own = urlsplit(address).netloc
    said = f"host={own}" if header == "Forwarded" else own
    headers = {"Authorization": f"Bearer {token}", "Host": "evil.example", header: said}
    assert await status(http, address, headers=headers) == 421
    headers |= {"Host": own, header: "evil.example"}
    assert await status(http, address, headers=headers) == 200


queries = st.lists(
    st.tuples(
        st.sampled_from(
            ["page", "q", "sort", "system", "policy", "only", "id", "run", "numbers", "token", "x"]
        ),
        st.one_of(
            st.sampled_from(
                ["²", "٣", "-1", "0", "9" * 5000, "9" * 20, "1e9", "\x00", "assertion-²", "%", "\ud800"]
            ),
            st.text(max_size=8),
        ).map(lambda text: quote(text.encode("utf-8", "surrogatepass")))
        | st.binary(max_size=6).map(lambda data: "".join(f"%{byte:02x}" for byte in data)),
    ),
    max_size=4,
).map(lambda pairs: "&".join(f"{name}={value}" for name, value in pairs))


@pytest.mark.parametrize("page", ["", "compare", "run/{}/", "run/{}/depth", "run/{}/gold", "run/{}/load",
                                  "run/{}/conversations", "run/{}/conversation", "run/{}/state"])  # fmt: skip
def test_no_query_is_a_fault_of_the_viewer(viewer, quickstart, page):
    url = viewer + page.format(quickstart.name)

    async def look(queries: list[str]) -> dict[str, int]:
        async with aiohttp.ClientSession() as http:
            return {query: await status(http, URL(f"{url}?{query}", encoded=True)) for query in queries}

    @settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(queries, min_size=5, max_size=5))
    def looked(some: list[str]) -> None:
        found = asyncio.run(look([*some, "page=%C2%B2"]))
        assert set(found.values()) <= {200, 400, 404}, found

    looked()


def test_no_token_says_what_that_means(tmp_path):
    ended = replay_cli("view", "--no-token", "--host", "0.0.0.0", cwd=tmp_path)
    assert "no token: every user and every program of this machine can read" in ended.stderr
    ended = replay_cli("view", "--no-token", "--token-env", "T", cwd=tmp_path)
    assert ended.returncode == 2
    assert "don't go together" in ended.stderr


@pytest.mark.parametrize(
    "value", ["", "   ", "short", "fifteen-letters", "with a space in it", "zwölf-und-noch-vier"]
)
def test_a_token_of_ones_own_is_none_that_is_guessed_or_cannot_be_sent(monkeypatch, value):
    monkeypatch.setenv("T", value)
    with pytest.raises(Exception, match=r"--token-env: .*export T=\$\(openssl rand"):
        token_from("T")


def test_a_token_of_ones_own_is_not_shown(quickstart, tmp_path, monkeypatch):
    monkeypatch.setenv("VIEW_TOKEN", "0123456789abcdef")
    with viewing(str(quickstart), "--token-env", "VIEW_TOKEN", cwd=tmp_path, asks=True) as link:
        address, shown = parts(link)
        assert shown == "$VIEW_TOKEN"

        async def look() -> list[int]:
            async with aiohttp.ClientSession() as http:
                tokens = (shown, "0123456789abcdef")
                return [await status(http, f"{address}?token={token}") for token in tokens]

        assert asyncio.run(look()) == [401, 303]


def test_tokens_are_compared_whole():
    assert is_token("abc", "abc")
    for given_token in (None, "", "ab", "abcd", "ab²", "\udcff"):
        assert not is_token(given_token, "abc")
    assert bearer("Bearer abc") == bearer("bearer  abc ") == "abc"
    assert bearer(None) is bearer("abc") is bearer("Basic abc") is None


@from_table
def test_a_server_answers_to_its_own_names(host, own):
    assert is_own_name(host, ("127.0.0.1", 8080), {"box"}) == own


def test_a_server_that_others_reach_has_addresses_in_numbers():
    """No page elsewhere is called by one, so none can be pointed at it."""
    for host, own in (("10.0.0.1:80", True), ("[fe80::1]:80", True), ("evil.example:80", False)):
        assert is_own_name(host, ("10.0.0.1", 80)) == own
