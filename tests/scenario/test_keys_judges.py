"""``judges``: what every judge can be told, each played where it matters."""

from __future__ import annotations

import pytest

from replay.results.run import Run
from tests.scenario.keys import PRICED, counting_tokens, crowd, key, pauses, played, python, talk, throttles

TALKS = [talk(name) for name in "abcd"]


def saying(text: str, **settings) -> dict:
    return {"adapter": "scripted", "settings": {"answers": [text], **settings}}


async def judged(folder, section, *, kind="correctness", **more) -> Run:
    """A run of four turns, each judged as *section* says, which keeps no replies unless it says so."""
    return await played(folder, talks=TALKS, judges=[{kind: {"cache": False, **section}}], **more)


def verdicts(run: Run, name: str = "correctness") -> list[float | None]:
    return [one.data["values"].get(name, one.data["values"].get("")) for one in run.verdicts(name)]


def votes(run: Run) -> list[tuple[str, str]]:
    """Who said what, about the first turn."""
    (repeat,) = run.verdicts("correctness")[0].data["repeats"]
    return [(vote["voter"], ask["text"]) for vote in repeat["votes"] for ask in vote["asks"]]


def asks(run: Run) -> int:
    return run.judged()[0].tally.asks


def columns(run: Run) -> list[str]:
    return list(run.scorers())[1:]


@key("judges")
async def test_the_judge_is_the_one_that_is_named_with_its_own_settings(tmp_path):
    judge = {**saying("4"), "mode": "single", "parameters": {"temperature": None}}
    run = await judged(tmp_path, {**judge, "criteria": ["coherence"]}, kind="geval")
    assert columns(run) == ["geval.coherence"]
    assert columns(await judged(tmp_path, saying("Yes"))) == ["correctness"]
    assert columns(await played(tmp_path)) == []


@key("judges.name")
async def test_a_judges_column_is_called_as_is_said(tmp_path):
    assert columns(await judged(tmp_path, {**saying("Yes"), "name": "mine"})) == ["mine"]


@key("judges.adapter", "judges.settings")
async def test_who_is_asked_decides(tmp_path):
    for text, value in (("Yes", 1.0), ("No", 0.0)):
        run = await judged(tmp_path, saying(text))
        assert verdicts(run) == [value] * 4
    run = await judged(tmp_path, python(tmp_path, "def answer(question):\n    return 'No, never.'\n"))
    assert votes(run) == [("python", "No, never.")]


@key("judges.voters.adapter", "judges.voters.settings", "judges.voters.name")
async def test_each_voter_is_asked_and_the_majority_decides(tmp_path):
    voters = [
        {"name": "strict", **saying("No.")},
        {"name": "stricter", **saying("No!")},
        {"name": "bot", **python(tmp_path, "def answer(question):\n    return 'Yes.'\n")},
    ]
    run = await judged(tmp_path, {"voters": voters})
    assert votes(run) == [("strict", "No."), ("stricter", "No!"), ("bot", "Yes.")]
    assert verdicts(run) == [0.0] * 4


@key("judges.limit.asks", "judges.limit.per_s", "judges.voters.limit.asks", "judges.voters.limit.per_s")
async def test_a_voter_keeps_its_own_limit_or_the_judges(tmp_path, monkeypatch):
    """A limit that nobody opened lets nothing through: judging would wait for good."""
    passed = throttles(monkeypatch)
    voters = [
        {"name": "a", **saying("Yes"), "limit": {"asks": 5, "per_s": 0.5}},
        {"name": "b", **saying("Yes")},
        {"name": "c", **saying("Yes")},
    ]
    await judged(tmp_path, {"voters": voters, "limit": {"asks": 7, "per_s": 0.25}})
    assert passed() == {(5, 0.5): 4, (7, 0.25): 8}


