"""``tools``: each key played where it matters."""

from __future__ import annotations

import json

import pytest

import replay
from replay.core.conversation import Conversation, Turn
from replay.core.errors import ScenarioError
from replay.core.message import Message, ToolCall
from replay.scenario.assembly import assemble, try_assemble
from replay.scenario.side_effects import side_effects
from tests.cli.command import replay_cli
from tests.data_tables import from_table
from tests.scenario.keys import answers, in_time, key, outcomes, played, python, scenario, talk

ONE = [talk("a")]
BOT = """
import json
from replay import ChatReply, ToolCall

def answer(request):
    results = [step.text for step in request.steps if step.role == "tool"]
    if len(results) == CALLS:
        return " and ".join(results)
    arguments = json.dumps({"order": 7, "shop": "north"})
    return ChatReply(text="", tool_calls=(ToolCall(id=str(len(results)), name="find", arguments=arguments),))
"""
FUNCTION = """
async def answer(name, arguments):
    return {"sent": arguments["order"]} if name == "find" else None
"""


async def answered(folder, tools=None, *, calls=1, of_system=None):
    system = python(folder, BOT.replace("CALLS", str(calls)))
    (folder / "tools.py").write_text(FUNCTION, "utf-8")
    if of_system is not None:
        system["tools"] = of_system
    return await played(folder, talks=ONE, system=system, **({} if tools is None else {"tools": tools}))


BOTH = pytest.mark.parametrize("where", ["tools", "of_system"])


@key("tools.results.name", "tools.results.arguments", "tools.results.result", "tools.match")
@key("systems.tools.results.name", "systems.tools.results.arguments", "systems.tools.results.result")
@key("systems.tools.match")
@BOTH
async def test_results_are_found_by_name_and_arguments(tmp_path, where):
    results = [
        {"name": "other", "result": "no"},
        {"name": "find", "arguments": {"order": 8}, "result": "no"},
        {"name": "find", "arguments": {"order": 7}, "result": {"sent": True}},
        {"name": "find", "arguments": "any", "result": "any"},
    ]
    run = await answered(tmp_path / "subset", **{where: {"results": results}})
    assert answers(run) == ['{"sent": true}']
    run = await answered(tmp_path / "exact", **{where: {"results": results, "match": "exact"}})
    assert answers(run) == ["any"]


