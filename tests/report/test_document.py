"""A report as a document: what each output shows of it, and words that agree with their numbers."""

from __future__ import annotations

from dataclasses import replace

from replay.report import markdown, notebook, text
from replay.report.document import ItemList, ReportSection, notes_section, with_remarks
from replay.report.notes import wording_sentences
from replay.report.numbers import count_text
from replay.report.run_document import run_document
from replay.statistics.checks import count_checks
from replay.statistics.group import Group
from replay.statistics.run_numbers import WordingAgreement
from tests.report import test_repeats_text
from tests.report.sample_checks import SAMPLE
from tests.report.sample_report import report


def test_no_section_is_forgotten_by_an_output():
    """Each chooses sections by their names; a new one has to be shown, or left out on purpose here."""
    repeats = test_repeats_text.report().repeats
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
