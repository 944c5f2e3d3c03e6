"""Inspect plays scenarios: samples, scores by depth, and all that is Inspect's to say."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason='needs pip install "convreplay[inspect]"')

import numpy as np
from inspect_ai import Task, eval, eval_retry, score
from inspect_ai.log import EvalLog
from inspect_ai.model import ModelAPI, ModelOutput, ModelUsage, get_model, modelapi
from inspect_ai.util import registry_create

from replay.core.errors import ReplayError
from replay.coreference.service.service import CoreferenceService
from replay.integrations.inspect import conversations, depth_table
from tests.data_tables import from_table

TURNS = [
    {"question": "Who wrote The Salt Bridge?", "gold_answer": "Alice Okafor."},
    {"question": "When did she write it?", "gold_answer": "In 1988."},
    {"question": "Was it a success?", "gold_answer": "Yes, it sold out."},
]
ANSWERS = {
    "Who wrote The Salt Bridge?": "Peter Vane did.",
    "When did she write it?": "In 1987.",
    "Was it a success?": "Yes, it sold well.",
}


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


class Model:
    """Answers by question, and counts."""

    def __init__(self, answers: dict[str, Any] = ANSWERS) -> None:
        self.answers = answers
        self.asked: Counter[str] = Counter()
        self.seen: list[list[str]] = []
        self.configs: list[Any] = []
        self.tools: list[list[str]] = []

    def __call__(self, input: Any, tools: Any, choice: Any, config: Any) -> ModelOutput:
        question = [message.text for message in input if message.role == "user"][-1]
        self.asked[question] += 1
        self.seen.append([message.text for message in input])
        self.configs.append(config)
        self.tools.append([tool.name for tool in tools])
        answer = self.answers.get(question, f"Answer to {question}")
        answer = answer(input) if callable(answer) else answer
        output = answer
        if isinstance(answer, str):
            output = ModelOutput.from_content("mockllm/model", answer)
        output.usage = ModelUsage(input_tokens=3, output_tokens=2, total_tokens=5)
        return output


PROVIDER: list[Model] = []
"""Whoever answers for ``talks/model``: a retry makes its model anew, by name."""


@modelapi(name="talks")
def talks() -> type[ModelAPI]:
    class Talks(ModelAPI):
        async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
            return PROVIDER[-1](input, tools, tool_choice, config)

    return Talks


def written(folder: Path, lengths: tuple[int, ...] = (3, 2, 3)) -> str:
    lines = [json.dumps({"id": f"talk-{n}", "turns": TURNS[:length]}) for n, length in enumerate(lengths, 1)]
    (folder / "talks.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return "talks.jsonl"


def scenario(**more: Any) -> dict[str, Any]:
    written(Path())
    whole = {
        "name": "salt",
        "data": {"path": "talks.jsonl"},
        "systems": [{"name": "elsewhere", "adapter": "scripted"}],
        "policies": ["pred"],
        "scorers": ["em", "f1", "bleu4"],
    }
    return {**whole, **more}


def evaluated(task: Task | str, model: Model, **more: Any) -> EvalLog:
    named = get_model("mockllm/model", custom_outputs=model)
    (log,) = eval(task, model=named, display="none", log_dir="logs", **more)
    return log


def metrics(log: EvalLog, scorer: str) -> dict[str, float]:
    (found,) = (one for one in log.results.scores if one.name == scorer)
    return {name: one.value for name, one in found.metrics.items()}


def test_numbers_are_the_depth_tables_and_errors_are_clustered():
    log = evaluated(conversations(scenario(policies=["gold", "pred"])), Model())
    assert log.status == "success", log.error
    table = depth_table(log)
    assert set(table["system"]) == {"mockllm/model"}
    for scorer in ("em", "f1", "bleu4"):
        found = metrics(log, scorer)
        for row in table.itertuples():
            key = (
                "all"
                if row.depth is None or row.depth is table["depth"].dtype.na_value
                else f"depth_{row.depth}"
            )
            assert found[f"{row.policy}_{key}"] == getattr(row, scorer)
    found = metrics(log, "f1")
    turns = [
        [turn["observed"] for turn in sample.scores["f1"].metadata["turns"]]
        for sample in log.samples
        if sample.metadata["policy"] == "pred"
    ]
    every = np.concatenate(turns)
    assert len(every) == 8
    # The cluster-robust variance of a mean, with its correction for few clusters.
    residuals = [sum(np.array(one) - every.mean()) for one in turns]
    variance = sum(one**2 for one in residuals) * len(turns) / (len(turns) - 1) / len(every) ** 2
    assert found["pred_stderr"] == pytest.approx(math.sqrt(variance))
    assert "pred_stderr" not in metrics(log, "bleu4")


def test_a_sample_is_a_conversation_under_a_policy():
    log = evaluated(conversations(scenario(policies=["gold", "pred"])), Model(), limit=3)
    samples = {sample.id: sample for sample in log.samples}
    assert samples.keys() == {"gold/talk-1", "pred/talk-1", "gold/talk-2"}
    sample = samples["pred/talk-1"]
    assert sample.target == ["Alice Okafor.", "In 1988.", "Yes, it sold out."]
    assert sample.input.splitlines()[1] == "2. When did she write it?"
    assert sample.scores["f1"].value["depth_2"] == pytest.approx(0.5)
    assert "2. When did she write it? | In 1987. | 0.5" in sample.scores["f1"].explanation
    (only,) = evaluated(conversations(scenario()), Model(), sample_id="talk-2").samples
    assert (only.id, list(only.scores["f1"].value)) == ("talk-2", ["all", "depth_1", "depth_2"])


def test_messages_stand_in_their_real_order_with_what_was_planned():
    model = Model()
    log = evaluated(conversations(scenario(policies=["rewrite"])), model, sample_id="talk-1")
    (sample,) = log.samples
    said = [(message.role, message.text) for message in sample.messages]
    question = said[2][1]
    assert question != TURNS[1]["question"]
    assert "Okafor" in question
    assert said[:2] == [("user", TURNS[0]["question"]), ("assistant", "Peter Vane did.")]
    assert [role for role, _ in said] == ["user", "assistant"] * 3
    planned = sample.messages[2].metadata
    assert planned == {
        "depth": 2,
        "asked": question,
        "recorded": "When did she write it?",
        "edit": "rewritten",
        "valid": False,
        "drift": planned["drift"],
    }
    events = [event for event in sample.events if event.event == "info"]
    assert [event.data["depth"] for event in events] == [1, 2, 3]
    assert {**events[1].data, "drift": planned["drift"]} == planned  # a log keeps long texts apart
    spans = [event.name for event in sample.events if event.event == "span_begin" and event.type == "turn"]
    assert spans == ["turn 1", "turn 2", "turn 3"]
    assert sample.output.completion == said[-1][1]
    gold = evaluated(conversations(scenario(policies=["gold"])), model, sample_id="talk-1").samples[0]
    assert gold.messages[1].text == "Peter Vane did."
    assert model.seen[-1][:2] == [TURNS[0]["question"], "Alice Okafor."]


def test_an_error_is_inspects_and_a_retry_asks_no_finished_sample_again():
    def fail(_: Any) -> Any:
        raise RuntimeError("overloaded")

    failing = {**ANSWERS, "Was it a success?": fail}
    model = Model(failing)
    data = str(Path(written(Path())).resolve())
    arguments = {"task_args": {"data": data, "scorers": "em,f1"}, "fail_on_error": False}
    PROVIDER.append(model)
    (log,) = eval("replay/conversations", model="talks/model", display="none", log_dir="logs", **arguments)
    assert log.eval.task_registry_name == "replay/conversations"
    by_id = {sample.id: sample for sample in log.samples}
    assert {id: bool(sample.error) for id, sample in by_id.items()} == {
        "talk-1": True,
        "talk-2": False,
        "talk-3": True,
    }
    assert by_id["talk-1"].error.message == "RuntimeError('overloaded')"
    model.answers, before = ANSWERS, model.asked["Who wrote The Salt Bridge?"]
    (again,) = eval_retry(log, display="none", log_dir="logs")
    assert again.status == "success"
    assert {sample.id for sample in again.samples if not sample.error} == {"talk-1", "talk-2", "talk-3"}
    assert model.asked["Who wrote The Salt Bridge?"] == before + 2
    whole = evaluated(conversations(data=data, scorers=["em", "f1"]), Model())
    assert metrics(again, "f1") == metrics(whole, "f1")


def test_a_limit_is_inspects_and_what_was_played_before_it_is_scored():
    log = evaluated(conversations(scenario()), Model(), token_limit=7, sample_id="talk-1")
    (sample,) = log.samples
    assert sample.limit.type == "token"
    assert 1 <= len(sample.scores["f1"].metadata["turns"]) < 3
    assert len(sample.messages) >= 2


def test_an_epoch_is_a_repeat_and_has_its_seed():
    """Its turns count beside those of the others: nothing is reduced before."""
    question = TURNS[1]["question"]
    model = Model({**ANSWERS, question: lambda _: "In 1988." if model.asked[question] == 1 else "Never."})
    play = {"repeats": 2, "seed_per_repeat": True}
    log = evaluated(conversations(scenario(play=play)), model, sample_id="talk-2")
    assert log.eval.config.epochs == 2
    assert [sample.scores["f1"].metadata["play"] for sample in log.samples] == ["talk-2", "talk-2~2"]
    seeds = {config.seed for config in model.configs}
    assert len(seeds) == 2
    assert None not in seeds
    table = depth_table(log)
    assert table["turns"].tolist() == [2, 2, 4]
    assert metrics(log, "em")["depth_2"] == table["em"].iloc[1] == 0.5
    more = evaluated(conversations(scenario(play=play)), model, sample_id="talk-2", epochs=3)
    assert len(more.samples) == 3


def test_a_model_of_the_scenario_lends_what_it_is_told_and_offered():
    model = Model()
    extra = {"temperature": 0.25, "tools": [LOOK], "user": "{{ conversation.id }}"}
    settings = {"base_url": "http://127.0.0.1:9/v1", "model": "m", "system": "Be kind.", "extra": extra}
    systems = [{"name": "bot", "adapter": "openai", "settings": settings}]
    evaluated(conversations(scenario(systems=systems)), model, sample_id="talk-2")
    assert {seen[0] for seen in model.seen} == {"Be kind."}
    assert {tuple(names) for names in model.tools} == {("look",)}
    assert {config.temperature for config in model.configs} == {0.25}


LOOK = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


def test_calls_of_tools_come_to_what_the_scenario_says():
    def answer(input: Any) -> Any:
        if input[-1].role == "tool":
            return f"She wrote it in {input[-1].text}."
        return ModelOutput.for_tool_call("mockllm/model", "look", {"book": "The Salt Bridge"})

    model = Model({**ANSWERS, "When did she write it?": answer})
    system = {"name": "m", "adapter": "inspect"}
    settings = {
        "model": "openai/unused",
        "system": "Be brief.",
        "tools": [LOOK],
        "config": {"temperature": 0.5},
    }
    task = conversations(
        scenario(
            systems=[{**system, "settings": settings}, {"name": "other", "adapter": "scripted"}],
            tools={"results": [{"name": "look", "result": "1988"}]},
        )
    )
    (sample,) = evaluated(task, model, sample_id="talk-2").samples
    assert [message.role for message in sample.messages] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert sample.messages[-1].text == "She wrote it in 1988."
    assert {tuple(names) for names in model.tools} == {("look",)}
    assert {one[0] for one in model.seen} == {"Be brief."}
    assert {config.temperature for config in model.configs} == {0.5}
    evaluated(task, model, sample_id="talk-2", temperature=0.1)
    assert model.configs[-1].temperature == 0.1


def test_checks_of_the_data_are_a_score():
    talk = {"id": "a", "turns": [{**TURNS[0], "expect": [{"contains": "Vane"}]}, TURNS[1]]}
    talk["turns"][1] = {**TURNS[1], "expect": [{"contains": "1988"}]}
    Path("talk.jsonl").write_text(json.dumps(talk) + "\n")
    log = evaluated(conversations(data="talk.jsonl", policies="gold"), Model())
    (sample,) = log.samples
    assert sample.scores["check"].value == {"all": 0.5, "depth_1": 1.0, "depth_2": 0.0}
    assert "depth 2" in sample.scores["check"].explanation
    assert metrics(log, "check") == {"all": 0.5, "depth_1": 1.0, "depth_2": 0.0}


def test_a_log_is_scored_anew_without_asking():
    model = Model()
    log = evaluated(conversations(scenario()), model)
    asked = model.asked.total()
    again = score(log, [registry_create("scorer", "replay/rouge_l")], action="append", display="none")
    assert model.asked.total() == asked
    table = depth_table(log, ["rouge_l"])
    assert metrics(again, "rouge_l")["all"] == table["rouge_l"].iloc[-1]


def test_drift_is_detected_by_one_service_for_samples_side_by_side(monkeypatch):
    opened = Counter[str]()
    enter, leave = CoreferenceService.__aenter__, CoreferenceService.__aexit__

    async def entered(self: Any) -> Any:
        opened["in"] += 1
        return await enter(self)

    async def left(self: Any, *error: Any) -> None:
        opened["out"] += 1
        await leave(self, *error)

    monkeypatch.setattr(CoreferenceService, "__aenter__", entered)
    monkeypatch.setattr(CoreferenceService, "__aexit__", left)
    task = conversations(scenario(policies=["pred", "rewrite"]))
    for count in (1, 2):  # a task may be played again, on another event loop
        assert evaluated(task, Model()).status == "success"
        assert opened["in"] == opened["out"]
        assert opened["in"] <= 2 * count


@from_table
def test_what_is_wrong_is_said_before_anything_is_asked(given, fault):
    written(Path())
    with pytest.raises(ReplayError, match=fault):
        conversations(**given)


def test_what_a_task_leaves_to_a_run_is_said(caplog):
    with pytest.raises(ReplayError, match="load is measured by replay run"):
        conversations(scenario(load={"concurrency": 2, "duration_s": 1}))
    two = [{"name": name, "adapter": "inspect"} for name in ("a", "b")]
    with pytest.raises(ReplayError, match="2 systems have the adapter inspect"):
        conversations(scenario(systems=two))
    conversations(scenario(**{"assert": [{"metric": "f1", "min": 0.5}]}))
    assert "scenario: assert: left to replay run" in caplog.text


USER = """
def user(question):
    if "refunded" in question.partition("Rules:")[0]:
        return "GOAL REACHED"
    return "Why not?" if "System:" in question else "My money back, please."
