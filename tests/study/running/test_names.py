"""The names of raters are in one place, from which they can be erased."""

from __future__ import annotations

import yaml

from replay.study.running.start import check_unchanged, open_study
from replay.study.running.study_file import parse_study, without_names
from tests.data_tables import from_table
from tests.study.serving import begun


@from_table
def test_names_are_taken_out_and_all_else_stays(raters):
    text = f"# For Ms Quixley\nname: Quixley Hall\nraters: {raters}\nseed: 3\n"
    kept = without_names(text)
    assert yaml.safe_load(kept) == {"name": "Quixley Hall", "raters": 1, "seed": 3}
    assert kept.count("Quixley") == 1


def test_who_adjudicates_is_named_by_a_number():
    text = """\
preset: {rating: {adjudicate: true, adjudicator: "Quixley", criteria: {rating: {question: "Would Quixley?"}}}}
raters: [Ben, Quixley]
"""
    kept = yaml.safe_load(without_names(text))
    assert kept["preset"]["rating"]["adjudicator"] == 2
    assert kept["preset"]["rating"]["criteria"] == {"rating": {"question": "Would Quixley?"}}


def test_a_study_goes_on_whatever_names_are_listed_now_and_whatever_comments(quick_run, tmp_path):
    """Who is added or erased later is known to the database alone."""
    text = f"name: check\npreset: rating\nruns: ['{quick_run}']\nraters: [Quixley, Ben]\n"
    _, store = open_study(begun(text, tmp_path))
    changed = f"# mine\n{text.replace('Quixley, ', '')}"
    check_unchanged(parse_study(changed, source="study.yaml", folder=tmp_path), store)
    assert "Quixley" not in store.fact("file")["text"]
    assert store.rater(1).name == "Quixley"
    store.close()


def test_what_a_text_says_stays_as_it_was_written():
    assert without_names("raters: 3\n") == "raters: 3\n"
    text = (
        "instructions: |\n  Judge.\n\n  # One\n   of them.\nname: '007'\nseed: 0x10\nraters: 2 # Ann, Ben\n"
    )
    assert yaml.safe_load(without_names(text)) == yaml.safe_load(text)
    assert "Ann" not in without_names(text)
