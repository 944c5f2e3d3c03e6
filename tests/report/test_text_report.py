"""
A report as a document: what each output shows of it, and words that agree with their numbers.

Repeats in text, in Markdown and for machines.

The sentences about what recorded answers hide and how our wording compares.
"""

from __future__ import annotations

import io
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from replay.report import markdown, notebook, text
from replay.report.document import ItemList, ReportSection, notes_section, with_remarks
from replay.report.export import report_json
from replay.report.markdown import markdown_report
from replay.report.notes import conclusions, hidden_sentences, wording_sentences
from replay.report.numbers import count_text
from replay.report.printing import TextColumn, Value, score_cells, table_lines
from replay.report.run_document import run_document
from replay.report.run_tables import displayed_ks
from replay.report.text import print_report
from replay.scorers.operational import latency
from replay.scorers.unanswerable import unanswerable_precision
from replay.statistics.checks import count_checks
from replay.statistics.depth_table import depth_table
from replay.statistics.group import Group
from replay.statistics.paired import DifferenceRow, HiddenPoints, PairedDifference, policy_gaps
from replay.statistics.repeats import repeat_numbers
from replay.statistics.run_numbers import Report, WordingAgreement
from replay.statistics.score_column import ScoreColumn
from tests.data_tables import from_table
from tests.report.sample_checks import SAMPLE
from tests.report.sample_report import report
from tests.scorers.turns import turn
from tests.statistics.repeated import FAILED, played

GOLDEN = Path(__file__).parents[1] / "golden"


def printed(shown: Report, width: int = 100) -> str:
    out = io.StringIO()
    print_report(shown, Console(file=out, width=width, color_system=None))
    return out.getvalue()


@pytest.mark.parametrize("width", [140, 100, 60])
def test_the_report_is_the_one_agreed_on(width):
    """After a wanted change, run once with UPDATE_GOLDEN=1 and read what changed."""
    found = printed(report(), width)
    file = GOLDEN / f"report_{width}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(found, encoding="utf-8")

    assert found == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [140, 100, 60, 50])
def test_no_line_of_a_table_is_wider_than_the_terminal_or_ends_in_a_space(width):
    lines = printed(report(signatures={}), width).split("Signatures")[0].splitlines()

    assert max(map(len, lines)) <= width
    assert not any(line.endswith(" ") for line in lines)


def test_only_ascii_is_printed():
    assert printed(report(), 80).isascii()


def test_names_are_never_markup():
    table = depth_table([turn(system="[red]x[/blue]")], {}, {"c1": 1})

    assert "[red]x[/blue], pred" in printed(Report(table=table), 80)


def test_a_run_without_turns_says_so():
    assert printed(Report(table=depth_table([], {}, {})), 80) == "No turn has been asked yet.\n"


def test_a_score_that_is_no_share_is_not_shown_in_per_cent():
    column = ScoreColumn(scorer=latency(), observed=[1234.5, 0.0000123])
    table = depth_table([turn(depth=1), turn(depth=2)], {"latency": column}, {"c1": 2})
    found = printed(Report(table=table), 80)

    assert "latency (s)" in found
    assert "1234" in found
    assert "0.0000123" in found
    assert "no score is in per cent" in found


def test_a_unit_stands_over_differences_too():
    turns = [turn(policy=policy, conversation=c) for policy in ("gold", "pred") for c in ("c1", "c2")]
    column = ScoreColumn(scorer=latency(), observed=[1.0, 2.0, 3.0, 4.5])
    gaps = tuple(policy_gaps(turns, {"latency": column}, resamples=10))
    table = depth_table(turns, {"latency": column}, {"c1": 1, "c2": 1}, resamples=10)
    found = printed(Report(table=table, gaps=gaps), 80)

    assert found.count("latency (s)") == 3
    assert "+2.25 [" in found


def test_a_score_that_is_not_defined_over_its_turns_has_a_dash():
    column = ScoreColumn(scorer=unanswerable_precision(), observed=[[0, 0], [0, 1]])
    table = depth_table([turn(depth=1), turn(depth=2)], {"p": column}, {"c1": 2})

    assert table.groups[0].total.scores["p"].value is None
    assert table.groups[0].total.scores["p"].scored == 2


def test_signed_cells_have_no_negative_nothing():
    cells = score_cells([Value(-0.0001, -0.012, 0.004), None], percent=True, whole=True, signed=True)

    assert cells == ("0.0 [-1, +0]", "  -")


