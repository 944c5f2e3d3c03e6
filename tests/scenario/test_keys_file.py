"""What a scenario says beside its larger sections: data, systems, policies, scorers, prices, seed, ..."""

from __future__ import annotations

import pytest
import yaml

from replay.core.errors import DatasetError, ScenarioError
from replay.results.run import Run
from tests.scenario.keys import (
    PRICED,
    answers,
    counting_tokens,
    key,
    outcomes,
    pauses,
    played,
    talk,
    write_talks,
)


def conversations(run: Run) -> list[str]:
    return [record.conversation for record in run.records()]


@key("name")
async def test_a_runs_folder_is_named_for_its_scenario(tmp_path):
    assert (await played(tmp_path, name="first try")).folder.name.startswith("first-try-")


@key("data.path")
@pytest.mark.parametrize(
    ("path", "found"),
    [("talks.jsonl", "abc"), ("more/*.jsonl", "de"), (["more/e.jsonl", "talks.jsonl"], "eabc")],
)
async def test_the_conversations_are_those_of_the_files_that_are_named(tmp_path, path, found):
    for name in "de":
        write_talks(tmp_path / "more", [talk(name)])
        (tmp_path / "more" / "talks.jsonl").rename(tmp_path / "more" / f"{name}.jsonl")
    run = await played(tmp_path, data={"path": path})
    assert conversations(run) == [*found]


@key("data.format", "data.settings")
async def test_a_file_is_read_in_the_format_that_is_named_with_its_settings(tmp_path):
    (tmp_path / "table.txt").write_text("conversation~question~answer\na~Who?~Me.\n")
    with pytest.raises(DatasetError, match="no format that can be told"):
        await played(tmp_path, data={"path": "table.txt"})
    with pytest.raises(DatasetError, match="no column"):
        await played(tmp_path, data={"path": "table.txt", "format": "csv"})
    data = {"path": "table.txt", "format": "csv", "settings": {"delimiter": "~"}}
    assert answers(await played(tmp_path, data=data)) == ["Me."]


@key("data.limit")
async def test_only_the_first_conversations_are_played(tmp_path):
    assert conversations(await played(tmp_path, data={"path": "talks.jsonl", "limit": 2})) == ["a", "b"]


@key("data.ask")
async def test_only_the_last_turns_are_asked_after_the_recorded_history(tmp_path):
    talks = [talk("a"), talk("b", 3)]
    run = await played(tmp_path, talks=talks, data={"path": "talks.jsonl", "ask": "last"}, policies=["gold"])
    assert [(record.asked, record.depth) for record in run.records()] == [("a 1?", 1), ("b 3?", 3)]


@key("data.skip_bad")
async def test_conversations_that_cannot_be_read_may_be_skipped(tmp_path):
    talks = [talk("a"), {"id": "b", "turns": "none"}, talk("c")]
    with pytest.raises(DatasetError, match="turns"):
        await played(tmp_path, talks=talks)
    run = await played(tmp_path, talks=talks, data={"path": "talks.jsonl", "skip_bad": True})
    assert conversations(run) == ["a", "c"]
    assert run.state().skipped_conversations == 1


@key("systems.name", "systems.adapter", "systems.settings")
async def test_each_system_is_asked_under_its_name_by_its_adapter_with_its_settings(tmp_path):
    systems = [
        {"name": "gold", "adapter": "scripted"},
        {"name": "told", "adapter": "scripted", "settings": {"answers": ["What I am told."]}},
        {"name": "found", "adapter": "extractive"},
    ]
    run = await played(tmp_path, talks=[talk("a")], systems=systems)
    assert {record.system: record.answer for record in run.records()} == {
        "gold": "a said 1.",
        "told": "What I am told.",
        "found": "CANNOTANSWER",
    }


@key(
    "systems.prices.prompt_usd", "systems.prices.completion_usd", "systems.prices.cached_prompt_usd", "prices"
)
@pytest.mark.parametrize(("prices", "cost_usd"), PRICED)
async def test_an_answer_costs_what_the_system_or_the_table_says(tmp_path, prices, cost_usd):
    (tmp_path / "prices.yaml").write_text(yaml.safe_dump({"models": {"small-*": prices}}))
    nine = {"prompt_usd": 9, "completion_usd": 9}
    (tmp_path / "nine.yaml").write_text(yaml.safe_dump({"models": {"small-*": nine}}))
    async with counting_tokens() as model:
        runs = [
            await played(tmp_path, system={**model, "prices": prices}, prices="nine.yaml"),
            await played(tmp_path, system=model, prices="prices.yaml"),
        ]
        free = await played(tmp_path, system=model)
    for run in runs:
        assert [record.cost_usd for record in run.records()] == [pytest.approx(cost_usd)] * 3
    assert [record.cost_usd for record in free.records()] == [None] * 3


@key("policies")
async def test_conversations_are_played_under_each_policy_with_its_settings(tmp_path):
    talks = [
        {"id": "a", "turns": [{"question": "Who?", "gold_answers": ["Me."], "standalone": "Who is it?"}]}
    ]
    policies = ["gold", {"replace": {"always": True}}, "replace"]
    run = await played(tmp_path, talks=talks, policies=policies)
    assert {record.policy: record.asked for record in run.records()} == {
        "gold": "Who?",
        "replace(always=True)": "Who is it?",
        "replace": "Who?",
    }


@key("scorers")
async def test_answers_are_scored_by_each_scorer_with_its_settings(tmp_path):
    system = {"settings": {"answers": ["a said so."]}}
    scorers = ["em", {"rouge_l": {"beta": 8}}, "rouge_l"]
    run = await played(tmp_path, talks=[talk("a")], system=system, scorers=scorers)
    found = run.turns()[["em", "rouge_l(beta=8)", "rouge_l"]].iloc[0].to_dict()
    assert found["em"] == 0
    assert 0 < found["rouge_l"] < 1
    assert list((await played(tmp_path)).scorers()) == ["em"]


@key("seed")
async def test_whatever_is_drawn_follows_from_the_seed(tmp_path, monkeypatch):
    found = []
    for seed in (1, 1, 2):
        waits = pauses(monkeypatch)
        faults = [{"kind": "connection", "attempt": 1}, {"kind": "refused", "conversation": "b"}]
        system = {"settings": {"answers": {"a": ["a said 1."], "*": ["No."]}, "faults": faults}}
        talks = [talk(name) for name in "abcdefgh"]
        run = await played(tmp_path, talks=talks, system=system, seed=seed, play={"concurrency": 1})
        table = run.depth_table(resamples=40)
        found.append([*waits, *table[["em_low", "em_high"]].iloc[-1]])
    assert found[0] == found[1]
    assert all(first != second for first, second in zip(found[0][:7], found[2], strict=False))
    assert run.report(resamples=0).table.seed == 2


@key("not_secret")
async def test_what_looks_like_a_key_is_taken_at_its_word(tmp_path):
    told = "sk-proj-" + "k3Xv9QpL2mNs7RtY" * 2
    system = {"settings": {"answers": [told]}}
    with pytest.raises(ScenarioError, match="looks like"):
        await played(tmp_path, system=system)
    run = await played(tmp_path, system=system, not_secret=["systems[0].settings.answers[0]"])
    assert outcomes(run) == ["answered"] * 3
