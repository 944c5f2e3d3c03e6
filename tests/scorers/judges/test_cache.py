"""The verdict cache: what is one question and what is another, hits, several processes, and bad days."""

from __future__ import annotations

import asyncio
import sqlite3
import sys

import pytest

from replay.core.adapter import ChatReply, TokenLogprobs, WireTimes
from replay.core.record import Usage
from replay.scenario.judge_section import identity
from replay.scorers.judges.cache import VerdictCache, cache_key, default_cache_path
from replay.scorers.judges.tally import Tally
from tests.scorers.judges.samples import case, judge, panel
from tests.scorers.judges.servers import judge_server

REPLY = ChatReply(
    text="Yes \ud83d",  # half a surrogate pair, as a server may send
    usage=Usage(prompt_tokens=3),
    logprobs=(TokenLogprobs(token="Yes", logprob=-0.1, top=(("Yes", -0.1), ("No", -2.0))),),
)


async def test_a_reply_comes_back_as_it_was(tmp_path):
    async with VerdictCache(tmp_path / "sub" / "verdicts.db") as cache:
        assert await cache.get("k") is None
        reply = ChatReply(**{f: getattr(REPLY, f) for f in ("text", "usage", "logprobs")})
        await cache.put("k", reply, prompt="Right? \ud83d", voter="{}")
        assert await cache.has("k")
        assert await cache.get("k") == REPLY
        assert await cache.hits() == 1
        assert cache.problem is None


async def test_times_of_another_day_are_not_kept(tmp_path):
    async with VerdictCache(tmp_path / "verdicts.db") as cache:
        timed = ChatReply(text="Yes", times=WireTimes(sent=1.0, done=2.0))
        await cache.put("k", timed, prompt="", voter="")
        assert await cache.get("k") == ChatReply(text="Yes")


def test_everything_that_moves_a_reply_is_in_its_key():
    key = cache_key("p", "v", {"temperature": 0}, "0/0")

    assert key == cache_key("p", "v", {"temperature": 0}, "0/0")
    others = [
        cache_key("q", "v", {"temperature": 0}, "0/0"),
        cache_key("p", "w", {"temperature": 0}, "0/0"),
        cache_key("p", "v", {"temperature": 1}, "0/0"),
        cache_key("p", "v", {"temperature": 0}, "0/1"),
        cache_key("p", "v", {"temperature": 0}, "1/0"),
    ]
    assert len({key, *others}) == 6


def test_secrets_are_no_part_of_who_is_asked(tmp_path):
    settings = {"base_url": "http://h/v1", "model": "m", "api_key_env": "A", "headers": {"X": "secret"}}
    other = {**settings, "api_key_env": "B", "headers": {"X": "other"}}

    assert identity("openai", settings, tmp_path) == identity("openai", other, tmp_path)
    assert "secret" not in identity("openai", settings, tmp_path)
    assert identity("openai", settings, tmp_path) != identity("openai", {**settings, "model": "n"}, tmp_path)


@pytest.mark.parametrize(
    ("adapter", "settings", "name"),
    [
        ("scripted", {"answers": "replies.yaml"}, "replies.yaml"),
        ("python", {"target": "own.py:answer"}, "own.py"),
        ("own.py:Adapter", {}, "own.py"),
    ],
)
def test_a_changed_file_is_another_judge(tmp_path, adapter, settings, name):
    (tmp_path / name).write_text("one")
    before = identity(adapter, settings, tmp_path)
    (tmp_path / name).write_text("two")

    assert identity(adapter, settings, tmp_path) != before


async def test_the_cache_saves_asks_and_counts_them(tmp_path):
    async with judge_server("Yes") as server:
        built = panel("correctness", **server.settings())
        tallies = []
        for _ in range(2):
            async with VerdictCache(tmp_path / "verdicts.db") as cache:
                _, tally = await judge(built, [case(1), case(2)], cache=cache)
                tallies.append((tally.asks, tally.cached, tally.prompt_tokens))
                hits = await cache.hits()

    assert tallies == [(2, 0, 200), (0, 2, 0)]
    assert hits == 2


