"""Which of two possible antecedents the rules prefer, where their points lie close together."""

from __future__ import annotations

import pytest

from replay.core.history import Exchange
from replay.coreference.embedded import RulesResolver
from replay.coreference.resolver import Document


def read(question, *said, **heading):
    turns = tuple(Exchange(question=q, answer=a) for q, a in zip(said[::2], said[1::2], strict=True))
    ((reading,),) = RulesResolver().read([Document(question=question, turns=turns, **heading)])
    return reading.antecedent


COUNTED = ("How long?", "The choir sang well and with much joy in her 3 seasons.")
DATED = ("And then?", "It rained in 1990.")


@pytest.mark.parametrize(
    ("said", "antecedent"),
    [
        ((*COUNTED, *DATED), "1990"),
        ((*DATED, *COUNTED), "her 3 seasons"),
        ((*COUNTED,), "her 3 seasons"),
    ],
)
def test_a_counted_time_is_preferred_to_a_date_of_the_same_turn_only(said, antecedent):
    assert read("Who won that season?", *said) == antecedent


@pytest.mark.parametrize(
    ("noun", "antecedent"), [("season", "her 3 seasons"), ("period", "1982-1983"), ("year", "1982-1983")]
)
def test_a_sections_years_are_a_period_rather_than_a_moment(noun, antecedent):
    said = (*DATED, *COUNTED) if noun != "year" else COUNTED
    assert read(f"Who won in that {noun}?", *said, section="1982-1983") == antecedent
