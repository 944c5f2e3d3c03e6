"""``--on`` and ``on=``: who plays, in the place of the scenario's ``cluster``."""

from __future__ import annotations

import asyncio

import pytest

from replay.core.errors import ScenarioError
from replay.results.run import Run
from replay.runs.launch import resume_async, run_async
from replay.runs.rerun import rerun_async
from tests.cli.command import replay_cli
from tests.data_tables import from_table
from tests.scenario.keys import in_time, outcomes, played, python, scenario, talk, write_talks
from tests.workers.cluster.fake_ray import FakeRay, put_in_place

HEAD = "ray://head:10001"


@pytest.fixture
def ray(monkeypatch) -> FakeRay:
    fake = put_in_place(monkeypatch)
    fake.add()
    return fake


async def begun(folder, **changes) -> Run:
    """A run that was asked and can be asked again."""
    return await played(folder, talks=[talk("a"), talk("b")], **changes)


async def test_a_run_is_played_on_what_the_caller_names(tmp_path, ray):
    run = await in_time(run_async(scenario(tmp_path), runs=tmp_path / "runs", on=HEAD))
    assert outcomes(run) == ["answered"] * 3
    assert len(ray.actors) == 1
    assert ray.given["address"] == HEAD
    section = run.scenario().scenario.cluster
    assert section is not None
    assert section.address == HEAD, "so that it is resumed there"


async def test_ray_is_the_scenario_s_own_cluster(tmp_path, ray):
    file = scenario(tmp_path, cluster={"address": HEAD, "cpus": 0.5})
    await in_time(run_async(file, runs=tmp_path / "runs", on="ray"))
    assert ray.given["address"] == HEAD
    assert ray.options[0]["num_cpus"] == 0.5


async def test_here_is_no_cluster(tmp_path, ray):
    file = scenario(tmp_path, cluster={"address": HEAD})
    run = await in_time(run_async(file, runs=tmp_path / "runs", on="here"))
    assert outcomes(run) == ["answered"] * 3
    assert not ray.actors


async def test_a_run_is_resumed_and_asked_again_on_what_the_caller_names(tmp_path, ray):
    run = await begun(tmp_path)
    assert not ray.actors
    await in_time(rerun_async(run.folder, ["conversation=a"], on=HEAD))
    assert len(ray.actors) == 1
    store_scenario = run.scenario().scenario
    assert store_scenario.cluster is None, "it is for this once"
    more = scenario(tmp_path, talks=[talk("a"), talk("b"), talk("c")])
    run = await in_time(resume_async(run.folder, with_new_data=True, on=HEAD))
    assert more.scenario.cluster is None
    assert outcomes(run) == ["answered"] * 3
    assert len(ray.actors) == 2


@pytest.mark.parametrize("verb", ["run", "resume", "rerun", "stress"])
def test_each_verb_that_plays_takes_it(tmp_path, verb):
    run = asyncio.run(begun(tmp_path))
    what = {"resume": [run.folder], "rerun": [run.folder, "--only", "depth=1"]}
    result = replay_cli(verb, *what.get(verb, [tmp_path / "keys.yaml"]), "--on", "nowhere", cwd=tmp_path)
    assert result.returncode == 2
    assert 'cluster.address  "nowhere" is no address of a cluster: auto, ray://HOST' in result.stderr


@pytest.mark.parametrize(
    "address", ["ray://head", "http://head:1", "head", "ray://:1", "a b:1", "ray://h:1/x"]
)
def test_what_is_no_address_is_said(tmp_path, address):
    with pytest.raises(ScenarioError, match=r"cluster\.address +.* is no address of a cluster"):
        scenario(tmp_path, cluster={"address": address})


@pytest.mark.parametrize("address", ["auto", "ray://head:10001", "10.0.0.1:6379", "ray://[::1]:10001"])
def test_an_address_is_a_host_with_a_port(tmp_path, address):
    section = scenario(tmp_path, cluster={"address": address}).scenario.cluster
    assert section is not None
    assert section.address == address


@from_table
async def test_what_a_cluster_can_not_have_is_said(tmp_path, changes, fault):
    with pytest.raises(ScenarioError, match=fault):
        await played(tmp_path, cluster={}, **changes)
    assert not (tmp_path / "runs").exists()


async def test_objects_of_this_process_are_not_asked_from_another_one(tmp_path):
    write_talks(tmp_path, [talk("a")])
    content = {
        "name": "memory",
        "data": {"path": str(tmp_path / "talks.jsonl")},
        "systems": [{"name": "s", "adapter": "python", "settings": {"target": lambda question: question}}],
        "policies": ["gold"],
    }
    with pytest.raises(ScenarioError, match=r"cluster +what comes from memory .* name it as file\.py:name"):
        await run_async(content, runs=tmp_path, on=HEAD)


async def test_a_folder_of_answers_is_left_alone_where_a_run_is_played_here(tmp_path):
    bot = python(tmp_path, "def answer(question): return question")
    file = scenario(tmp_path, system=bot, cluster={}, play={"cache": "kept"})
    run = await in_time(run_async(file, runs=tmp_path / "runs", on="here"))
    assert (tmp_path / "kept").is_dir()
    assert outcomes(run) == ["answered"] * 3
