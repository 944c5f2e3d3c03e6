"""The kit as a whole: what it needs, and the chat server."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import aiohttp

from replay import testing

NO_PYTEST = """
import sys
sys.modules["pytest"] = sys.modules["pytest_asyncio"] = None
from replay.testing import (
    ChatServer, FakeClock, RecordingAsk, ScriptedSystem, always, case, chat_server, failure, play,
    skipped_turn, turn,
)
"""


def test_only_the_contracts_need_pytest():
    subprocess.run([sys.executable, "-c", NO_PYTEST], check=True, timeout=60)


def test_every_name_is_there():
    for name in testing.__all__:
        assert getattr(testing, name) is not None


def test_a_server_answers_counts_and_fails_as_told():
    async def ask(server, question):
        body = {"messages": [{"role": "user", "content": question}]}
        async with (
            aiohttp.ClientSession() as client,
            client.post(f"{server.url}/v1/chat/completions", json=body) as reply,
        ):
            return reply.status, reply.ok and (await reply.json())["choices"][0]["message"]["content"]

    async def talk():
        async with testing.chat_server() as server:
            server.answers["Who?"] = "Ann."
            server.broken.add("Why?")
            found = [await ask(server, question) for question in ("Who?", "When?", "Why?", "Who?")]
            await server.quiet()
            return found, dict(server.asked)

    found, asked = asyncio.run(talk())
    assert found == [(200, "Ann."), (200, "Answer to When?"), (400, False), (200, "Ann.")]
    assert asked == {"Who?": 2, "When?": 1, "Why?": 1}
