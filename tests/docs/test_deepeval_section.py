"""What docs/integrations.md shows of DeepEval works as it stands there."""

from __future__ import annotations

import re

import pytest

import replay

pytest.importorskip("deepeval", reason='needs pip install "convreplay[deepeval]"')

from deepeval.dataset import ConversationalGolden, EvaluationDataset
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import Turn as CaseTurn

from tests.docs.shown_output import agree, page, section

pytest_plugins = ["pytester", "tests.integrations.in_pytest"]

SECTION = section(page("integrations"), "DeepEval")


def test_pytest_says_of_the_cases_what_the_page_shows(pytester, ran):
    name, program = re.findall(r"```python\n# (\S+)\n(.*?)```", SECTION, re.DOTALL)[0]
    (pytester.path / name).write_text(program, "utf-8")
    (arguments,) = re.findall(r"`pytest (.*?)`", SECTION)
    (shown,) = re.findall(r"```text\n(.*?)\n```", SECTION, re.DOTALL)
    result = ran(*arguments.split(), "--tb=short")
    result.assert_outcomes(failed=1, deselected=19)
    said = re.search(r"AssertionError: Metrics: .*? failed\.$", result.stdout.str(), re.MULTILINE)
    assert said
    agree("docs/integrations.md", shown, said[0])


def test_the_way_in_plays_goldens_and_scores_them_with_a_metric(tmp_path, monkeypatch):
    """With a judge that answers here in the place of the one that needs a key."""
    monkeypatch.chdir(tmp_path)
    turns = [CaseTurn(role="user", content="When?"), CaseTurn(role="assistant", content="In 1987.")]
    names = {
        "dataset": EvaluationDataset([ConversationalGolden(scenario="A novel.", turns=turns)]),
        "Judge": Judge,
        "bot": lambda question: "In 1987.",
        "replay": replay,
    }
    (program,) = re.findall(r"```python\n(from deepeval.metrics.*?)```", SECTION, re.DOTALL)
    exec(program.replace('model="gpt-4o-mini"', "model=Judge()"), names)
    assert names["run"].turns()["relevancy"].tolist() == [0.5, 0.5]


class Judge(DeepEvalBaseLLM):
    """Of two statements it finds one relevant."""

    def load_model(self):
        return self

    def get_model_name(self):
        return "judge"

    def generate(self, prompt, schema):
        verdicts = [{"verdict": "yes"}, {"verdict": "no", "reason": "off"}]
        return schema.model_validate({"statements": ["a", "b"], "verdicts": verdicts, "reason": "half"})

    async def a_generate(self, prompt, schema):
        return self.generate(prompt, schema)
