"""
``recorded``: each answer held against the recorded one, each key played where it matters.

``telemetry``: each key played where it matters.

``cluster``: each key played where it matters, on nodes that are made up.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from replay.core.errors import RunStoppedError, ScenarioError
from replay.report.notes import notes
from replay.results import telemetry
from replay.scenario import combinations
from replay.scenario.assembly import assemble
from tests.adapters.servers import answering
from tests.data_tables import from_table
from tests.runs.test_traceparent import Listening
from tests.scenario.keys import answers, key, outcomes, played, python, scenario, talk
from tests.waiting import until_async
from tests.workers.cluster.fake_ray import FakeRay, put_in_place
from tests.workers.test_plays import stored

TALK = talk("a")
TALK["turns"][0] |= {
    "question": "How much?",
    "gold_answers": ["It costs 12 euros a month.", "12 a month", "12 monthly"],
}


async def verdicts(folder, answer: str, recorded: dict[str, Any], **more: Any) -> list[tuple[str, str]]:
    system = {"settings": {"answers": [answer]}}
    run = await played(folder, talks=[TALK], system=system, recorded=recorded, **more)
    return [(one.verdict, one.by) for one in run.recorded_turns()]


@key("recorded.same_from")
async def test_two_answers_are_the_same_from_this_likeness_on(tmp_path):
    answer = "12 euros, payable by card or invoice."
    assert await verdicts(tmp_path, answer, {"same_from": 0.9}) == [("differs", "nothing")]
    assert await verdicts(tmp_path, answer, {"same_from": 0.1}) == [("same", "equivalence")]


@key("recorded.judge")
async def test_the_judge_that_is_named_decides(tmp_path):
    """It always says A, and B in the other order, as its answers go: the recorded one, or the new one."""
    judges = [
        {"pairwise": {"adapter": "scripted", "settings": {"answers": [said]}, "cache": False, "name": name}}
        for name, said in (("ties", "TIE"), ("places", "A"))
    ]
    for name, expected in (("ties", ("same", "judge")), ("places", ("differs", "nothing"))):
        assert await verdicts(tmp_path, "Nobody knows.", {"judge": name}, judges=judges) == [expected]
    with pytest.raises(ScenarioError, match=r"say which of the pairwise judges counts \(ties, places\)"):
        assemble(scenario(tmp_path, recorded={"same_from": 0.5}, judges=judges))
    with pytest.raises(ScenarioError, match='"tie" is no judge; did you mean "ties"'):
        assemble(scenario(tmp_path, recorded={"judge": "tie"}, judges=judges))


@key("recorded.score", "recorded.margin")
async def test_both_answers_are_scored_against_the_other_gold_answers(tmp_path):
    answer = "Twelve hundred yen."
    assert await verdicts(tmp_path, answer, {"same_from": 0.9}) == [("differs", "nothing")]
    assert await verdicts(tmp_path, answer, {"score": "f1"}) == [("worse", "scores")]
    assert await verdicts(tmp_path, answer, {"score": "f1", "margin": 0.9}) == [("differs", "nothing")]
    assert await verdicts(tmp_path, "12 monthly", {"score": "f1", "same_from": 1}) == [("better", "scores")]


def test_shares_of_worse_turns_can_be_asserted_where_they_are_asked_for(tmp_path):
    bound = [{"metric": "recorded.worse", "max": 0.1}]
    with pytest.raises(ScenarioError, match=r'"recorded.worse" is no metric'):
        assemble(scenario(tmp_path, **{"assert": bound}))
    assemble(scenario(tmp_path, recorded={"same_from": 0.5}, **{"assert": bound}))


@key("telemetry.sample")
@pytest.mark.parametrize("load", [None, {"conversations": 60}])
async def test_whole_conversations_are_sampled_under_load_one_in_a_hundred(tmp_path, load):
    """Who isn't in the sample says so, or servers would begin traces of their own."""
    bot = python(tmp_path, "def answer(request): return request.traceparent")
    for section, low, high in (({}, *((0, 12) if load else (120, 120))), ({"sample": 0.5}, 24, 96)):
        more = {"load": load} if load else {}
        talks = [talk(f"t{n}", 2) for n in range(60)]
        run = await played(tmp_path, talks=talks, system=bot, telemetry=section, **more)
        flags = {}
        for record in run.records():
            flags.setdefault(record.conversation, []).append(str(record.answer)[-2:])
        assert all(first == second for first, second in flags.values())
        assert low <= sum(flag == "01" for both in flags.values() for flag in both) <= high


@key("telemetry.traceparent")
async def test_nothing_is_sent_unless_the_scenario_has_telemetry_that_does(tmp_path):
    server = Listening()
    async with answering(server.reply) as address:
        settings = {"base_url": f"{address}/v1", "model": "m"}
        for section in (None, {"traceparent": False}):
            await played(tmp_path, system={"adapter": "openai", "settings": settings}, telemetry=section)
    assert len(server.given) == 6
    assert {header for _, header in server.given} == {None}


