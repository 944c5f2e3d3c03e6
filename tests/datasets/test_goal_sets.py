"""Goals in the place of questions, as other tools' test cases have them."""

from __future__ import annotations

import json

import pytest

from replay.core.conversation import UserGoal
from replay.core.expectation import Expectation
from replay.datasets.goal_sets import AdkReader, LangWatchReader, MlflowReader, Tau2Reader
from tests.data_tables import from_table
from tests.datasets.files import contract, fault, json_file, json_lines_file, only

CALL = {
    "domain": "shop",
    "reason_for_call": "You want your money back for order 40172.\n",
    "known_info": "You are Ann Holt.",
    "unknown_info": "The day on which you ordered.",
    "task_instructions": "Insist once.",
}
TASK = {
    "id": "0",
    "description": {"purpose": "No refund after thirty days.", "relevant_policies": None, "notes": None},
    "user_scenario": {"persona": None, "instructions": CALL},
    "initial_state": None,
    "evaluation_criteria": {
        "actions": [{"action_id": "0_0", "name": "find_order", "arguments": {"order_id": "40172"}}],
        "communicate_info": ["30"],
        "nl_assertions": ["The agent refuses."],
        "reward_basis": ["DB", "COMMUNICATE"],
    },
    "annotations": None,
}
OTHER_TASK = {"id": "1", "user_scenario": {"instructions": "You want a voucher."}}
CASE = {
    "goal": "Set up a registry",
    "persona": "A beginner",
    "context": {"user_id": "123"},
    "expectations": {"topic": "registry"},
    "simulation_guidelines": ["Ask before you go on."],
}
ADK_CASE = {
    "eval_id": "refund",
    "conversation_scenario": {
        "starting_prompt": "I need a refund.",
        "conversation_plan": "You want your money back for order 40172.",
        "user_persona": "NOVICE",
    },
    "rubrics": [{"rubric_id": "1", "rubric_content": {"text_property": "The agent is polite."}}],
}
CAMEL_CASE = {
    "evalId": "voucher",
    "conversationScenario": {
        "startingPrompt": "Hello.",
        "conversationPlan": "You want a voucher.",
        "userPersona": {
            "id": "angry",
            "description": "Is angry.",
            "behaviors": [{"name": "short", "description": "", "behavior_instructions": ["Write little."]}],
        },
    },
}
SCENARIO = {
    "id": "scenario_1",
    "name": "Refund",
    "situation": "The user wants a refund.",
    "criteria": ["Asks for the order."],
    "labels": ["billing"],
}


TestTau2Reader = contract(
    Tau2Reader(), "tasks.json", [TASK, OTHER_TASK], [TASK | {"user_scenario": {"persona": "A"}}, OTHER_TASK]
)


TestMlflowReader = contract(
    MlflowReader(), "cases.json", [CASE, {"goal": "Learn"}], [CASE | {"goal": None}, {"goal": "Learn"}]
)


TestAdkReader = contract(
    AdkReader(),
    "set.json",
    {"eval_set_id": "s", "eval_cases": [ADK_CASE, CAMEL_CASE]},
    {
        "eval_set_id": "s",
        "eval_cases": [(ADK_CASE | {"conversation_scenario": {"starting_prompt": "Hello."}}), CAMEL_CASE],
    },
)


TestLangWatchReader = contract(
    LangWatchReader(),
    "list.json",
    [SCENARIO, SCENARIO | {"id": "scenario_2"}],
    [SCENARIO | {"criteria": "Asks."}, SCENARIO | {"id": "scenario_2"}],
)


def test_a_task_says_what_its_user_wants_knows_and_does_not_know(tmp_path):
    found = only(Tau2Reader(), json_file(tmp_path / "task_000.json", TASK))

    assert (found.id, found.turns) == ("0", ())
    assert found.goal == UserGoal(
        wants="You want your money back for order 40172.",
        facts={"about you": "You are Ann Holt."},
        guidelines=("Insist once.", "You do not know: The day on which you ordered."),
    )
    assert found.metadata == {
        "domain": "shop",
        "purpose": "No refund after thirty days.",
        "criteria": ["The agent refuses."],
    }
    assert found.expect == (Expectation(kind="contains", value="30"),)


