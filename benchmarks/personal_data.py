"""
Recall and precision of what ``replay collect`` replaces, and of libraries that find personal data.

    python benchmarks/personal_data.py [--part a|b|c|ab] [--with presidio] [--with scrubadub] [--misses]

The dialogues in ``personal-data/`` are written for this, with planted items of 12 kinds, marked
``[[kind|text]]``, and traps, marked ``<<text>>``, which look like one and are none: 301 and 308 in parts a
and b. Part a was looked at while the rules were written; part b was measured once they stood. Part c, 52
and 31, came last and is as sloppy as people are: capitals alone, small letters alone, titles in Dutch. An
item is found where all of its letters and digits are replaced. What others need beside our extra: ``pip
install presidio-analyzer scrubadub``. Presidio is given a blank English pipeline of spaCy's, since models
of names are no packages, so that its patterns are what is measured.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).with_name("personal-data")
_MARK = re.compile(r"\[\[([a-z-]+)\|(.*?)\]\]|<<(.*?)>>")
Spans = Sequence[Sequence[tuple[int, int, str]]]
Finder = Callable[[Sequence[str]], Spans]


@dataclass(frozen=True)
class Planted:
    """An item or a trap in a text."""

    text: int
    begin: int
    end: int
    kind: str


@dataclass(frozen=True)
class Dialogue:
    """What is said, and what is planted in it."""

    texts: list[str]
    planted: list[Planted]


def dialogues(part: str) -> Iterator[Dialogue]:
    """Yield the dialogues of *part* (``a``, ``b``, ``c`` or several) without their marks."""
    for name in part:
        for block in (FOLDER / f"dialogues-{name}.txt").read_text("utf-8").strip().split("\n\n"):
            texts: list[str] = []
            planted: list[Planted] = []
            for number, line in enumerate(block.splitlines()):
                line = line.partition(": ")[2]
                plain, at = "", 0
                for match in _MARK.finditer(line):
                    plain += line[at : match.start()]
                    begin, kind = len(plain), match[1] or "trap"
                    plain += match[2] or match[3]
                    planted.append(Planted(number, begin, len(plain), kind))
                    at = match.end()
                texts.append(plain + line[at:])
            yield Dialogue(texts, planted)


def measure(finder: Finder, part: str, *, misses: bool = False) -> None:
    """Print what *finder* finds of each kind, what of it is right, and how many traps stay."""
    planted, found, spans, right, untouched = (
        Counter[str](),
        Counter[str](),
        Counter[str](),
        Counter[str](),
        0,
    )
    for dialogue in dialogues(part):
        by_text = finder(dialogue.texts)
        for item in dialogue.planted:
            covered = set[int]()
            for begin, end, _ in by_text[item.text]:
                covered.update(range(max(begin, item.begin), min(end, item.end)))
            text = dialogue.texts[item.text]
            signs = {at for at in range(item.begin, item.end) if text[at].isalnum()}
            planted[item.kind] += 1
            if item.kind == "trap":
                untouched += not covered
                if misses and covered:
                    print(f"  lost    {text[item.begin : item.end]!r} in {text!r}")
            elif _is_covered(text, item, signs, covered):
                found[item.kind] += 1
            elif misses:
                print(f"  missed  {item.kind} {text[item.begin : item.end]!r} in {text!r}")
        for number, listed in enumerate(by_text):
            items = [one for one in dialogue.planted if one.text == number and one.kind != "trap"]
            for begin, end, kind in listed:
                spans[kind] += 1
                is_right = any(one.begin < end and begin < one.end for one in items)
                right[kind] += is_right
                if misses and not is_right:
                    print(
                        f"  wrong   {kind} {dialogue.texts[number][begin:end]!r} in"
                        f" {dialogue.texts[number]!r}"
                    )
    traps = planted.pop("trap")
    print(f"{'kind':12} {'items':>6} {'found':>6} {'recall':>7} {'replaced':>9} {'precision':>10}")
    for kind in sorted(planted):
        _row(kind, planted[kind], found[kind], spans[kind], right[kind])
    others = sum(count for kind, count in spans.items() if kind not in planted)
    if others:
        _row("(others)", 0, 0, others, sum(count for kind, count in right.items() if kind not in planted))
    _row("all", planted.total(), found.total(), spans.total(), right.total())
    print(f"traps left alone: {untouched} of {traps} ({untouched / traps:.1%})")


_CONNECTORS = {
    "van",
    "der",
    "al",
    "de",
    "ní",
    "ó",
    "mr",
    "mrs",
    "frau",
    "meneer",
    "or",
    "prof",
    "bearer",
    "pin",
    "session",
}


def _is_covered(text: str, item: Planted, signs: set[int], covered: set[int]) -> bool:
    """Return whether nothing of *item* is left but words that aren't personal: "van der", "Mrs", "PIN"."""
    left = "".join(text[at] if at in signs - covered else " " for at in range(item.begin, item.end))
    if "://" in text[item.begin : item.end]:
        return bool(covered)
    return all(word.lower() in _CONNECTORS for word in re.findall(r"\w+", left))