@key("tools.results.name", "tools.results.arguments", "tools.results.result")
async def test_results_may_stand_in_a_file(tmp_path):
    lines = [{"name": "find", "arguments": {"order": 8}, "result": "no"}, {"name": "find", "result": [1]}]
    (tmp_path / "results.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in lines), "utf-8")
    run = await answered(tmp_path, {"results": "results.jsonl"})
    assert answers(run) == ["[1]"]


@key("tools.function", "systems.tools.function")
@BOTH
async def test_a_function_may_know_the_results(tmp_path, where):
    run = await answered(tmp_path, **{where: {"function": "tools.py:answer"}})
    assert answers(run) == ['{"sent": 7}']
    asked = [(step.role, step.text) for step in run.records()[0].steps]
    assert asked == [("assistant", ""), ("tool", '{"sent": 7}')]


@key("tools.missing.result", "systems.tools.missing.result")
@BOTH
async def test_what_nobody_knows_fails_the_turn_or_has_a_result(tmp_path, where):
    run = await answered(tmp_path, **{where: {}})
    assert outcomes(run) == ["unfinished"]
    run = await answered(tmp_path, **{where: {"missing": {"result": ["none"]}}})
    assert answers(run) == ['["none"]']


@key("tools.max_steps", "systems.tools.max_steps")
@BOTH
async def test_a_turn_takes_so_many_asks(tmp_path, where):
    for most, found in ((2, ["unfinished"]), (3, ["answered"])):
        tools = {"function": "tools.py:answer", "max_steps": most}
        assert outcomes(await answered(tmp_path, calls=2, **{where: tools})) == found


@key("tools.timeout_s", "systems.tools.timeout_s")
@BOTH
async def test_a_turn_takes_so_long(tmp_path, where):
    tools = {"function": "tools.py:answer", "timeout_s": 1e-9}
    run = await answered(tmp_path, **{where: tools})
    assert outcomes(run) == ["timed-out"]
    assert "within 1e-09 s" in str(run.records()[0].error)


@key("tools.recorded", "systems.tools.recorded")
@BOTH
async def test_what_was_recorded_counts_unless_told_otherwise(tmp_path, where):
    call = ToolCall(id="r", name="find", arguments='{"shop": "north", "order": 7}')
    steps = (
        Message(role="assistant", tool_calls=(call,)),
        Message(role="tool", text="as recorded", tool_call_id="r"),
    )
    talks = [Conversation(id="a", turns=(Turn(id="1", question="Where?", gold_answers=("g",), steps=steps),))]
    system = {"name": "s", **python(tmp_path, BOT.replace("CALLS", "1"))}
    system["settings"]["target"] = str(tmp_path / "bot.py:answer")
    for tools, found in (({}, ["as recorded"]), ({"recorded": False}, [None])):
        one = system if where == "tools" else {**system, "tools": tools}
        content = {"name": "t", "data": talks, "systems": [one], "policies": ["gold"], "scorers": ["em"]}
        content |= {"drift": {"nlp_workers": 0}, **({"tools": tools} if where == "tools" else {})}
        run = await in_time(replay.run_async(content, runs=tmp_path / "runs"))
        assert answers(run) == found


@key("systems.tools.function")
async def test_a_system_has_tools_of_its_own_or_none(tmp_path):
    everyones = {"results": [{"name": "find", "result": "everyone's"}]}
    assert answers(await answered(tmp_path, everyones)) == ["everyone's"]
    run = await answered(tmp_path, everyones, of_system={"function": "tools.py:answer"})
    assert answers(run) == ['{"sent": 7}']
    run = await answered(tmp_path, everyones, of_system=False)
    assert outcomes(run) == ["bad-reply"]


def faults_of(folder, tools, **more):
    (folder / "tools.py").write_text(FUNCTION + "\ndef short(name): ...\nnothing = 1\n", "utf-8")
    with pytest.raises(ScenarioError) as failure, replay.core.safety.consent.code_may_run():
        assemble(scenario(folder, tools=tools, **more))
    return {fault.path: fault.message for fault in failure.value.faults}


@from_table
def test_each_fault_names_its_place(tmp_path, tools, at, said):
    lines = ['{"name": "find", "result": 1}', '{"name": "find", "results": 1}']
    (tmp_path / "bad.jsonl").write_text("\n".join(lines), "utf-8")
    found = faults_of(tmp_path, tools)
    assert [path for path in found if path.startswith(at)], found
    assert said in " ".join(found.values())


def test_the_function_is_code_that_runs_and_is_not_run_to_look_at_it(tmp_path):
    (tmp_path / "tools.py").write_text("1 / 0", "utf-8")
    (tmp_path.parent / "elsewhere.jsonl").write_text('{"name": "find", "result": 1}\n', "utf-8")
    tools = {"function": "tools.py:answer", "results": "../elsewhere.jsonl"}
    for of_scenario, label in (({"tools": tools}, "tools"), ({"system": {"tools": tools}}, "system s")):
        assembly, faults = try_assemble(scenario(tmp_path, **of_scenario))
        assert faults == []
        does = side_effects(assembly)
        assert does.runs == {"tools.py:answer": (label,)}
        assert does.reads == {"../elsewhere.jsonl": (label,)}


def test_validate_says_who_knows_results(tmp_path):
    (tmp_path / "tools.py").write_text(FUNCTION, "utf-8")
    scenario(tmp_path, tools={"results": [{"name": "find", "result": 1}], "function": "tools.py:answer"})
    done = replay_cli("validate", "keys.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "tools: results:1,sha256:" in said
    assert ",subset|recorded|missing:error|max_steps:10|timeout_s:300" in said
    assert "tools.function: is code" in done.stdout
