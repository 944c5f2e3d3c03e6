"""What is personal in a text: by its shape, its check digits, and what is said around it."""

from __future__ import annotations

import re

import pytest

from replay.collecting.collect import read_rules
from replay.collecting.patterns import kind_of_key
from replay.collecting.personal_data import PersonalDataRules, find_personal_data
from replay.core.errors import InputError


def found(text: str, before: str = "", rules: PersonalDataRules | None = None) -> list[tuple[str, str]]:
    spans = find_personal_data(text, before=before, rules=rules)
    return [(span.kind, text[span.begin : span.end]) for span in spans]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Write to ann.lee+x@mail.example.co.uk.", [("email", "ann.lee+x@mail.example.co.uk")]),
        ("Paid with 4539 1488 0343 6467.", [("card", "4539 1488 0343 6467")]),
        ("IBAN DE89 3704 0044 0532 0130 00 please", [("account", "DE89 3704 0044 0532 0130 00")]),
        ("Sort code 20-45-77", [("account", "20-45-77")]),
        ("I was born on March 9, 1974.", [("birth-date", "March 9, 1974")]),
        ("SSN 536-22-8719", [("national-id", "536-22-8719")]),
        ("NI AB 12 34 56 C", [("national-id", "AB 12 34 56 C")]),
        ("My passport is 518340921", [("passport", "518340921")]),
        ("Order ORD-2291-884 is late", [("number", "ORD-2291-884")]),
        ("It came from 81.2.69.142 and 2001:db9::7", [("ip", "81.2.69.142"), ("ip", "2001:db9::7")]),
        (
            "Call +44 7911 123456 or (415) 867-5309",
            [("phone", "+44 7911 123456"), ("phone", "(415) 867-5309")],
        ),
        (
            "I live at 1284 Valencia Street, San Francisco, CA 94110.",
            [("address", "1284 Valencia Street, San Francisco, CA 94110")],
        ),
        ("my password is hunter2!blue", [("secret", "hunter2!blue")]),
        ("key AKIA4XJ7Q2MBN5TKLW3R", [("secret", "AKIA4XJ7Q2MBN5TKLW3R")]),
        (
            "See https://files.example.com/a.pdf?token=8f3a9c1e77b24d0f now",
            [("secret", "https://files.example.com/a.pdf?token=8f3a9c1e77b24d0f")],
        ),
        ("My name is dana whitcomb", [("name", "dana whitcomb")]),
        (
            "I asked Mr Whitfield and Mrs Castellanos-Roy. She sent Oluwaseun Adebayo.",
            [("name", "Whitfield"), ("name", "Castellanos-Roy"), ("name", "Oluwaseun Adebayo")],
        ),
        ("Please ask Zorblatt about it.", [("name", "Zorblatt")]),
        ("I'm Lei Ortega.", [("name", "Lei Ortega")]),
        (
            "Ship to {'address2': 'Suite 978', 'city': 'Houston', 'zip': '77242', 'color': 'brown'}",
            [("address", "Suite 978"), ("address", "77242")],
        ),
        (
            "I live in 32286, moved from Denver, 80280 and Florida (32169).",
            [("address", "32286"), ("address", "80280"), ("address", "32169")],
        ),
        (
            "- Address: 763 Broadway, Suite 135, Philadelphia 19122, USA\nWhat would you like?",
            [("address", "763 Broadway, Suite 135, Philadelphia 19122, USA")],
        ),
        (
            "It is 445 Maple Drive, Fort Worth, Texas, 76165. I just moved.",
            [("address", "445 Maple Drive, Fort Worth, Texas, 76165")],
        ),
        ("can @ravi_o and @mei see it?", [("number", "ravi_o"), ("name", "mei")]),
        ("cc @Ravi Okonkwo", [("name", "Ravi"), ("name", "Okonkwo")]),
        ("@here: use @dataclass(frozen=True) and @angular/core", []),
    ],
)
def test_each_kind_is_found(text, expected):
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Version 4.2.1.7 fails with error 0x80070005 and HTTP 403.",
        "My Galaxy S24 shipped from Rotterdam on 3 May 2024, box 2 of 3, on Monday.",
        "Will it work with Windows 11 and Bluetooth? Rose gold is the colour.",
        "The docs at https://docs.example.com/setup/wifi say port 8080.",
        "A refund takes 5 to 7 days and costs EUR 2,400.00.",
        "From 2001-2002 and 2024-25 GovernmentServicesBusinessExperience was a name of it.",
        "Birch is high, open *My data* and see the X-ray of a T-Shirt.",
        "It drew brown water past my kidney; a woody scent, walked in 20000 steps.",
        "I don’t know what that's for; it isn't in the German manual.",
    ],
)
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("replace: [{kind: nmae, pattern: x}]", 'replace[0].kind: "nmae" is no kind; did you mean "name"?'),
        ("replace: [{kind: name, pattern: '('}]", "replace[0].pattern: missing )"),
        ("replace: [{kind: name, pattern: 'x*'}]", "matches nothing at all"),
        ("kept: [x]", "a mapping with replace and keep is expected"),
        ("keep: x", "keep: a list of words is expected"),
    ],
)
def test_a_fault_in_the_rules_is_named(tmp_path, text, message):
    (tmp_path / "rules.yaml").write_text(text, "utf-8")
    with pytest.raises(InputError, match=re.escape(message)):
        read_rules(tmp_path / "rules.yaml")
