"""A wall clock that jumps, as one does that is set right: times and waits are none of its business."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import cycle

import pytest

from replay.core.asking.retries import RetryPolicy
from replay_adapters.http import failures as http_failures
from tests.faults.dialects import DIALECTS
from tests.faults.fault_server import playing_faults, reply
from tests.faults.playing import TWO_TURNS, Seen, play_against
from tests.faults.table import ANSWER, GONE_BY, THIRTY_LATER

YEAR = timedelta(days=365)
BY_NAME = {dialect.name: dialect for dialect in DIALECTS}
NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[datetime], None]:
    """Sets this process's idea of the date, for what reads replies."""

    def set_to(moment: datetime) -> None:
        class Set(datetime):
            @classmethod
            def now(cls, tz=None):
                return moment

        monkeypatch.setattr(http_failures, "datetime", Set)

    return set_to


async def paused(name: str, headers: str) -> Seen:
    busy = reply(b"{}", "429 Too Many Requests", more=headers)
    dialect = BY_NAME[name]
    async with playing_faults([busy], [reply(dialect.answer(ANSWER), kind=dialect.kind)]) as server:
        settings = RetryPolicy(attempts=2, backoff_s=0.0, retry_budget_s=60.0)
        return await play_against(dialect.build(f"http://{server.address}"), settings)


@pytest.mark.parametrize("name", ["openai", "openai stream", "http session", "anthropic"])
@pytest.mark.parametrize("off_by", [-YEAR, timedelta(), YEAR])
async def test_a_date_to_come_back_at_counts_from_the_date_of_the_reply(name, off_by, set_clock):
    set_clock(parsed(GONE_BY) + off_by)
    seen = await paused(name, f"Date: {GONE_BY}\r\nRetry-After: {THIRTY_LATER}\r\n")
    assert seen.pauses_s == [30.0]
    assert seen.records[0].outcome == "answered"


@pytest.mark.parametrize(
    ("off_by", "pauses_s", "outcome"),
    [
        (timedelta(), [30.0], "answered"),
        (YEAR, [0.0], "answered"),  # ours is ahead: what they ask for has passed
        (-YEAR, [], "rate-limited"),  # ours is behind: a year is not waited for
    ],
)
async def test_without_a_date_in_the_reply_a_wrong_clock_costs_a_retry_at_most(
    off_by, pauses_s, outcome, set_clock
):
    set_clock(NOW + off_by)
    until = format_datetime(NOW + timedelta(seconds=30), usegmt=True)
    seen = await paused("openai", f"Retry-After: {until}\r\n")
    assert (seen.pauses_s, seen.records[0].outcome) == (pauses_s, outcome)


@pytest.mark.parametrize("dialect", [DIALECTS[0], DIALECTS[-1]], ids=lambda dialect: dialect.name)
async def test_times_and_deadlines_do_not_follow_the_wall_clock(dialect, monkeypatch):
    jumps = cycle([0.0, 1e9, -1e9, 86_400.0])
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + next(jumps))
    async with playing_faults([reply(dialect.answer(ANSWER), kind=dialect.kind)]) as server:
        adapter = dialect.build(f"http://{server.address}")
        seen = await play_against(adapter, RetryPolicy(timeout_s=10.0), TWO_TURNS)

    assert [record.outcome for record in seen.records] == ["answered", "answered"]
    moments = [
        moment
        for record in seen.records
        for moment in (record.timing.scheduled_s, record.timing.sent_s, record.timing.done_s)
    ]
    assert moments == sorted(moments)
    assert 0.0 <= moments[0] <= moments[-1] < 10.0


def parsed(date: str) -> datetime:
    return datetime.strptime(date, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
