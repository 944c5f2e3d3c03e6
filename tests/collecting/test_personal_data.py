"""What is personal in a text: by its shape, its check digits, and what is said around it."""

from __future__ import annotations

import re

import pytest

from replay.collecting.collect import read_rules
from replay.collecting.patterns import kind_of_key
from replay.collecting.personal_data import PersonalDataRules, find_personal_data
from replay.core.errors import InputError
from tests.data_tables import from_table


def found(text: str, before: str = "", rules: PersonalDataRules | None = None) -> list[tuple[str, str]]:
    spans = find_personal_data(text, before=before, rules=rules)
    return [(span.kind, text[span.begin : span.end]) for span in spans]


@from_table
def test_each_kind_is_found(text, expected):
    assert found(text) == expected


@from_table
def test_what_looks_like_it_and_is_none_stays(text):
    assert found(text) == []


def test_what_was_asked_for_is_found_however_bare_it_is():
    assert found("48291", "What is your order number?") == [("number", "48291")]
    assert found("12/6/67", "And when were you born?") == [("birth-date", "12/6/67")]
    assert found("jo stubbs", "May I have your full name?") == [("name", "jo stubbs")]
    assert found("48291") == []
    assert found("Nobody announced that it had moved, Oslo, in 2018", "Where can I see it?") == []


def test_a_key_says_what_its_value_is():
    kinds = {
        key: kind_of_key(key) for key in ("customerName", "order_id", "reservations", "zip", "ip", "city")
    }
    assert kinds == {
        "customerName": "name", "order_id": "number", "reservations": "number", "zip": "address", "ip": "ip",
        "city": None,
    }  # fmt: skip
    assert kind_of_key("product_id") is None


def test_rules_of_ones_own_add_and_take_away(tmp_path):
    text = "Ask Zorblatt about unit 7X."
    (tmp_path / "rules.yaml").write_text(
        "replace: [{kind: number, pattern: 'unit ([0-9]X)'}]\nkeep: [Zorblatt]", "utf-8"
    )
    assert found(text, rules=read_rules(tmp_path / "rules.yaml")) == [("number", "7X")]
    assert found(text, rules=PersonalDataRules(patterns=[("name", re.compile("about"))])) == [
        ("name", "Zorblatt"),
        ("name", "about"),
    ]


@from_table
def test_a_fault_in_the_rules_is_named(tmp_path, text, message):
    (tmp_path / "rules.yaml").write_text(text, "utf-8")
    with pytest.raises(InputError, match=re.escape(message)):
        read_rules(tmp_path / "rules.yaml")
