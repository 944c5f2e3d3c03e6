"""What docs/integrations.md says of Inspect works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

pytest.importorskip("inspect_ai", reason='needs pip install "convreplay[inspect]"')

import inspect_ai
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from replay.integrations.inspect import conversations
from replay.scenario.shipped import example_scenario
from replay_adapters.harnesses.inspect import InspectAdapter
from tests.docs.shown_output import blocks, page, section
from tests.scenarios.support_bots import listening

PAGE = page("integrations")
SECTION = section(PAGE, "Inspect")


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_the_example_comes_to_what_the_page_shows(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    (command,) = re.findall(r"^inspect eval (.*)$", SECTION, re.MULTILINE)
    (shown,) = blocks(SECTION, "text")
    task, *words = command.split()
    arguments = dict(word.split("=") for word in words if "=" in word)
    example_scenario("support", Path("support"))
    with listening(Path("support"), "worse") as port:
        (log,) = inspect_ai.eval(
            task,
            task_args=arguments,
            model=words[words.index("--model") + 1],
            model_base_url=f"http://127.0.0.1:{port}/v1",
            model_args={"responses_api": False},
            display="none",
            log_dir="logs",
        )
    assert log.status == "success"
    scores = {score.name: score.metrics for score in log.results.scores}
    names, *rows = [line.split() for line in shown.splitlines()]
    assert list(scores) == names
    for place, name in enumerate(names):
        found = [[key, f"{metric.value:.3f}"] for key, metric in scores[name].items()]
        assert found[: len(rows)] == [row[2 * place : 2 * place + 2] for row in rows]


def test_the_table_of_a_log_is_had_as_shown(capsys, monkeypatch):
    def answer(*_):
        output = ModelOutput.from_content("mockllm/model", "I can't say.")
        output.usage = ModelUsage(input_tokens=1, output_tokens=1)
        return output

    def eval_with_a_mock(task, model):
        assert model == "openai/gpt-4o"
        mock = get_model("mockllm/model", custom_outputs=answer)
        return evaluate(task, model=mock, display="none", log_dir="logs", limit=4)

    evaluate = inspect_ai.eval
    example_scenario("support", Path("support"))
    (program,) = re.findall(r"```python\n(from inspect_ai.*?)```", SECTION, re.DOTALL)
    monkeypatch.setattr(inspect_ai, "eval", eval_with_a_mock)
    exec(program, {})
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["policy", "depth", "turns", "edited", "f1", "f1_low", "f1_high"]
    assert {row.split()[1] for row in rows} == {"gold", "replace"}


def test_the_settings_shown_are_those_of_the_task_and_the_adapter(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    (systems,) = blocks(SECTION, "yaml")
    model, agent = yaml.safe_load(systems)["systems"]
    InspectAdapter(**model["settings"])
    assert agent["settings"].keys() <= InspectAdapter.__dataclass_fields__.keys()
    rows = [row.split("|")[1] for row in SECTION.splitlines() if row[:1] == "|"]
    shown = set(re.findall(r"`(\w+)`", " ".join(rows)))
    assert shown == conversations.__wrapped__.__annotations__.keys() - {"return"}