def _row(kind: str, items: int, found: int, spans: int, right: int) -> None:
    recall = f"{found / items:.1%}" if items else "-"
    precision = f"{right / spans:.1%}" if spans else "-"
    print(f"{kind:12} {items:6} {found:6} {recall:>7} {spans:9} {precision:>10}")


def ours(texts: Sequence[str]) -> Spans:
    from replay.collecting.deidentify import personal_spans

    return personal_spans(texts)


def presidio() -> Finder:
    import spacy
    from presidio_analyzer import AnalyzerEngine
    from presidio_analyzer.nlp_engine import SpacyNlpEngine

    class Blank(SpacyNlpEngine):
        def __init__(self) -> None:
            super().__init__()
            self.nlp = {"en": spacy.blank("en")}

        def is_loaded(self) -> bool:
            return True

    engine = AnalyzerEngine(nlp_engine=Blank(), supported_languages=["en"])
    kinds = {
        "EMAIL_ADDRESS": "email",
        "PHONE_NUMBER": "phone",
        "CREDIT_CARD": "card",
        "IBAN_CODE": "account",
        "US_BANK_NUMBER": "account",
        "DATE_TIME": "birth-date",
        "US_SSN": "national-id",
        "UK_NINO": "national-id",
        "UK_NHS": "national-id",
        "US_ITIN": "national-id",
        "US_PASSPORT": "passport",
        "UK_PASSPORT": "passport",
        "IP_ADDRESS": "ip",
        "URL": "secret",
        "US_DRIVER_LICENSE": "national-id",
        "CRYPTO": "secret",
        "MEDICAL_LICENSE": "national-id",
        "PERSON": "name",
        "LOCATION": "address",
    }

    def find(texts: Sequence[str]) -> Spans:
        return [
            [
                (one.start, one.end, kinds.get(one.entity_type, one.entity_type))
                for one in engine.analyze(text, "en")
            ]
            for text in texts
        ]

    return find


def scrubadub_finder() -> Finder:
    import scrubadub

    scrubber = scrubadub.Scrubber()
    kinds = {
        "credit_card": "card",
        "social_security_number": "national-id",
        "credential": "secret",
        "twitter": "number",
        "national_insurance_number": "national-id",
        "date_of_birth": "birth-date",
        "postalcode": "address",
        "drivers_licence": "national-id",
        "vehicle_licence_plate": "number",
        "tax_reference_number": "national-id",
        "url": "secret",
    }

    def find(texts: Sequence[str]) -> Spans:
        return [
            [
                (one.beg, one.end, kinds.get(one.type or one.filth_type, one.type))
                for one in scrubber.iter_filth(text)
            ]
            for text in texts
        ]

    return find


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--part", default="ab", choices=["a", "b", "c", "ab"])
    parser.add_argument(
        "--with", dest="others", action="append", default=[], choices=["presidio", "scrubadub"]
    )
    parser.add_argument("--misses", action="store_true")
    given = parser.parse_args()
    finders = {"replay collect": lambda: ours, "presidio": presidio, "scrubadub": scrubadub_finder}
    for name in ["replay collect", *given.others]:
        print(f"{name}, part {given.part}")
        measure(finders[name](), given.part, misses=given.misses)
        print()


if __name__ == "__main__":
    main()
