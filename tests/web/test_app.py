"""What each of our servers keeps out and sends along, whatever it is asked; over sockets."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest
from aiohttp import ClientSession, web

from replay.cli.serving.server import make_app
from replay.viewer.live_run import RunIndex
from replay.viewer.viewer import Viewer
from replay_adapters.local.scripted import ScriptedAdapter
from tests.study.pages.talking import SCRIPTED
from tests.study.serving import begun, served

STUDY = json.dumps(
    {
        "name": "check",
        "data": {"path": "talks.jsonl"},
        "systems": [{"name": "bot", **SCRIPTED}],
        "preset": {"convqa": {"conversations": 1, "validators": 1}},
        "raters": ["Ann", "Ben"],
    }
)
TALK = '{"id": "a", "passages": [{"id": "p", "text": "Ann wrote it."}], "turns": [{"question": "Who?"}]}\n'


@asynccontextmanager
async def running(server, folder):
    """The address of the server of that kind, and a path of it that anybody may ask for."""
    if server == "study":
        (folder / "talks.jsonl").write_text(TALK)
        async with served(begun(STUDY, folder)) as study:
            yield study.address, "/static/x/page.css"
        return
    app = (
        make_app(ScriptedAdapter(), name="x", token="t" * 43)
        if server == "serve"
        else Viewer(RunIndex([], folder), "t" * 43).app()
    )
    runner = web.AppRunner(app, access_log=None)
    try:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        address = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield address, "/health" if server == "serve" else "/static/x/page.css"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("server", ["view", "serve", "study"])
async def test_each_server_keeps_the_same_out_and_sends_the_same_headers(server, tmp_path):
    async with running(server, tmp_path) as (address, path), ClientSession() as client:
        own = urlsplit(address).netloc
        for target, headers, status in (
            (path, {}, 200),
            (path, {"Origin": f"http://{own}"}, 200),
            (path, {"Origin": "https://evil.example"}, 403),
            (path, {"Origin": "null"}, 403),
            (path, {"Host": "evil.example"}, 421),
            (path, {"Host": "evil.example", "X-Forwarded-Host": own}, 421),
            (path, {"Host": f"localhost:{urlsplit(address).port}"}, 200),
            ("/none" if server == "study" else "/stats", {}, 404 if server == "study" else 401),
        ):
            async with client.get(address + target, headers=headers) as answer:
                assert answer.status == status, (target, headers, await answer.text())
                sent = answer.headers
                assert sent["X-Content-Type-Options"] == "nosniff"
                assert sent["Content-Security-Policy"].startswith("default-src 'none'; ")
                assert "frame-ancestors 'none'" in sent["Content-Security-Policy"]
                assert sent["Referrer-Policy"] in ("no-referrer", "same-origin")
                assert sent["Cross-Origin-Resource-Policy"] == "same-origin"
                assert sent["Cross-Origin-Opener-Policy"] == "same-origin"
                if status != 200:
                    assert sent["Cache-Control"] == "no-store"


@pytest.mark.parametrize("server", ["view", "serve", "study"])
async def test_a_way_that_is_none_says_which_there_are(server, tmp_path):
    async with (
        running(server, tmp_path) as (address, path),
        ClientSession() as client,
        client.delete(address + path) as answer,
    ):
        assert (answer.status, answer.headers["Allow"]) == (405, "GET,HEAD")
