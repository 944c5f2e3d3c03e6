"""Replies kept on disk: what is one question and what is another, hits, and bad days."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace

import msgspec
import pytest

from replay.core.adapter import ChatReply, TokenLogprobs, WireTimes
from replay.core.asking.cached import Model, identity, question_key
from replay.core.asking.costs import AskTally
from replay.core.asking.prompt import short_hash
from replay.core.asking.retries import RetryPolicy
from replay.core.disk_cache import DiskCache
from replay.core.record import Usage
from replay.scorers.judges.panel import Asker, VoterAsk, sample_name
from tests.data_tables import from_table
from tests.scorers.judges.samples import case, judge, panel
from tests.scorers.judges.servers import judge_server


async def test_a_reply_comes_back_as_it_was_without_its_times(tmp_path):
    token = TokenLogprobs(token="4", logprob=-0.1, top=(("4", -0.1), ("5", -2.0)))
    reply = ChatReply(
        text="4 \ud83d",  # half a surrogate pair, as a server may send
        usage=Usage(prompt_tokens=3),
        logprobs=(token,),
        times=WireTimes(sent=1.0, done=2.0),
    )
    built = panel("geval", adapter="scripted", mode="single", cache=str(tmp_path / "verdicts.db"))

    replies = [reply]

    class Once:
        history = "client"

        @asynccontextmanager
        async def session(self, conversation):
            yield self

        async def ask(self, request):
            return replies.pop()

    async def asked():
        asker = Asker("geval", RetryPolicy(), DiskCache(built.cache), AskTally())
        voter = replace(built.voters[0], adapter=Once())
        return await VoterAsk(asker, 1, voter, 0)("step", "Right? \ud83d", parameters={})

    assert await asked() == reply
    assert await asked() == msgspec.structs.replace(reply, times=None)


def test_everything_that_moves_a_reply_is_in_its_key():
    built = panel("correctness", voters=[{"adapter": "scripted"}, {"adapter": "extractive"}])
    v, w = built.voters
    asks = [
        (v, "p", {"temperature": 0}, "0/0"),
        (w, "p", {"temperature": 0}, "0/0"),
        (v, "q", {"temperature": 0}, "0/0"),
        (v, "p", {"temperature": 1}, "0/0"),
        (v, "p", {"temperature": 0}, "0/1"),
        (v, "p", {"temperature": 0}, "1/0"),
    ]
    assert question_key(*asks[0]) == question_key(*asks[0])
    assert len({question_key(*ask) for ask in asks}) == 6


def test_secrets_are_no_part_of_who_is_asked(tmp_path):
    settings = {"base_url": "http://h/v1", "model": "m", "api_key_env": "A", "headers": {"X": "secret"}}
    other = {**settings, "api_key_env": "B", "headers": {"X": "other"}}

    assert identity("openai", settings, tmp_path) == identity("openai", other, tmp_path)
    assert "secret" not in identity("openai", settings, tmp_path)
    assert identity("openai", settings, tmp_path) != identity("openai", {**settings, "model": "n"}, tmp_path)


@from_table
def test_a_changed_file_is_another_judge(tmp_path, adapter, settings, name):
    (tmp_path / name).write_text("one")
    before = identity(adapter, settings, tmp_path)
    (tmp_path / name).write_text("two")

    assert identity(adapter, settings, tmp_path) != before


async def test_the_cache_saves_asks_and_counts_them(tmp_path):
    async with judge_server("Yes") as server:
        built = panel("correctness", **server.settings(), cache=str(tmp_path / "verdicts.db"))
        tallies = []
        for _ in range(2):
            verdicts, tally = await judge(built, [case(1), case(2)])
            tallies.append((tally.asks, tally.cached, tally.prompt_tokens))
            told = [asked.cached for verdict in verdicts for asked in verdict.asks]
            assert told == [len(tallies) == 2] * 2

    assert tallies == [(2, 0, 200), (0, 2, 0)]


def test_a_voter_takes_parameters_only_if_its_adapter_says_so():
    class Taking:
        takes_parameters = True

    silent, taking = (Model(name="a b", adapter=adapter(), identity="{}") for adapter in (object, Taking))

    assert silent.signature == f"a_b@{short_hash('{}')}+own-parameters"
    assert taking.signature == f"a_b@{short_hash('{}')}"
    assert (silent.sent_parameters({"seed": 1}), taking.sent_parameters({"seed": 1})) == ({}, {"seed": 1})


def test_a_voter_is_unfit_after_three_replies_in_a_row_that_cant_serve():
    asker = Asker("geval", RetryPolicy(), DiskCache(None), AskTally())
    one, other = (
        VoterAsk(asker, 1, Model(name=name, adapter=object(), identity="{}"), 0) for name in ("one", "other")
    )
    one.mark_unusable("first")
    one.mark_unusable("second")
    assert one.unfit is None
    one.mark_usable()
    for reason in ("third", "fourth", "fifth"):
        assert one.unfit is None
        one.mark_unusable(reason)

    assert (one.unfit, other.unfit) == ("fifth", None)
    assert (asker.tally.failed_asks, asker.tally.first_failure) == (5, "one: first")
    other.mark_usable()  # who was never unfit
    assert VoterAsk(asker, 2, one.voter, 1).unfit == "fifth"


@pytest.mark.parametrize(
    ("repeat", "sample", "once", "name"), [(0, 0, False, "0/0"), (2, 1, False, "2/1"), (2, 1, True, "once")]
)
def test_samples_have_names_of_their_own(repeat, sample, once, name):
    assert sample_name(repeat, sample, once=once) == name


async def test_repeats_and_samples_are_questions_of_their_own(tmp_path):
    async with judge_server("4") as server:
        settings = {
            "mode": "samples",
            "samples": 3,
            "criteria": ["coherence"],
            "cache": str(tmp_path / "v.db"),
        }
        for repeats, asks in ((1, 3), (2, 6), (2, 6)):
            built = panel("geval", **server.settings(), **settings, repeats=repeats)
            await judge(built, [case(2)])
            assert len(server.bodies) == asks


async def test_a_reply_that_lacks_its_log_probabilities_is_not_kept(tmp_path):
    """The endpoint may learn to give them; a kept reply would hide that."""
    async with judge_server({"4": 1.0}, gives_logprobs=False) as server:
        settings = {"mode": "logprobs", "criteria": ["coherence"], "cache": str(tmp_path / "verdicts.db")}
        built = panel("geval", **server.settings(), **settings)
        await judge(built, [case(2)])
        server.gives_logprobs = True
        (verdict,), tally = await judge(built, [case(2)])

    assert verdict.values == {"coherence": 4.0}
    assert (tally.asks, tally.cached) == (1, 0)


async def test_a_cache_that_cant_be_used_stops_nobody_and_is_told(tmp_path):
    (tmp_path / "file").write_text("in the way")
    async with judge_server("Yes") as server:
        built = panel("correctness", **server.settings(), cache=str(tmp_path / "file" / "verdicts.db"))
        (verdict,), tally = await judge(built, [case(1)])

    assert verdict.values == {"": 1.0}
    assert tally.asks == 1
    (problem,) = tally.problems
    assert "can't be used" in problem


async def test_a_file_of_somebody_elses_is_left_alone(tmp_path):
    path = tmp_path / "talks.jsonl"
    path.write_bytes(b"not a database at all, but long enough to look at" * 30)
    before = path.read_bytes()
    async with judge_server("Yes") as server:
        _, tally = await judge(panel("correctness", **server.settings(), cache=str(path)), [case(1)])

    assert tally.problems
    assert path.read_bytes() == before