async def test_repeats_and_samples_are_questions_of_their_own(tmp_path):
    async with judge_server("4") as server, VerdictCache(tmp_path / "verdicts.db") as cache:
        settings = {"mode": "samples", "samples": 3, "criteria": ["coherence"]}
        for repeats, asks in ((1, 3), (2, 6), (2, 6)):
            built = panel("geval", **server.settings(), **settings, repeats=repeats)
            await judge(built, [case(2)], cache=cache)
            assert len(server.bodies) == asks


async def test_a_reply_that_lacks_its_log_probabilities_is_not_kept(tmp_path):
    """The endpoint may learn to give them; a kept reply would hide that."""
    async with judge_server({"4": 1.0}, gives_logprobs=False) as server:
        built = panel("geval", **server.settings(), mode="logprobs", criteria=["coherence"])
        async with VerdictCache(tmp_path / "verdicts.db") as cache:
            await judge(built, [case(2)], cache=cache)
            server.gives_logprobs = True
            (verdict,), tally = await judge(built, [case(2)], cache=cache)

    assert verdict.values == {"coherence": 4.0}
    assert (tally.asks, tally.cached) == (1, 0)


PROGRAM = """
import asyncio, sys
from pathlib import Path
from replay.core.adapter import ChatReply
from replay.scorers.judges.cache import VerdictCache

async def main(path, name):
    async with VerdictCache(Path(path)) as cache:
        for n in range(50):
            if await cache.get(f"shared-{n}") is None:
                await cache.put(f"shared-{n}", ChatReply(text="Yes"), prompt="", voter=name)
            await cache.put(f"{name}-{n}", ChatReply(text=name), prompt="", voter=name)
        print(cache.problem)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_several_processes_share_it(tmp_path):
    path = tmp_path / "verdicts.db"

    async def work(name):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PROGRAM, str(path), name, stdout=asyncio.subprocess.PIPE
        )
        said, _ = await process.communicate()
        return said.decode().strip()

    assert await asyncio.gather(*(work(f"p{n}") for n in range(4))) == ["None"] * 4
    async with VerdictCache(path) as cache:
        for name in ("shared", "p0", "p1", "p2", "p3"):
            for n in range(50):
                assert await cache.has(f"{name}-{n}")
        assert await cache.hits() > 0


async def test_a_cache_that_cant_be_used_stops_nobody(tmp_path):
    (tmp_path / "file").write_text("in the way")
    async with judge_server("Yes") as server, VerdictCache(tmp_path / "file" / "verdicts.db") as cache:
        built = panel("correctness", **server.settings())
        (verdict,), tally = await judge(built, [case(1)], cache=cache)
        assert "can't be used" in cache.problem

    assert verdict.values == {"": 1.0}
    assert tally.asks == 1


@pytest.mark.parametrize("content", [b"not a database at all, but long enough to look at" * 30, None])
async def test_somebody_elses_file_is_left_alone(tmp_path, content):
    path = tmp_path / "verdicts.db"
    if content is None:
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA user_version=99")
        connection.close()
    else:
        path.write_bytes(content)
    async with VerdictCache(path) as cache:
        assert cache.problem
        assert await cache.get("k") is None


def test_where_it_is(monkeypatch, tmp_path):
    monkeypatch.setenv("CONVREPLAY_CACHE", str(tmp_path))
    assert default_cache_path() == tmp_path / "verdicts.db"
    monkeypatch.delenv("CONVREPLAY_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert default_cache_path() == tmp_path / "convreplay" / "verdicts.db"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_cache_path() == tmp_path / ".cache" / "convreplay" / "verdicts.db"


def test_a_tally_knows_what_was_not_counted():
    tally = Tally()
    tally.replied(ChatReply(text="Yes"), None)

    assert (tally.uncounted, tally.cost_usd) == (1, None)
