"""What users did, counted by depth, and shown."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from replay.core.record import Intervention, RejectedWording
from replay.report.export import report_json
from replay.report.markdown import markdown_report
from replay.report.text import print_report
from replay.statistics.users import count_interventions
from tests.report.sample_report import report
from tests.scorers.turns import skipped_turn, turn

SAID = Intervention(
    occasion="asked-back",
    evidence="which one?",
    move="answer",
    said="It's 40233.",
    source="model",
    rejected=(RejectedWording(text="It's 1.", reason="nobody has said that"),),
    asks=2,
    cost_usd=0.25,
)
UNSAID = Intervention(occasion="refused", evidence="i can't", move="skip", note="nothing to say")
DRIFTED = Intervention(
    occasion="drifted", evidence="90 %", move="rephrasing", said="Who is Ann?", source="rewriting"
)


def records():
    spot = {"system": "bot", "policy": "react"}
    return [
        turn("a", "a", depth=1, conversation="x", **spot),
        turn("a", "a", depth=1, conversation="y", interventions=(SAID, UNSAID), **spot),
        turn("a", "a", depth=2, conversation="x", interventions=(DRIFTED,), **spot),
        skipped_turn("a", depth=2, conversation="y", interventions=(UNSAID,), **spot),
        turn("a", "a", depth=1, conversation="x", system="bot", policy="pred"),
    ]


def test_intents_and_exchanges_are_counted_by_depth():
    (found,) = count_interventions(records(), {"react"})
    first, second, total = found.rows
    assert (first.depth, first.intents, first.exchanges, first.touched) == (1, 2, 3, 1)
    assert (second.intents, second.exchanges, second.touched) == (2, 1, 2)
    assert dict(first.occasions) == {"asked-back": 1, "refused": 1}
    assert dict(total.occasions) == {"drifted": 1, "asked-back": 1, "refused": 2}
    assert (total.depth, total.unsaid, total.rejected, total.asks, total.cost_usd) == (None, 2, 1, 2, 0.25)


def test_a_policy_without_a_user_has_no_table_and_one_without_interventions_has():
    assert count_interventions(records(), set()) == ()
    (found,) = count_interventions(records(), {"pred"})
    assert (found.total.intents, found.total.touched, dict(found.total.occasions)) == (1, 0, {})


def test_text_markdown_and_json_show_them():
    shown = report(interventions=count_interventions(records(), {"react"}))
    console = Console(width=100, record=True, file=StringIO())
    print_report(shown, console)
    text = console.export_text()
    words = " ".join(text.split())
    assert "bot, react: interventions" in text
    assert "depth  intents  exchanges  drifted  asked-back  refused  nothing said  rejected" in text
    assert (
        "bot, react: a user did something in 3 of 4 turns (75.0 %); 2 asks of its model, 0.25 USD." in words
    )
    assert "**`bot`, `react`: interventions**" in markdown_report(shown, title="sample")
    (one,) = report_json(shown)["interventions"]
    assert one["rows"][-1]["occasions"] == {"drifted": 1, "asked-back": 1, "refused": 2}
