"""Access tokens by client credentials: one for all conversations, renewed in time, and never shown."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from replay import AdapterConnectionError, AdapterRefusedError, ScenarioError
from replay.core.safety.redaction import redact
from replay.core.settings.plugins import build
from replay_adapters.http.adapter import HttpAdapter
from replay_adapters.http.oauth2 import AccessTokens, ClientCredentials
from tests.adapters.asking import EMPTY, FIRST
from tests.adapters.servers import answering, unused_address
from tests.data_tables import from_table

SECRET = "very:secret/4711 +x"


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_ID", "bot-12345")
    monkeypatch.setenv("BOT_SECRET", SECRET)


class Guarded:
    """A token endpoint, and a service that wants one of its tokens."""

    def __init__(self, **token: Any) -> None:
        self.fields = {"token_type": "Bearer", "expires_in": 3600} | token
        self.asked: list[tuple[str | None, dict[str, Any]]] = []
        self.valid: set[str] = set()
        self.answered = 0
        self.takes_none = False
        self.refusal: web.Response | None = None

    async def handle(self, request: web.Request) -> web.Response:
        if request.path == "/token":
            form = dict(await request.post())
            self.asked.append((request.headers.get("Authorization"), form))
            await asyncio.sleep(0)  # so that others would come in between
            if self.refusal is not None:
                return self.refusal
            token = f"token-4f1d-{len(self.asked)}"
            self.valid.add(f"Bearer {token}")
            return web.json_response(self.fields | {"access_token": token})
        if self.takes_none or request.headers.get("Authorization") not in self.valid:
            return web.json_response({"error": request.headers.get("Authorization")}, status=401)
        self.answered += 1
        return web.json_response({"text": "Yes."})

    @asynccontextmanager
    async def adapter(self, **settings: Any) -> AsyncIterator[HttpAdapter]:
        async with answering(self.handle) as address:
            oauth2 = {"client_id_env": "BOT_ID", "client_secret_env": "BOT_SECRET", **settings}
            oauth2.setdefault("token_url", f"{address}/token")
            async with HttpAdapter(
                url=f"{address}/ask", answer="text", oauth2=ClientCredentials(**oauth2)
            ) as adapter:
                yield adapter


async def _ask(adapter: HttpAdapter) -> str:
    async with adapter.session(EMPTY) as session:
        return (await session.ask(FIRST)).text


async def test_all_conversations_share_one_token() -> None:
    service = Guarded()
    async with service.adapter() as adapter:
        assert await asyncio.gather(*(_ask(adapter) for _ in range(20))) == ["Yes."] * 20

    assert len(service.asked) == 1


async def test_the_credentials_are_sent_as_the_standard_says() -> None:
    service = Guarded()
    async with service.adapter(scope="chat read", audience="bot") as adapter:
        await _ask(adapter)

    ((authorization, form),) = service.asked
    assert authorization is not None
    scheme, _, coded = authorization.partition(" ")
    assert scheme == "Basic"
    assert b64decode(coded).decode() == "bot-12345:very%3Asecret%2F4711+%2Bx"
    assert form == {"grant_type": "client_credentials", "scope": "chat read", "audience": "bot"}


async def test_the_credentials_can_be_sent_in_the_form() -> None:
    service = Guarded()
    async with service.adapter(credentials_in="body") as adapter:
        await _ask(adapter)

    assert service.asked == [
        (None, {"grant_type": "client_credentials", "client_id": "bot-12345", "client_secret": SECRET})
    ]


async def test_a_token_that_was_taken_back_is_renewed_once() -> None:
    service = Guarded()
    async with service.adapter() as adapter:
        await _ask(adapter)
        service.valid.clear()
        assert await asyncio.gather(*(_ask(adapter) for _ in range(10))) == ["Yes."] * 10

    assert len(service.asked) == 2


async def test_a_token_that_is_never_taken_is_renewed_no_more_than_once() -> None:
    service = Guarded()
    service.takes_none = True
    async with service.adapter() as adapter:
        with pytest.raises(AdapterRefusedError) as caught:
            await _ask(adapter)

    assert caught.value.status == 401
    assert len(service.asked) == 2


@pytest.mark.parametrize(
    ("lives_s", "renewed_after_s"), [(3600, 3540), ("100", 90), (None, None), (0, None), ("-1", None)]
)
async def test_a_token_is_renewed_before_it_runs_out(lives_s: Any, renewed_after_s: float | None) -> None:
    service = Guarded(expires_in=lives_s)
    now = 1000.0
    async with answering(service.handle) as address:
        settings = ClientCredentials(
            token_url=f"{address}/token", client_id_env="BOT_ID", client_secret_env="BOT_SECRET"
        )
        tokens = AccessTokens(settings, clock=lambda: now)

        async def sent(header: dict[str, str]) -> str:
            return header["Authorization"]

        await tokens.__aenter__()
        try:
            seen = [await tokens.send_authorized(sent)]
            now = 1000.0 + (renewed_after_s or 1e6) - 0.5
            seen.append(await tokens.send_authorized(sent))
            now += 1.0
            seen.append(await tokens.send_authorized(sent))
        finally:
            await tokens.__aexit__()

    assert seen[0] == seen[1]
    assert (seen[1] == seen[2]) == (renewed_after_s is None)


@pytest.mark.parametrize(
    ("refusal", "status", "says"),
    [
        (web.json_response({"error": "invalid_client"}, status=401), 401, "invalid_client"),
        (web.json_response({"error": "invalid_scope"}, status=400), 400, "invalid_scope"),
        (web.json_response({"id": 7}), 200, 'without "access_token"'),
        (web.json_response({"access_token": "t", "token_type": "mac"}), 200, 'of the kind "mac"'),
        (web.Response(text="<html>"), 200, "can't be read as JSON"),
    ],
    ids=["401", "400", "no token", "another kind", "no JSON"],
)
async def test_without_a_token_nothing_is_asked(refusal: web.Response, status: int | None, says: str) -> None:
    service = Guarded()
    service.refusal = refusal
    async with service.adapter() as adapter:
        with pytest.raises(AdapterRefusedError, match=says) as caught:
            await _ask(adapter)

    assert caught.value.status == status
    assert not caught.value.reached
    assert service.answered == 0
    if status in (400, 401):
        assert "set by BOT_ID and BOT_SECRET" in str(caught.value)


async def test_a_token_endpoint_that_is_not_there_may_be_tried_again() -> None:
    async with Guarded().adapter(token_url=f"{await unused_address()}/token") as adapter:
        with pytest.raises(AdapterConnectionError, match="no access token") as caught:
            await _ask(adapter)
    assert caught.value.retryable
    assert not caught.value.reached


async def test_an_ask_that_is_cancelled_while_it_fetches_leaves_the_others_alone() -> None:
    service = Guarded()
    async with service.adapter() as adapter:
        first = asyncio.create_task(_ask(adapter))
        second = asyncio.create_task(_ask(adapter))
        while not service.asked:
            await asyncio.sleep(0)
        first.cancel()
        assert await second == "Yes."
        with pytest.raises(asyncio.CancelledError):
            await first


async def test_secrets_and_tokens_are_hidden() -> None:
    service = Guarded()
    async with service.adapter() as adapter:
        await _ask(adapter)
    assert service.asked[0][0] is not None
    basic = service.asked[0][0].partition(" ")[2]

    shown = redact(f"it said token-4f1d-1, {SECRET} and {basic}")

    assert shown == "it said ***, *** and ***"


@from_table
def test_wrong_settings_are_faults(settings: dict[str, Any], fault: str) -> None:
    oauth2 = {"token_url": "http://h/t", "client_id_env": "BOT_ID", "client_secret_env": "BOT_SECRET"}
    with pytest.raises(ScenarioError, match=fault):
        build(
            HttpAdapter, {"url": "http://h", "answer": "a", "oauth2": {**oauth2, **settings}}, folder=Path()
        )


def test_two_ways_to_be_authorized_are_a_fault() -> None:
    oauth2 = {"token_url": "http://h/t", "client_id_env": "BOT_ID", "client_secret_env": "BOT_SECRET"}
    given = {"url": "http://h", "answer": "a", "oauth2": oauth2, "headers": {"authorization": "Bearer x"}}
    with pytest.raises(ScenarioError, match="leave it out of headers"):
        build(HttpAdapter, given, folder=Path())
