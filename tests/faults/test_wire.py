"""Every fault at the wire, one by one: its outcome, whether it is tried again, and what the message says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import msgspec
import pytest

from replay.core.asking.retries import RetryPolicy
from replay.core.errors import RunStoppedError
from tests.adapters.servers import unused_address
from tests.faults.dialects import DIALECTS, Dialect
from tests.faults.fault_server import FaultServer, close, playing_faults, reply
from tests.faults.playing import NAME, TWO_TURNS, play_against
from tests.faults.table import ANSWER, FAULTS, Fault
from tests.waiting import PATIENCE_S

ATTEMPTS = 3
CASES = [
    pytest.param(fault, dialect, id=f"{dialect.name}-{fault.what}")
    for fault in FAULTS
    if not fault.own_test
    for dialect in DIALECTS
    if fault.fits(dialect)
]
BY_NAME = {dialect.name: dialect for dialect in DIALECTS}


def settings(fault: Fault) -> RetryPolicy:
    return RetryPolicy(timeout_s=fault.timeout_s, attempts=ATTEMPTS, backoff_s=0.0, fail_fast=False)


@asynccontextmanager
async def faulty(
    fault: Fault, dialect: Dialect, request: pytest.FixtureRequest
) -> AsyncIterator[FaultServer]:
    """The server that *fault* needs; its address begins as the scenario's author wrote it."""
    scripts = (
        [fault.script(dialect)] if fault.script else [[reply(dialect.answer(ANSWER), kind=dialect.kind)]]
    )
    tls = request.getfixturevalue("certificate").server if fault.where in ("tls", "http on tls") else None
    async with playing_faults(*scripts, tls=tls) as server:
        match fault.where:
            case "nobody":
                server.address = await unused_address()
            case "no name":
                server.address = "http://no-such-host.invalid"
            case "tls" | "tls on http":
                server.address = f"https://{server.address}"
            case _:
                server.address = f"http://{server.address}"
        yield server


@pytest.mark.parametrize(("fault", "dialect"), CASES)
async def test_a_fault_has_its_outcome_and_its_next_step(fault, dialect, request):
    async with faulty(fault, dialect, request) as server, asyncio.timeout(PATIENCE_S):
        seen = await play_against(dialect.build(server.address), settings(fault))
        requests = server.requests

    (record,) = seen.records
    assert record.outcome == fault.outcome
    if fault.outcome == "answered":
        assert (record.attempts, requests, seen.errors, record.error) == (1, 1, [], None)
        return

    again = fault.retryable and not (fault.reached and dialect.keeps_history)
    assert record.attempts == (ATTEMPTS if again else 1)
    assert requests == (record.attempts if fault.where == "http" else 0)
    assert seen.pauses_s == [fault.retry_after_s or 0.0] * (record.attempts - 1)
    assert record.partial == fault.partial
    assert record.timing.done_s >= record.timing.sent_s >= record.timing.scheduled_s

    assert record.error.startswith(f"{NAME}: ")
    assert fault.says_to(dialect) in record.error
    for error in seen.errors:
        assert (error.outcome, error.retryable, error.reached) == (
            fault.outcome,
            fault.retryable,
            fault.reached,
        )
        assert (error.status, error.retry_after_s) == (fault.status, fault.retry_after_s)
        assert f"POST {server.address}" in str(error)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize(
    "fault", [fault for fault in FAULTS if fault.fails_fast], ids=lambda fault: fault.what
)
async def test_a_key_refused_at_first_stops_the_run_at_once(fault, dialect, request):
    async with faulty(fault, dialect, request) as server:
        with pytest.raises(RunStoppedError, match=dialect.next_step_of_keys) as caught:
            await play_against(dialect.build(server.address), replace(settings(fault), fail_fast=True))

        assert server.requests == 1
    assert f'system "{NAME}"' in str(caught.value)


class AfterClosing:
    """Asks the second question when the server has closed the connection of the first."""

    def __init__(self, server: FaultServer) -> None:
        self._server = server

    async def next_due(self, depth: int, due: float | None, done: float | None) -> float | None:
        if depth == 2:
            await self._server.closed.wait()
            for _ in range(5):
                await asyncio.sleep(0)  # the loop looks at the client's end of the connection as well
        return 0.0 if done is None else done


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_a_connection_closed_between_two_turns_is_no_matter(dialect):
    answers = reply(dialect.answer(ANSWER), kind=dialect.kind)
    async with playing_faults([answers, close]) as server:
        adapter = dialect.build(f"http://{server.address}")
        seen = await play_against(adapter, RetryPolicy(), TWO_TURNS, pace=AfterClosing(server))

        assert (server.connections, server.requests) == (2, 2)
    assert [(record.outcome, record.attempts) for record in seen.records] == [("answered", 1)] * 2


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_a_used_connection_may_be_closed_while_it_is_asked_and_no_kept_history_is_asked_over_one(
    dialect,
):
    """Nobody can tell whether the question was taken in; what must not be asked twice has a new one."""
    answers = reply(dialect.answer(ANSWER), kind=dialect.kind)
    async with playing_faults([answers], [close], [answers]) as server:
        adapter = dialect.build(f"http://{server.address}")
        seen = await play_against(adapter, RetryPolicy(attempts=ATTEMPTS, backoff_s=0.0), TWO_TURNS)

        came = (server.connections, server.requests)
    second = seen.records[1]
    if dialect.keeps_history:
        assert (second.outcome, second.attempts, came) == ("connection-failed", 1, (2, 2))
        (error,) = seen.errors
        assert error.reached
    else:
        assert (second.outcome, second.attempts, came) == ("answered", 1, (2, 3))
        assert seen.errors == []


@pytest.mark.parametrize("name", ["openai", "anthropic stream"])
async def test_a_pause_that_is_asked_for_beyond_the_budget_is_not_waited_for(name):
    busy = reply(b"{}", "429 Too Many Requests", more="Retry-After: 3600\r\n")
    async with playing_faults([busy]) as server:
        adapter = BY_NAME[name].build(f"http://{server.address}")
        seen = await play_against(adapter, RetryPolicy(attempts=ATTEMPTS, retry_budget_s=60.0))

        assert server.requests == 1
    assert (seen.records[0].outcome, seen.pauses_s) == ("rate-limited", [])
    assert "it asks to be left alone for 3600 s, and is not asked again since retry_budget_s is 60" in (
        seen.records[0].error
    )


async def test_pauses_grow_from_one_attempt_to_the_next_and_differ_between_conversations():
    """Full jitter: each is drawn evenly from nothing to a bound that doubles."""
    dialect = BY_NAME["openai"]
    pauses = {}
    async with playing_faults([reply(b"{}", "503 Service Unavailable")]) as server:
        for number in range(20):
            talk = msgspec.structs.replace(TWO_TURNS, id=f"talk {number}")
            adapter = dialect.build(f"http://{server.address}")
            seen = await play_against(adapter, RetryPolicy(attempts=4, backoff_s=1.0), talk)
            pauses[talk.id] = seen.pauses_s
    for bound, drawn in zip((1.0, 2.0, 4.0), zip(*pauses.values(), strict=True), strict=True):
        assert len(set(drawn)) == 20
        assert all(0.0 <= pause <= bound for pause in drawn)
        assert max(drawn) > bound * 0.75
