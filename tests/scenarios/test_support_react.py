"""The support bots with a user: nobody intervenes with the good one, and with the worse one as
docs/react.md says."""

from __future__ import annotations

from pathlib import Path

from replay.report.export import report_json
from tests.scenarios.test_support import play

PAGE = (Path(__file__).parents[2] / "docs" / "react.md").read_text("utf-8")
OPTIONS = ("--policy", "react")


def interventions(run):
    return [
        (record.conversation, record.depth, one.occasion, one.said)
        for record in run.records()
        for one in record.interventions
    ]


def test_with_the_good_bot_the_script_fits_throughout(tmp_path):
    run = play(tmp_path, "good", *OPTIONS).run
    assert list(run.signatures())[-1] == "react"
    assert interventions(run) == []
    (counted,) = report_json(run.report(resamples=0))["interventions"]
    assert (counted["rows"][-1]["intents"], counted["rows"][-1]["exchanges"]) == (60, 60)


def test_with_the_worse_bot_a_user_says_what_the_page_shows(tmp_path):
    run = play(tmp_path, "worse", *OPTIONS).run
    found = interventions(run)
    assert found == [
        ("new-address", 3, "drifted", "When will the glass teapot of order 40260 leave your store?"),
        ("which-of-two", 3, "drifted", "I want to return the copper kettle of order 40172."),
        ("which-of-two", 5, "refused", "Please cancel the desk lamp of order 40180."),
    ]
    for conversation, depth, occasion, said in found:
        assert any(
            line.startswith(f"| {conversation}, {depth}:") and occasion in line and f'"{said}"' in line
            for line in PAGE.splitlines()
        )
    cancelled = next(r for r in run.records() if r.policy == "react" and r.depth == 5 and r.interventions)
    assert "cancel_order" in [call.name for step in cancelled.steps for call in step.tool_calls]
    assert (cancelled.exchanges, cancelled.depth) == (2, 5)
