"""Load goes only where somebody said that it may."""

from __future__ import annotations

import re

import pytest
import yaml

from replay.core.errors import InputError, ScenarioError
from replay.runs.launch import run_async
from tests.data_tables import from_table
from tests.load.scenes import NOWHERE, scenario


@pytest.fixture
def never_reached(monkeypatch):
    """Fails the test when something is asked or a run is begun."""

    def reached(*_, **__):
        raise AssertionError("the run went on")

    monkeypatch.setattr("replay.runs.launch.new_store", reached)


@pytest.mark.parametrize(
    "address", [NOWHERE, "http://load.invalid", "http://8.8.8.8", "http://[2001:db8::1]"]
)
async def test_a_host_out_there_is_refused_before_a_run_begins(tmp_path, never_reached, address):
    file = scenario(tmp_path, {"turns": 1}, address=address)
    with pytest.raises(InputError, match="--allow-host"):
        await run_async(file, runs=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


async def test_a_policys_own_system_is_looked_at_too(tmp_path, never_reached):
    """An LLM rewriter is asked at every turn."""
    llm = {"adapter": "openai", "settings": {"base_url": f"{NOWHERE}/v1", "model": "m"}}
    file = scenario(tmp_path, {"turns": 1}, policies=[{"rewrite": {"rewriter": {"llm": llm}}}])
    with pytest.raises(InputError) as refused:
        await run_async(file, runs=tmp_path / "runs")
    assert "192.0.2.1" in str(refused.value), str(refused.value)


async def test_a_host_that_was_confirmed_is_asked(tmp_path):
    """Nobody is there; what counts is that it was tried."""
    file = scenario(tmp_path, {"turns": 1}, address=NOWHERE, play={"timeout_s": 0.1})
    run = await run_async(file, runs=tmp_path / "runs", may_load=["192.0.2.1"])
    assert len(run.records()) == 1
    assert run.records()[0].outcome in ("timed-out", "connection-failed")


async def test_another_confirmed_host_is_not_enough(tmp_path, never_reached):
    file = scenario(tmp_path, {"turns": 1}, address=NOWHERE)
    with pytest.raises(InputError, match=r"put load on 192\.0\.2\.1"):
        await run_async(file, runs=tmp_path / "runs", may_load=["192.0.2.2"])


def test_a_scenario_confirms_nothing(tmp_path):
    """It may come from somebody else; who starts it answers for the load."""
    with pytest.raises(ScenarioError) as refused:
        scenario(tmp_path, {"turns": 1, "allow_host": ["192.0.2.1"]}, address=NOWHERE)
    assert "whoever starts it: replay stress SCENARIO --allow-host HOST" in str(refused.value)


ANTHROPIC = {"adapter": "anthropic", "settings": {"model": "m"}}
HTTP = {"url": "http://127.0.0.1:9/", "answer": "a"}


@from_table
async def test_every_host_that_a_load_run_reaches_is_asked_for(tmp_path, never_reached, host, more):
    """By default addresses, by judges, rewriters and resolvers, and by requests beside the questions."""
    (tmp_path / "own.py").write_text(
        "from replay_adapters.local.extractive import ExtractiveAdapter\n"
        "class Own(ExtractiveAdapter):\n    hosts = ('https://192.0.2.7/v1',)\n"
    )
    if not more.keys() & {"systems", "judges", "policies", "drift", "adapter"}:
        more = {"systems": [{"name": "s", "adapter": "http", "settings": {**HTTP, **more}}]}
    if "adapter" in more:
        more = {"systems": [{"name": "s", **more}]}
    file = scenario(tmp_path, {"turns": 1}, **more)
    with pytest.raises(InputError, match=f"put load on {re.escape(host)}, and"):
        await run_async(file, runs=tmp_path / "runs")


async def test_a_run_without_load_needs_no_confirmation(tmp_path):
    file = scenario(tmp_path, None, address=NOWHERE, play={"timeout_s": 0.05, "attempts": 1})
    run = await run_async(file, runs=tmp_path / "runs")
    assert len(run.records()) == 3
    assert yaml.safe_load(file.text)["systems"][0]["settings"]["base_url"] == f"{NOWHERE}/v1"