"""


def test_a_user_with_a_goal_talks_until_they_have_it():
    """A conversation's length is known at its end, so nothing of it was never reached."""
    Path("user.py").write_text(USER)
    goals = [
        {"id": "kettle", "goal": {"wants": "You want your money back."}, "expect": {"contains": "refunded"}},
        {"id": "lamp", "goal": {"wants": "You want your money back.", "opener": "Hi!"}},
    ]
    model = Model(
        {"My money back, please.": "No.", "Why not?": "I have refunded it.", "Hi!": "It is refunded."}
    )
    user = {"llm": {"adapter": "python", "settings": {"target": "user.py:user"}, "cache": False}}
    content = scenario(policies=[{"simulate": {"user": user}}], scorers=["completion_tokens"])
    Path("talks.jsonl").write_text("".join(json.dumps(goal) + "\n" for goal in goals))
    log = evaluated(conversations(content), model)
    assert log.status == "success", log.error
    kettle, lamp = log.samples
    assert [message.text for message in kettle.messages] == [
        *("My money back, please.", "No.", "Why not?", "I have refunded it."),
    ]
    assert kettle.input == "You want your money back."
    assert [message.text for message in lamp.messages] == ["Hi!", "It is refunded."]
    assert list(depth_table(log)["turns"]) == [2, 1, 3]
    assert list(depth_table(log)["unreached"]) == [0, 0, 0]
    assert metrics(log, "check")["all"] == 1.0


def test_a_reply_that_asks_back_is_followed_up():
    model = Model({"Can I still cancel it?": "Which order is it about?", "It's 40233.": "It is too late."})
    content = scenario(policies=["react"], drift={"nlp_workers": 0})
    talk = [
        {"question": "Hello, where is my order 40233?", "gold_answer": "Order 40233 arrives on 12 May."},
        {"question": "Can I still cancel it?", "gold_answer": "No, it has left."},
    ]
    model.answers[talk[0]["question"]] = talk[0]["gold_answer"]
    Path("talks.jsonl").write_text(json.dumps({"id": "shop", "turns": talk}) + "\n")
    (sample,) = evaluated(conversations(content), model).samples
    assert [message.text for message in sample.messages][2:] == [
        *("Can I still cancel it?", "Which order is it about?", "It's 40233.", "It is too late."),
    ]
    assert model.seen[-1] == [message.text for message in sample.messages][:-1]
