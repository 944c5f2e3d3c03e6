"""Dates in a text, in the forms in which people write them, and moved by some days in the same form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip
_MONTH = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(?P<day>\d{1,2})(?P<th>st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_FORMS = tuple(
    re.compile(rf"(?<![\w.-]){form}(?![\w-])", re.IGNORECASE)
    for form in (
        rf"{_YEAR}(?P<sep>[-/.])(?P<month>\d{{1,2}})(?P=sep)(?P<day>\d{{1,2}})",
        r"(?P<first>\d{1,2})(?P<sep>[-/.])(?P<second>\d{1,2})(?P=sep)(?P<year>(?:19|20)\d\d|\d\d)",
        rf"{_DAY}(?: of)?[ -]{_MONTH},?[ -]{_YEAR}",
        rf"{_MONTH} {_DAY},? {_YEAR}",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenDate:
    """A date where it stands."""

    begin: int
    end: int
    value: date
    full_year: bool
    match: re.Match[str]
    day_first: bool = True

    def move(self, days: int) -> str:
        """Return the date *days* later (earlier, below 0) as this one is written."""
        new = self.value + timedelta(days=days)
        if self.match.groupdict().get("first"):
            # Where day and month can't be told apart they can't be afterwards.
            step = 1 if days > 0 else -1
            while self.value.day <= 12 and new.day > 12:
                new += timedelta(days=step)
        groups = {name: text for name, text in self.match.groupdict().items() if text is not None}
        first, second = (new.day, new.month) if self.day_first else (new.month, new.day)
        values = {"month": new.month, "day": new.day, "first": first, "second": second}
        text, at = "", self.begin
        for name in sorted(groups, key=lambda name: self.match.start(name)):
            begin, end = self.match.span(name)
            text += self.match.string[at:begin]
            at = end
            if name == "year":
                text += str(new.year)[-(end - begin) :]
            elif name == "name":
                text += _match_case(_MONTHS[new.month - 1], groups["name"])
            elif name == "th":
                text += {1: "st", 2: "nd", 3: "rd"}.get(
                    new.day % 10 if new.day not in (11, 12, 13) else 0, "th"
                )
            elif name == "sep":
                text += groups["sep"]
            else:
                text += str(values[name]).zfill(
                    end - begin if groups[name].startswith("0") or end - begin == 2 else 1
                )
        return text + self.match.string[at : self.end]


def _match_case(month: str, like: str) -> str:
    """Return *month* as long and in such letters as *like*."""
    short = month[: len(like)] if len(like) <= 4 and like.lower() not in _MONTHS else month
    return (
        short.upper() if like.isupper() and len(like) > 1 else short if like.islower() else short.capitalize()
    )


def find_dates(text: str) -> Iterator[WrittenDate]:
    """Yield the dates in *text* that have a day, a month and a year; they don't overlap."""
    taken: list[tuple[int, int]] = []
    for form in _FORMS:
        for match in form.finditer(text):
            if any(begin < match.end() and match.start() < end for begin, end in taken):
                continue
            with suppress(ValueError):
                yield _read(match)
                taken.append(match.span())


def _read(match: re.Match[str]) -> WrittenDate:
    """
    Return the date in *match*.

    Raises:
        ValueError: there is no such day.
    """
    groups = match.groupdict()
    year = int(groups["year"])
    full = year > 99
    if not full:
        year += 1900 if year > 25 else 2000
    day_first = True
    if groups.get("first"):
        day, month = int(groups["first"]), int(groups["second"])
        if month > 12:
            day, month, day_first = month, day, False
    else:
        day = int(groups["day"])
        named = groups.get("name")
        month = (
            next(at for at, name in enumerate(_MONTHS, 1) if name.startswith(named[:3].lower()))
            if named
            else int(groups["month"])
        )
    return WrittenDate(
        begin=match.start(),
        end=match.end(),
        value=date(year, month, day),
        full_year=full,
        match=match,
        day_first=day_first,
    )