def test_wide_characters_take_two_cells():
    columns = [TextColumn(head="a", cells=("日本", "x")), TextColumn(head="b", cells=("1", "2"))]

    assert table_lines(columns, width=80, total=False) == ["   a  b", "-------", "日本  1", "   x  2"]


def test_no_section_is_forgotten_by_an_output():
    """Each chooses sections by their names; a new one has to be shown, or left out on purpose here."""
    repeats = repeated().repeats
    document = run_document(replace(report(), checks=count_checks(SAMPLE), repeats=repeats))
    names = {section.name for section in document.sections}

    assert names >= {"totals", "depth table", "differences", "plays", "failed checks", "notes"}
    assert names & set(text.NOT_HERE) == {"totals", "figures"}
    assert names - set(markdown.RUN_ORDER) == {"figures"}
    assert names - set(notebook.ORDER) == {"figures", "failed checks", "plays"}


def test_remarks_on_sections_stand_behind_how_to_read_the_numbers():
    notes = with_remarks(notes_section(["in per cent: f1."], ["2 turns failed."]), ["bars: the score."])

    assert [block.items for block in notes.blocks if isinstance(block, ItemList)] == [
        ["in per cent: f1."],
        ["bars: the score."],
        ["2 turns failed."],
    ]
    other = ReportSection(name="failures", blocks=[ItemList(["a"])])
    assert with_remarks(other, ["bars: the score."]) == other


def test_words_agree_with_their_numbers():
    assert [count_text(n, "turn") for n in (0, 1, 1200)] == ["0 turns", "1 turn", "1,200 turns"]
    assert [count_text(n, "row", ("has", "have")) for n in (1, 2)] == ["1 row has", "2 rows have"]
    one = WordingAgreement(group=Group("bot", "rewrite"), questions=1, equal=1, same_things=1, nothing_else=1)
    assert wording_sentences([one]) == [
        "bot, rewrite: 1 rewritten question has a standalone form in the data. 1 equals it word for word, "
        "1 names the same things (has the same content words), 1 names nothing that it doesn't."
    ]


PLAYS = (
    [[1, 1], [1, 0], [1, 1]],
    [[1, FAILED], [0, 1], [1, 1]],
    [[0, 0], [0, 0], [0, 0]],
)


def repeated(times=3, conversations=PLAYS) -> Report:
    records, scores = played(*conversations)
    lengths = {
        record.conversation: max(len(play) for plays in conversations for play in plays) for record in records
    }
    return Report(
        table=depth_table(records, scores, lengths, resamples=0),
        repeats=repeat_numbers(records, scores, times, resamples=0),
    )


def test_the_tables_in_text():
    shown = printed(repeated())
    assert (
        """\
s, pred: pass^k
score                 cases  pass^1  pass^2  pass^3  pass@3  incomplete
-----------------------------------------------------------------------
check, depth 1            3  55.6    44.4    33.3    66.7             0
check, depth 2            3  55.6    44.4     0.0    50.0             1
check, all turns          6  55.6    44.4    20.0    60.0             1
check, conversations      3  38.9    11.1     0.0    50.0             1

s, pred: spread between plays
score  depth  mean    sd  play 1  play 2  play 3
------------------------------------------------
check      1  55.6  19.2    66.7    33.3    66.7
check      2  50.0  16.7    50.0    33.3    66.7
check    all  53.3  17.6    60.0    33.3    66.7
"""
        in shown
    )
    assert "- incomplete: cases with a play that has no score, as where an ask failed" in shown


def test_without_a_missing_score_nothing_is_said_of_it():
    shown = printed(repeated(conversations=([[1], [0]], [[1], [1]]), times=2))
    assert "incomplete" not in shown


def test_many_plays_show_some_ks_and_the_ends_of_the_spread():
    assert displayed_ks(5) == [1, 2, 3, 4, 5]
    assert displayed_ks(12) == [1, 2, 4, 8, 12]
    shown = printed(repeated(conversations=([[1]] * 6, [[1]] * 5 + [[0]]), times=6))
    assert "pass^1  pass^2  pass^4  pass^6  pass@6" in shown
    assert "mean    sd  least   most" in shown


def test_of_many_depths_the_totals_are_shown():
    shown = printed(repeated(times=2, conversations=([[1] * 30, [1] * 30], [[1] * 30, [0] * 30])))
    assert "check, all turns" in shown
    assert "check, depth 7" not in shown


