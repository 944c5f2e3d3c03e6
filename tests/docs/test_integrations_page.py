"""What docs/integrations.md shows works as it stands there."""

from __future__ import annotations

import re

import pytest

from replay.scenario.shipped import example_scenario
from tests.docs.shown_output import page
from tests.scenarios.support_bots import listening

pytest_plugins = ["pytester", "tests.integrations.in_pytest"]

PAGE = page("integrations")


@pytest.mark.long
def test_pytest_says_of_the_example_what_the_page_shows(pytester, ran):
    (arguments,) = re.findall(r"^pytest (support/.*)$", PAGE, re.MULTILINE)
    (shown,) = re.findall(r"```text\n(support/scenario.yaml .*?)```", PAGE, re.DOTALL)
    scenario, *_ = example_scenario("support", pytester.path / "support")
    with listening(scenario.parent, "worse") as port:
        scenario.write_text(scenario.read_text("utf-8").replace("8011", port), "utf-8")
        words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', arguments)]
        assert shown in ran(*words).stdout.str()
        (pytester.path / "test_bot.py").write_text(_tests())
        ran("test_bot.py", "-k", "refunds").assert_outcomes(failed=1, deselected=1)


def test_the_tests_of_ones_own_pass_where_they_should(pytester, ran):
    (pytester.path / "test_bot.py").write_text(_tests())
    talk = '{"id": "t", "turns": [{"question": "Who wrote it?", "gold_answer": "Alice Okafor."}]}\n'
    (pytester.path / "talk.jsonl").write_text(talk)
    ran("test_bot.py", "-k", "wrong").assert_outcomes(passed=1, deselected=1)


def _tests() -> str:
    (found,) = re.findall(r"```python\n(# test_bot.py\n.*?)```", PAGE, re.DOTALL)
    return found