def test_what_the_agent_has_to_say_is_checked_only_where_the_reward_rests_on_it(tmp_path):
    criteria = TASK["evaluation_criteria"] | {"reward_basis": ["DB"]}
    found = only(Tau2Reader(), json_file(tmp_path / "t.json", TASK | {"evaluation_criteria": criteria}))

    assert found.expect == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"initial_state": {"message_history": [{"role": "user", "content": "Hi"}]}},
            "initial_state.message_history: has messages; a conversation that goes on from others can't be",
        ),
        ({"user_tools": ["restart_phone"]}, "user_tools: the user calls tools, and users here only talk"),
        (
            {"evaluation_criteria": {"actions": [{"requestor": "user", "name": "restart_phone"}]}},
            "evaluation_criteria.actions: the user calls tools, and users here only talk",
        ),
    ],
)
def test_a_task_that_asks_for_more_than_talking_is_an_error(tmp_path, change, message):
    assert message in fault(Tau2Reader(), json_file(tmp_path / "t.json", [TASK | change]))


def test_a_test_case_keeps_what_is_not_for_the_user(tmp_path):
    found = only(MlflowReader(), json_file(tmp_path / "cases.json", [CASE]))

    assert found.id == "cases.json:1"
    assert found.goal == UserGoal(
        wants="Set up a registry", persona="A beginner", guidelines=("Ask before you go on.",)
    )
    assert found.metadata == {"context": {"user_id": "123"}, "expectations": {"topic": "registry"}}


def test_records_of_a_data_set_and_lines_hold_the_same_cases(tmp_path):
    inputs = {name: value for name, value in CASE.items() if name != "expectations"}
    record = {"inputs": inputs | {"simulation_guidelines": "Ask."}, "expectations": CASE["expectations"]}
    found = only(MlflowReader(), json_lines_file(tmp_path / "a.jsonl", [record]))

    assert found.goal.guidelines == ("Ask.",)
    assert found.metadata["expectations"] == {"topic": "registry"}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"persona": "A"}, "item 1, goal: is required but missing"),
        ({"inputs": {"persona": "A"}}, "item 1, inputs.goal: is required but missing"),
        ({"goal": " "}, 'item 1, conversation "c.json:1", goal.wants: is empty; say what the user wants'),
    ],
)
def test_a_test_case_without_a_goal_is_an_error(tmp_path, row, message):
    assert message in fault(MlflowReader(), json_file(tmp_path / "c.json", [row]))


def test_a_scenario_of_adk_has_its_opener_plan_and_persona_in_either_style(tmp_path):
    path = json_file(tmp_path / "s.json", {"evalSetId": "s", "evalCases": [CAMEL_CASE, ADK_CASE]})
    camel, snake = AdkReader(rubrics=True).read(path)

    assert camel.goal == UserGoal(
        wants="You want a voucher.", persona="Is angry. Write little.", opener="Hello."
    )
    assert (snake.id, snake.goal.persona, snake.goal.opener) == ("refund", "NOVICE", "I need a refund.")
    assert snake.expect == (Expectation(kind="rubric", value="The agent is polite."),)


def test_scenarios_of_adk_may_stand_in_a_file_of_their_own(tmp_path):
    path = json_file(tmp_path / "s.json", {"scenarios": [ADK_CASE["conversation_scenario"]]})
    assert AdkReader().recognizes(path, path.read_bytes())
    found = only(AdkReader(), path)

    assert (found.id, found.goal.wants) == ("s.json:1", "You want your money back for order 40172.")


def test_a_recorded_conversation_of_adk_is_none(tmp_path):
    case = {"eval_id": "a", "conversation": [{"user_content": {"parts": [{"text": "Hi"}]}}]}
    path = json_file(tmp_path / "s.json", {"eval_set_id": "s", "eval_cases": [case]})

    assert "conversation: is a recorded conversation, not a scenario" in fault(AdkReader(), path)


def test_a_scenario_of_langwatch_is_a_situation_with_criteria(tmp_path):
    found = only(LangWatchReader(rubrics=True), json_file(tmp_path / "l.json", [SCENARIO]))

    assert (found.id, found.title, found.goal.wants) == ("scenario_1", "Refund", "The user wants a refund.")
    assert found.metadata == {"criteria": ["Asks for the order."], "labels": ["billing"]}
    assert found.expect == (Expectation(kind="rubric", value="Asks for the order."),)


@from_table
def test_a_goal_of_the_native_format_is_read_strictly(tmp_path, line, message):
    from replay.datasets.native import NativeReader

    (tmp_path / "a.jsonl").write_text(json.dumps(line))
    assert message in fault(NativeReader(), tmp_path / "a.jsonl")