def test_markdown_holds_the_same_folded():
    lines = markdown_report(repeated(), title="a run").splitlines()
    at = lines.index("<details><summary><code>s</code>, <code>pred</code>: pass^k</summary>")
    assert lines[at + 2] == "| score | cases | `pass^1` | `pass^2` | `pass^3` | `pass@3` | incomplete |"
    assert "| check, conversations | 3 | 38.9 | 11.1 | 0.0 | 50.0 | 1 |" in lines


def test_machines_get_every_k_with_its_cases():
    found = json.loads(json.dumps(report_json(repeated())))["repeats"]
    assert found["times"] == 3
    curve = found["pass"][-1]
    assert (curve["whole_conversation"], curve["depth"], curve["cases"]) == (True, None, 3)
    assert [(one["k"], one["scored"]) for one in curve["pass_all"]] == [(1, 3), (2, 3), (3, 2)]
    assert found["spread"][0]["values"] == [2 / 3, 1 / 3, 2 / 3]
    assert "repeats" not in report_json(Report(table=repeated().table))


def difference(
    first: str, second: str, value: float, *, certain: bool, system: str = "bot"
) -> PairedDifference:
    low, high = (value - 0.001, value + 0.001) if certain else (-0.9, 0.9)
    row = DifferenceRow(depth=None, turns=9, conversations=9, value=value, low=low, high=high)
    groups = {"first": Group(system, first), "second": Group(system, second)}
    return PairedDifference(score="em", unit="share", depths=(), total=row, unpaired=0, **groups)


def said(gap: float, *, certain: bool = True, **given: float) -> str:
    backs = {name: difference("pred", name, value, certain=certain) for name, value in given.items()}
    hidden = difference("gold", "pred", gap, certain=certain)
    (sentence,) = hidden_sentences([HiddenPoints(gap=hidden, given_back=backs)])
    return sentence


@from_table
def test_the_sentence_says_what_is_hidden_and_given_back(gap, given, sentence):
    left = " What is not given back is wrong answers in the history, or drift that the new words missed"
    left = f"{left} or spoiled." if given and gap < 0 else ""
    assert said(gap, **given) == f"Testing with recorded answers {sentence}{left}"


def test_whatever_could_be_chance_says_so():
    found = said(-0.107, certain=False, rewrite=0.06)

    assert found.count("(could be chance)") == 2


def test_one_conversation_rules_no_chance_out():
    row = DifferenceRow(depth=None, turns=9, conversations=1, value=-0.5, low=None, high=None)
    groups = {"first": Group("bot", "gold"), "second": Group("bot", "pred")}
    gap = PairedDifference(score="em", unit="share", depths=(), total=row, unpaired=0, **groups)

    assert "(could be chance)" in hidden_sentences([HiddenPoints(gap=gap, given_back={})])[0]


def test_several_systems_are_named():
    gaps = [difference("gold", "pred", -0.1, certain=True, system=name) for name in ("a", "b")]
    found = hidden_sentences([HiddenPoints(gap=gap, given_back={}) for gap in gaps])

    assert [sentence.partition(":")[0] for sentence in found] == ["a", "b"]


def test_a_run_without_recorded_answers_says_how_often_drift_was_detected():
    whole = report()
    own = [one for one in whole.table.groups if one.group.policy in ("pred", "rewrite")]
    (sentence,) = conclusions(replace(whole, hidden=(), table=replace(whole.table, groups=tuple(own))))
    drifted, judged = own[0].total.invalid, own[0].total.drift_checked

    assert sentence.startswith(f"Drift was detected in {drifted} of {judged} questions under pred (")
    assert " and in " in sentence
    assert conclusions(whole) == hidden_sentences(whole.hidden)


def test_where_no_drift_was_looked_for_nothing_is_concluded():
    whole = report()
    gold = [one for one in whole.table.groups if one.group.policy == "gold"]

    assert conclusions(replace(whole, hidden=(), table=replace(whole.table, groups=tuple(gold)))) == []


def test_agreement_of_wording_is_counted_in_words():
    one = WordingAgreement(
        group=Group("bot", "rewrite"), questions=15, equal=2, same_things=4, nothing_else=12
    )

    assert wording_sentences([one]) == [
        "bot, rewrite: 15 rewritten questions have a standalone form in the data. "
        "2 equal it word for word, 4 name the same things (have the same content words), "
        "12 name nothing that it doesn't."
    ]
