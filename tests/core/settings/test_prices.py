"""What tokens cost: prices of a system or a judge, tables by model, and what an endpoint says itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from replay import ChatReply, Run, ScenarioError, Usage, run_async
from replay.core.asking.costs import Prices, PriceTable, cost_usd, read_price_table
from replay.scenario.assembly import assemble
from replay.scenario.reading import parse_scenario
from tests.adapters.servers import answering
from tests.data_tables import from_table

PRICES = Prices(prompt_usd=2.0, completion_usd=10.0, cached_prompt_usd=0.5)


def _usage(prompt: int | None = None, completion: int | None = None, cached: int | None = None) -> Usage:
    return Usage(prompt_tokens=prompt, completion_tokens=completion, cached_prompt_tokens=cached)


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (_usage(1_000_000, 0), 2.0),
        (_usage(0, 1_000_000), 10.0),
        (_usage(1_000_000, 100_000, 400_000), 0.6 * 2 + 0.4 * 0.5 + 1.0),
        (_usage(100, 0, 1_000), 100 * 0.5e-6),
        (_usage(None, 5), None),
        (_usage(5, None), None),
        (None, None),
    ],
)
def test_a_cost_is_reckoned_from_all_counts_or_not_at_all(usage: Usage | None, cost: float | None) -> None:
    found = cost_usd(ChatReply(text="a", usage=usage), PRICES)
    assert found == (None if cost is None else pytest.approx(cost))


def test_a_count_that_costs_nothing_may_be_missing() -> None:
    free = Prices(prompt_usd=0, completion_usd=1)
    assert free.of_usage(_usage(None, 1_000_000)) == 1


def test_cached_tokens_cost_as_others_unless_they_have_a_price() -> None:
    assert Prices(prompt_usd=2, completion_usd=0).of_usage(_usage(1_000_000, 0, 999_999)) == 2


def test_what_the_endpoint_says_goes_before_prices() -> None:
    reply = ChatReply(text="a", usage=_usage(1, 1), cost_usd=0.0)
    assert cost_usd(reply, PRICES) == 0.0


def test_the_first_entry_that_fits_counts() -> None:
    small, large = (Prices(prompt_usd=n, completion_usd=n) for n in (1, 2))
    table = PriceTable({"model-mini*": small, "model*": large, "a.b[1]": small})

    assert table.prices_of("model-mini-2026") is small
    assert table.prices_of("model-2026") is large
    assert table.prices_of("my-model") is None
    assert table.prices_of("a.b[1]") is small
    assert table.prices_of("axb1") is None
    assert table.prices_of(None) is None


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_a_table_is_read_from_yaml_or_json(tmp_path: Path, suffix: str) -> None:
    entry = {"prompt_usd": 0.15, "completion_usd": 0.6, "as_of": "2026-11-01", "source": "a price page"}
    path = tmp_path / f"prices.{suffix}"
    text = (
        "models:\n  'm*': {prompt_usd: 0.15, completion_usd: 0.6, as_of: 2026-11-01, source: a price page}\n"
    )
    path.write_text(text if suffix == "yaml" else json.dumps({"models": {"m*": entry}}), "utf-8")

    prices = read_price_table(path).prices_of("mine")

    assert prices is not None
    assert prices.model_dump(mode="json") == entry | {"cached_prompt_usd": None}


def _scenario(folder: Path, **more: Any) -> Any:
    system = {"name": "s", "adapter": "extractive", **more.pop("system", {})}
    value = {"name": "n", "data": {"path": "talk.jsonl"}, "systems": [system], "policies": ["gold"], **more}
    (folder / "talk.jsonl").write_text(
        json.dumps({"id": "c", "turns": [{"question": "Who?", "gold_answers": ["Mira."]}]}) + "\n", "utf-8"
    )
    return parse_scenario(json.dumps(value), source="s.yaml", folder=folder)


@from_table
def test_faults_of_a_table_are_faults_of_the_scenario(tmp_path: Path, text: str | None, says: str) -> None:
    if text is not None:
        (tmp_path / "prices.yaml").write_text(text, "utf-8")
    with pytest.raises(ScenarioError, match=says):
        assemble(_scenario(tmp_path, prices="prices.yaml"))


async def _played(folder: Path, answer: dict[str, Any], **more: Any) -> Run:
    async def handler(_: web.Request) -> web.Response:
        return web.json_response({"choices": [{"message": {"content": "Mira."}}], **answer})

    async with answering(handler) as address:
        system = {"adapter": "openai", "settings": {"base_url": address, "model": "model-mini"}}
        system |= more.pop("system", {})
        return await run_async(_scenario(folder, system=system, **more), runs=folder / "runs")


USAGE = {
    "prompt_tokens": 1000,
    "completion_tokens": 100,
    "prompt_tokens_details": {"cached_tokens": 600},
}


@pytest.mark.parametrize(
    ("answer", "own", "cost"),
    [
        ({"usage": USAGE}, None, (400 * 1 + 600 * 0.1 + 100 * 4) / 1e6),
        ({"usage": USAGE}, {"prompt_usd": 10, "completion_usd": 20}, (1000 * 10 + 100 * 20) / 1e6),
        ({"usage": USAGE | {"cost": 0.125}}, None, 0.125),
        ({}, None, None),
    ],
    ids=["by the table", "by its own prices", "as the endpoint says", "without counts"],
)
async def test_a_turn_has_its_cost(
    tmp_path: Path, answer: dict[str, Any], own: dict[str, Any] | None, cost: float | None
) -> None:
    (tmp_path / "prices.yaml").write_text(
        "models:\n  model-*: {prompt_usd: 1, completion_usd: 4, cached_prompt_usd: 0.1}\n", "utf-8"
    )
    system = {"prices": own} if own else {}

    run = await _played(tmp_path, answer, system=system, prices="prices.yaml", scorers=["cost"])

    (record,) = run.records()
    assert record.cost_usd == (None if cost is None else pytest.approx(cost))
    if answer:
        assert record.usage == _usage(1000, 100, 600)


async def test_a_judge_takes_the_scenario_s_table(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("models:\n  judge-1: {prompt_usd: 3, completion_usd: 5}\n", "utf-8")
    settings = {"base_url": "http://127.0.0.1:9/v1", "model": "judge-1"}
    judges = [{"correctness": {"adapter": "openai", "settings": settings}}]

    (panel,) = assemble(_scenario(tmp_path, prices="prices.yaml", judges=judges)).judges

    assert panel.voters[0].prices is not None
    assert panel.voters[0].prices.completion_usd == 5
