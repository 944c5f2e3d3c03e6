"""What a field of a reply once ended a run with, and what has to come of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from replay import AdapterError, ChatReply, Run, RunStoppedError, resume_async, run_async
from replay.results.run import newest_run
from replay_adapters.chat import streamed_answer
from replay_adapters.http import stream
from replay_adapters.http.reply import HttpReply
from replay_adapters.http.websocket import WebSocketAdapter
from replay_adapters.json_reply import ReplyPath
from tests.faults.table import GONE_BY
from tests.fuzz.field_server import ask, check, running
from tests.fuzz.replies import REPLIES, trying
from tests.fuzz.services import SERVICES, Field, Literally
from tests.fuzz.test_bad_fields import HUGE
from tests.waiting import PATIENCE_S

KEY = "sk-q7Rt2vXw9LmZ4kBn8Ys3"
NO_YEAR = b"Sun, 06 Nov 99999999999999999999 08:49:37 GMT"
BUSY = {("", "status"): "429 Busy"}
ITEM = ("", "json", "output", "0", "content")
TOKEN = ("/token", "json", "access_token")
LIFE = ("/token", "json", "expires_in")
LOGPROB = ("", "json", "choices", "0", "logprobs", "content", "0", "logprob")
NO_HEADER = "that no header can hold"
FIRST = ("", "json", "activities", "0")

FOUND: dict[str, tuple[str, dict[Field, Any], str, str]] = {
    "come back in a year that no clock has": (
        "openai", {**BUSY, ("", "header", "Retry-After"): NO_YEAR}, "rate-limited", "ask less often",
    ),
    "sent in such a year": (
        "openai",
        {**BUSY, ("", "header", "Retry-After"): GONE_BY.encode(), ("", "header", "Date"): NO_YEAR},
        "rate-limited", "ask less often",
    ),
    "come back after more seconds than a float has": (
        "openai", {**BUSY, ("", "header", "Retry-After"): b"9" * 400}, "rate-limited", "ask less often",
    ),
    "come back in the last year that a clock has": (
        "openai",
        {**BUSY, ("", "header", "Retry-After"): b"Fri, 31 Dec 9999 23:59:59 GMT"},
        "rate-limited", "ask less often",
    ),
    "a job's Location is no address": (
        "http job", {("/ask", "header", "Location"): b"http://["}, "bad-reply", "a job at what is no address",
    ),
    "a job's address is none": (
        "http job named", {("/ask", "json", "url"): "http://["}, "bad-reply", "a job at what is no address",
    ),
    "a token lives for a digit that is no decimal": (
        "http oauth2", {LIFE: "²"}, "answered", "Yes.",
    ),
    "a token lives for 5,000 digits": (
        "http oauth2", {LIFE: "9" * 5_000}, "answered", "Yes.",
    ),
    "a token lives for a number of 5,000 digits": (
        "http oauth2", {LIFE: Literally("9" * 5_000)}, "refused", "can't be read as JSON",
    ),
    "a token lives for more seconds than a float has": (
        "http oauth2", {LIFE: HUGE}, "answered", "Yes.",
    ),
    "a token that has half a character": (
        "http oauth2", {TOKEN: "\ud800-4711"}, "refused", NO_HEADER,
    ),
    "a token with a line break": (
        "http oauth2", {TOKEN: "a\r\nX-Evil: 1"}, "refused", NO_HEADER,
    ),
    "Direct Line's token with a line break": (
        "botframework", {("/tokens/generate", "json", "token"): "a\nb"}, "bad-reply", NO_HEADER,
    ),
    "Direct Line's token lives for more seconds than a float has": (
        "botframework", {("/tokens/generate", "json", "expires_in"): HUGE}, "answered", "Yes.",
    ),
    "a conversation's id has half a character": (
        "botframework", {("/conversations", "json", "conversationId"): "c\ud800"}, "answered", "Yes.",
    ),
    "a watermark has half a character": (
        "botframework",
        {("", "json", "watermark"): "3\ud800", (*FIRST, "inputHint"): ""},
        "answered", "Yes.",
    ),
    "attachments that are no list": (
        "botframework",
        {(*FIRST, "text"): "", (*FIRST, "attachments"): 5, (*FIRST, "suggestedActions"): 5},
        "bad-reply", "without a text",
    ),
    "content that is no list": ("responses", {ITEM: 5}, "bad-reply", "in the place of a text"),
    "log-probabilities that are no list": ("responses", {(*ITEM, "0", "logprobs"): 5}, "answered", "Yes."),
    "a cost beyond what a float has": ("openai", {("", "json", "usage", "cost"): HUGE}, "answered", "Yes."),
    "a cost that sums up to none": ("openai", {("", "json", "usage", "cost"): 1e300}, "answered", "Yes."),
    "a log-probability of more than certainty": ("openai", {LOGPROB: 800.0}, "answered", "Yes."),
    "more tokens than a database counts": (
        "openai", {("", "json", "usage", "prompt_tokens"): 2**63}, "answered", "Yes.",
    ),
    "a log-probability beyond what a float has": (
        "openai", {LOGPROB: HUGE}, "answered", "Yes.",
    ),
    "a codec that is no encoding of texts": (
        "http text", {("", "header", "Content-Type"): b"text/plain; charset=rot13"}, "answered", "Yes.",
    ),
    "a codec that can't be used": (
        "http text", {("", "header", "Content-Type"): b"text/plain; charset=undefined"}, "answered", "Yes.",
    ),
    "the ceiling of no finite number": (
        "http functions", {("", "json", "number"): Literally("1e400")}, "bad-reply", "(OverflowError",
    ),
    "a header of 5,000 digits is told in short": (
        "openai", {("", "header", "Content-Length"): b"9" * 5_000}, "bad-reply", "not HTTP",
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    monkeypatch.setenv("BOT_ID", "bot-12345")
    monkeypatch.setenv("BOT_SECRET", KEY)


@pytest.mark.parametrize("what", FOUND)
async def test_what_was_found_has_its_outcome(what):
    name, wrong, outcome, says = FOUND[what]
    async with running(SERVICES[name]) as served:
        served.wrong = wrong
        found = await ask(served, within_s=PATIENCE_S)
    check(found)
    if isinstance(found, ChatReply):
        assert (outcome, says in found.text) == ("answered", True)
        assert found.cost_usd is None or found.cost_usd < 1
        assert found.usage is None or (found.usage.prompt_tokens or 0) < 10
        assert all(one.logprob < 0 for one in found.logprobs or ())
    else:
        assert found.outcome == outcome
        assert says in str(found)
        assert found.retry_after_s is None or 0 <= found.retry_after_s <= 1e9


@pytest.mark.parametrize("name", [name for name, service in SERVICES.items() if not service.fails])
async def test_what_nobody_thought_of_is_an_outcome_that_names_it(name, monkeypatch):
    """The net under all that is checked field by field."""

    def stumbles(*_: object, **__: object) -> Any:
        raise ZeroDivisionError("an odd field")

    monkeypatch.setattr(HttpReply, "json", stumbles)
    monkeypatch.setattr(streamed_answer, "json_array", stumbles)
    monkeypatch.setattr(stream, "events_in", stumbles)
    monkeypatch.setattr(ReplyPath, "text", stumbles)
    async with running(SERVICES[name]) as served:
        found = await ask(served, within_s=PATIENCE_S)
    assert isinstance(found, AdapterError)
    assert found.outcome == ("refused" if name == "http oauth2" else "bad-reply")
    assert "can't be read (ZeroDivisionError: an odd field, at test_found_fields.py:" in str(found)
    assert name in ("botframework", "http oauth2", "http session") or found.raw


async def test_over_a_websocket_as_well(monkeypatch, tmp_path):
    async with trying(REPLIES["websocket"], tmp_path) as tried:
        assert await tried(REPLIES["websocket"].seeds[0]) is not None
        monkeypatch.setattr(WebSocketAdapter, "value_in", lambda *_: 1 // 0)
        assert await tried(REPLIES["websocket"].seeds[0]) is None


async def test_a_run_ends_with_such_a_reply_in_its_record_and_a_stopped_one_is_resumed(tmp_path):
    talks = [{"id": str(n), "turns": [{"question": "Who?", "gold_answer": "Yes."}]} for n in range(4)]
    (tmp_path / "talks.jsonl").write_text("".join(json.dumps(talk) + "\n" for talk in talks))
    async with running(SERVICES["openai"]) as served:
        scenario = {
            "name": "absurd",
            "data": {"path": str(tmp_path / "talks.jsonl")},
            "systems": [
                {"name": "s", "adapter": "openai", "settings": {"base_url": served.address, "model": "m"}}
            ],
            "policies": ["gold"],
            "drift": {"nlp_workers": 0},
            "play": {"concurrency": 1, "stop_after": 2},
        }
        served.wrong = {**BUSY, ("", "header", "Retry-After"): b"9" * 400}
        with pytest.raises(RunStoppedError):
            await run_async(scenario, runs=tmp_path)
        run = Run(newest_run(tmp_path))
        assert [record.outcome for record in run.records()] == ["rate-limited"] * 2
        for record in run.records():
            assert "it asks to be left alone for 1000000000 s, and is not asked again" in (record.error or "")
        served.wrong = {("", "json", "usage", "cost"): HUGE, ("", "json", "usage", "prompt_tokens"): 2**64}
        run = await resume_async(run.folder)
        assert [record.outcome for record in run.records()] == ["rate-limited"] * 2 + ["answered"] * 2