@key("telemetry.endpoint", "telemetry.file", "telemetry.content")
async def test_spans_go_where_the_section_says_with_as_much_in_them(tmp_path, monkeypatch):
    """What they look like there is for tests/integrations/test_otel_delivery.py."""
    made = []

    def exporters(folder, export):
        made.append((export.endpoint, export.stream and export.stream.name, export.is_sent, export.content))
        return []

    monkeypatch.setattr(telemetry, "exporters", exporters)
    monkeypatch.setattr(combinations, "find_spec", lambda name: name)
    for section in ({"endpoint": "http://127.0.0.1:9"}, {"file": "spans.jsonl", "content": True}):
        await played(tmp_path, telemetry=section)
    assert made == [
        ("http://127.0.0.1:9", None, True, False),
        (None, str(tmp_path / "spans.jsonl"), False, True),
    ]


@from_table
async def test_a_section_that_can_not_work_is_a_fault(tmp_path, section, fault):
    with pytest.raises(ScenarioError, match=fault):
        await played(tmp_path, telemetry=section)


async def test_the_missing_extra_is_named_before_anything_is_asked(tmp_path, monkeypatch):
    monkeypatch.setattr(combinations, "find_spec", lambda _: None)
    with pytest.raises(ScenarioError, match=r"pip install .convreplay\[otel\]"):
        await played(tmp_path, telemetry={"endpoint": "http://127.0.0.1:9"})
    assert not (tmp_path / "runs").exists()


LONG = 30


@pytest.fixture
def ray(monkeypatch) -> FakeRay:
    return put_in_place(monkeypatch)


def used(ray: FakeRay) -> Counter[str]:
    """How many actors were on each node."""
    return Counter(options["scheduling_strategy"].node_id for options in ray.options)


@key("cluster.address")
async def test_the_cluster_at_the_address_plays(tmp_path, ray):
    ray.add()
    run = await played(tmp_path, cluster={"address": "ray://head:10001"})
    assert outcomes(run) == ["answered"] * 3
    assert ray.given["address"] == "ray://head:10001"
    assert not ray.is_connected
    await played(tmp_path, cluster={})
    assert ray.given["address"] == "auto"


@key("cluster.per_node")
@pytest.mark.parametrize("actors", [1, 2])
async def test_each_node_has_so_many_actors(tmp_path, ray, actors):
    node = ray.add(CPU=2)
    run = await played(tmp_path, cluster={"per_node": actors})
    assert outcomes(run) == ["answered"] * 3
    assert used(ray) == {node: actors}


@key("cluster.cpus", "cluster.resources")
async def test_nodes_with_what_an_actor_takes_play(tmp_path, ray):
    ray.add(CPU=1, bot=1)
    ray.add(CPU=4)
    fit = ray.add(CPU=2, bot=1)
    await played(tmp_path, cluster={"cpus": 2, "resources": {"bot": 0.5}})
    assert used(ray) == {fit: 1}
    (options,) = ray.options
    assert (options["num_cpus"], options["resources"]) == (2, {"bot": 0.5})


@key("cluster.wait_s")
async def test_a_run_without_nodes_waits_so_long(tmp_path, ray, monkeypatch):
    ray.add()

    async def lost_at_once(self, *arguments):
        ray.remove(node)

    node = ray.nodes()[0]["NodeID"]
    monkeypatch.setattr("replay.workers.cluster.actor.ClusterActor.begin", lost_at_once)
    with pytest.raises(RunStoppedError, match=r"no node was left to play for 0\.05 s"):
        await played(tmp_path, cluster={"wait_s": 0.05})


@key("cluster.lost_sessions")
@pytest.mark.parametrize(
    ("lost_sessions", "said"),
    [("restart", "began anew"), ("abandon", "set aside with the outcome lost")],
)
async def test_what_a_lost_node_asked_of_a_system_that_keeps_the_history_begins_anew_or_is_set_aside(
    tmp_path, ray, lost_sessions, said
):
    lost, _ = ray.add(), ray.add()
    running = asyncio.create_task(
        played(
            tmp_path,
            talks=[talk(name, LONG) for name in "ab"],  # so that the node is lost in the middle of one
            system={"settings": {"history": "server", "delay_s": 0.005}},
            play={"concurrency": 2},
            cluster={"lost_sessions": lost_sessions},
        )
    )
    await until_async(lambda: stored(tmp_path) >= 4)
    ray.remove(lost)
    run = await running
    (remark,) = [note for note in notes(run.report(resamples=0)) if said in note]
    assert remark.startswith("1 of them")
    ended = {name: [r.outcome for r in run.records() if r.conversation == name] for name in "ab"}
    whole = [name for name, found in ended.items() if found == ["answered"] * LONG]
    if lost_sessions == "restart":
        assert len(whole) == 2
    else:
        assert len(whole) == 1
        (only,) = [r for r in run.records() if r.failed]
        assert only.outcome == "lost"
        assert only.error.startswith("s: node host0 (10.0.0.0, 00000000) was lost, and with it the session")
        assert not run.superseded(), "what was answered stays"


@key("cluster.files")
async def test_files_that_no_setting_names_go_to_the_nodes_where_they_are_asked_for(tmp_path, ray):
    ray.add()
    code = """
from pathlib import Path
def answer(question):
    return " ".join(sorted(path.name for path in Path(__file__).parent.iterdir() if path.is_file()))
"""
    bot = python(tmp_path, code)
    for name in ("words.txt", "more.txt", "other.csv"):
        (tmp_path / name).write_text("word")
    assert set(answers(await played(tmp_path, system=bot, cluster={}))) == {"bot.py"}
    run = await played(tmp_path, system=bot, cluster={"files": ["*.txt"]})
    assert set(answers(run)) == {"bot.py more.txt words.txt"}