@key(
    "judges.prices.prompt_usd",
    "judges.prices.completion_usd",
    "judges.prices.cached_prompt_usd",
    "judges.voters.prices.prompt_usd",
    "judges.voters.prices.completion_usd",
    "judges.voters.prices.cached_prompt_usd",
)
@pytest.mark.parametrize(("prices", "cost_usd"), PRICED)
async def test_verdicts_cost_what_the_judge_or_the_voter_charges(tmp_path, prices, cost_usd):
    async with counting_tokens() as model:
        of_judge = await judged(tmp_path, {**model, "prices": prices})
        voters = [{**model, "prices": prices}]
        of_voter = await judged(
            tmp_path, {"voters": voters, "prices": {"prompt_usd": 9, "completion_usd": 9}}
        )
    for run in (of_judge, of_voter):
        assert run.judged()[0].tally.cost_usd == pytest.approx(4 * cost_usd)


@key("judges.concurrency")
@pytest.mark.parametrize("together", [1, 2, 4])
async def test_so_many_turns_are_judged_at_a_time(tmp_path, together):
    run = await judged(tmp_path, {**python(tmp_path, crowd(together)), "concurrency": together})
    assert votes(run) == [("python", f"at most {together}")]


@key("judges.repeats")
@pytest.mark.parametrize("repeats", [1, 3])
async def test_each_turn_is_judged_so_often(tmp_path, repeats):
    run = await judged(tmp_path, {**saying("Yes"), "repeats": repeats})
    assert asks(run) == 4 * repeats
    assert [len(one.data["repeats"]) for one in run.verdicts("correctness")] == [repeats] * 4


@key("judges.timeout_s")
async def test_a_judge_has_so_much_time(tmp_path):
    hanging = {**saying("Yes", faults=[{"kind": "hang"}]), "timeout_s": 0.05, "attempts": 1}
    run = await judged(tmp_path, hanging)
    assert "within 0.05 s" in str(run.judged()[0].tally.first_failure)


DOWN = saying("Yes", faults=[{"kind": "connection"}])


@key("judges.attempts")
@pytest.mark.parametrize("attempts", [1, 6])
async def test_a_judge_is_asked_so_often(tmp_path, monkeypatch, attempts):
    pauses(monkeypatch)
    assert asks(await judged(tmp_path, {**DOWN, "attempts": attempts})) == 4 * attempts


@key("judges.backoff_s")
async def test_retries_of_a_judge_wait_in_proportion(tmp_path, monkeypatch):
    waited = {}
    for backoff_s in (0, 1, 3):
        found = pauses(monkeypatch)
        await judged(tmp_path, {**DOWN, "backoff_s": backoff_s, "concurrency": 1})
        waited[backoff_s] = list(found)
    assert len(waited[1]) == 12
    assert all(0 < one < 4 for one in waited[1])
    assert waited[0] == [0] * 12
    assert waited[3] == pytest.approx([3 * one for one in waited[1]])


@key("judges.retry_budget_s")
async def test_no_retry_of_a_judge_begins_after_the_budget(tmp_path, monkeypatch):
    busy = saying("Yes", faults=[{"kind": "rate-limited", "retry_after_s": 100}])
    asked = {}
    for budget_s in (10, 1000):
        pauses(monkeypatch)
        asked[budget_s] = asks(await judged(tmp_path, {**busy, "retry_budget_s": budget_s, "attempts": 3}))
    assert asked == {10: 4, 1000: 12}


@key("judges.cache")
async def test_replies_are_kept_where_is_said_or_not_at_all(tmp_path, cache_folder):
    judge = saying("Yes")
    for cache, asked in ((False, [4, 4]), ("own.db", [4, 0]), (True, [4, 0])):
        assert [asks(await judged(tmp_path, {**judge, "cache": cache})) for _ in range(2)] == asked
    assert (tmp_path / "own.db").exists()
    assert [path.name for path in cache_folder.iterdir() if path.suffix == ".db"] == ["verdicts.db"]
