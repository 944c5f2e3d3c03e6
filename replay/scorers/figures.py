"""
The figures in a text: numbers in digits or English words, with sign, scale and unit; ordinals, and the names
of months and weekdays.

"$2.5 bn" and "2,500,000,000 dollars" are one figure, "5.2 %" and "5,2 percent" another, "1987" and "nineteen
eighty-seven" a third. A comma before three digits groups thousands, before one or two it is a decimal comma;
a point is a decimal point unless it groups twice ("1.234.567").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

Kind = Literal["number", "ordinal", "month", "weekday"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure of a text."""

    value: Decimal
    unit: str | None = None
    kind: Kind = "number"
    needed: bool = True
    """False for what is no figure in many texts ("one", "first", "May"): it is compared, but not missed."""

    def same(self, other: Figure) -> bool:
        """Return whether *other* can be the same figure, ignoring signs and a unit that only one has."""
        if {self.kind, other.kind} - {"number", "ordinal"} and self.kind != other.kind:
            return False
        missing = None in (self.unit, other.unit) and DECADE not in (self.unit, other.unit)
        return abs(self.value) == abs(other.value) and (self.unit == other.unit or missing)


DECADE = "1980s"
"""The unit of a decade, which no plain year has."""

_TOKEN = re.compile(
    r"(?P<number>(?:(?<![\w.])\.)?\d+(?:[.,'’\u00a0\u2009\u202f]\d+)*)|(?P<word>[^\W\d_]+)|(?P<sign>[-−–%‰$€£¥₹°])"
)
_GROUPED = re.compile(r"\d{1,3}(?:[,'’\u00a0\u2009\u202f]\d{3})+(?:\.\d+)?")
_POINTS = re.compile(r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}")
_DECIMAL = re.compile(r"\d*[.,]\d+|\d+")


_LARGEST = 10**30
"""Where "million million million ..." ends."""


def _number_words(words: str, first: int = 1) -> dict[str, int]:
    return {word: number for number, word in enumerate(words.split(), first)}


_ONES = _number_words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen",
    0,
)
_TENS = {
    word: 10 * n
    for word, n in _number_words("twenty thirty forty fifty sixty seventy eighty ninety", 2).items()
}
_SCALES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_SHORT_SCALES = {"mn": 6, "mio": 6, "bn": 9, "tn": 12, "k": 3, "m": 6, "b": 9}
"""Behind digits. "5 m" is a length unless it is money."""
_ORDINALS = _number_words(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
_DECADES = {
    word: 1900 + 10 * n
    for word, n in _number_words(
        "twenties thirties forties fifties sixties seventies eighties nineties", 2
    ).items()
}
_MONTHS = _number_words(
    "January February March April May June July August September October November December"
) | _number_words("Jan Feb Mar Apr may Jun Jul Aug Sep Oct Nov Dec")
_MONTHS = {name: number for name, number in _MONTHS.items() if name[0].isupper()} | {"Sept": 9}
_WEEKDAYS = _number_words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
_UNITS: Mapping[str, str] = {
    form: forms.split()[0]
    for forms in (
        "percent % pct",
        "permille ‰",
        "dollar $ dollars usd",
        "euro € euros eur",
        "pound £ pounds gbp lb lbs",
        "yen ¥ jpy",
        "rupee ₹ rupees inr",
        "cent cents",
        "second seconds sec secs s",
        "minute minutes min mins",
        "hour hours hr hrs h",
        "day days",
        "week weeks",
        "month months",
        "year years yr yrs",
        "decade decades",
        "century centuries",
        "mm millimetre millimeter millimetres millimeters",
        "cm centimetre centimeter centimetres centimeters",
        "metre meter metres meters m",
        "km kilometre kilometer kilometres kilometers",
        "mile miles mi",
        "foot feet ft",
        "inch inches",
        "yard yards",
        "acre acres",
        "hectare hectares ha",
        "gram grams g",
        "kg kilogram kilograms kilo kilos",
        "tonne tonnes ton tons",
        "ounce ounces oz",
        "litre liter litres liters l",
        "ml millilitre milliliter millilitres milliliters",
        "gallon gallons",
        "degree ° degrees",
        *("kb", "mb", "gb", "tb", "watt", "kw", "mw", "gw", "kwh", "mph", "kmh"),
    )
    for form in forms.split()
}


@dataclass(frozen=True, slots=True)
class _FigureToken:
    text: str
    kind: str
    start: int
    end: int


def figures(text: str) -> list[Figure]:
    """Return the figures of *text* in their order."""
    tokens = [_FigureToken(m[0], m.lastgroup or "", m.start(), m.end()) for m in _TOKEN.finditer(text)]
    found: list[Figure] = []
    place = 0
    while place < len(tokens):
        figure, place = _figure_at(text, tokens, place)
        found += figure
    return found


def _figure_at(text: str, tokens: Sequence[_FigureToken], place: int) -> tuple[list[Figure], int]:
    """Return the figure that begins at *place*, if there is one, and where the next could begin."""
    token = tokens[place]
    before = tokens[place - 1] if place else None
    money = before is not None and before.text in "$€£¥₹" and not text[before.end : token.start].strip()
    dated: Sequence[Decimal] = ()
    if token.kind == "number":
        *dated, value = _digits(token.text)  # "10.5.2020" is three
        value, after = _scale_value(tokens, value, place + 1, money=money)
    elif token.kind == "word" and (named := _named_figure(token.text)):
        return [named], place + 1
    elif (spelled := _spelled_number(tokens, place)) is None:
        return [], place + 1
    else:
        value, after = spelled
    unit, behind = _unit(text, tokens, after)
    if money and before is not None:  # "$5 USD" says it twice
        unit, behind = _UNITS[before.text], behind if unit == _UNITS[before.text] else after
    if _negates(text, tokens, place - 1 - money):
        value = -value
    figure = Figure(
        value=value,
        unit=None if unit == "th" else unit,
        kind="ordinal" if unit == "th" else "number",
        needed=token.text.lower() != "one" or value != 1,
    )
    return [*(Figure(value=one) for one in dated), figure], behind


def _named_figure(word: str) -> Figure | None:
    """Return a month, a weekday, an ordinal or a decade."""
    if word in _MONTHS:
        return Figure(value=Decimal(_MONTHS[word]), kind="month", needed=False)
    if word in _WEEKDAYS:
        return Figure(value=Decimal(_WEEKDAYS[word]), kind="weekday", needed=False)
    if number := _ORDINALS.get(word.lower()):
        return Figure(value=Decimal(number), kind="ordinal", needed=False)
    if decade := _DECADES.get(word.lower()):
        return Figure(value=Decimal(decade), unit=DECADE)
    return None


def _spelled_number(tokens: Sequence[_FigureToken], place: int) -> tuple[Decimal, int] | None:
    """Return the number in words that begins at *place* and the place after it; None if there is none."""
    total, current, last = 0, -1, -1
    while place < len(tokens) and max(total, current) < _LARGEST:
        word = tokens[place].text.lower()
        number = _ONES.get(word, _TENS.get(word, -1))
        if number >= 0:
            if current < 0:
                current = number
            elif (20 <= last < 100 and 0 < number < 10) or (last == 100 and number < 100):
                current += number  # "twenty-five", "hundred and four"
            elif 10 <= current < 100 and number >= 10:
                current = 100 * current + number  # "nineteen eighty"
            else:
                break
        elif word == "hundred" or word in _SCALES:
            number = 100 if word == "hundred" else 10 ** _SCALES[word]
            if number == 100:
                current = 100 * abs(current)  # "a hundred"
            else:
                total, current = total + number * abs(current), -1
        elif not (last >= 20 and word in ("and", "-", "–") and _goes_on(tokens, place + 1)):
            break
        else:
            number = last
        last = number
        place += 1
    return None if last < 0 else (Decimal(total + max(current, 0)), place)


def _goes_on(tokens: Sequence[_FigureToken], place: int) -> bool:
    word = tokens[place].text.lower() if place < len(tokens) else ""
    return word in _ONES or word in _TENS


def _digits(text: str) -> Iterator[Decimal]:
    if _GROUPED.fullmatch(text):
        yield Decimal(re.sub(r"[^\d.]", "", text))
    elif _POINTS.fullmatch(text):
        yield Decimal(text.replace(".", "").replace(",", "."))
    elif _DECIMAL.fullmatch(text):
        yield Decimal(text.replace(",", "."))
    else:  # a date, a time, a version
        yield from map(Decimal, re.findall(r"\d+", text))


def _scale_value(
    tokens: Sequence[_FigureToken], value: Decimal, place: int, *, money: bool
) -> tuple[Decimal, int]:
    """Return *value* times the scales at *place*, and the place after them: "5.2 million", "5k", "$5m"."""
    while place < len(tokens) and value < _LARGEST:
        word, joined = tokens[place].text.lower(), tokens[place].start == tokens[place - 1].end
        scale = 2 if word == "hundred" else _SCALES.get(word)
        if scale is None and (money or (joined and word != "m") or len(word) > 1):
            scale = _SHORT_SCALES.get(word)
        if scale is None:
            break
        value = value.scaleb(scale)
        place += 1
    return value, place


def _unit(text: str, tokens: Sequence[_FigureToken], place: int) -> tuple[str | None, int]:
    """Return the unit at *place*, ``th`` for an ordinal's ending, and the place after it."""
    if place >= len(tokens):
        return None, place
    token, joined = tokens[place], tokens[place].start == tokens[place - 1].end
    word = token.text.lower()
    if joined and tokens[place - 1].kind == "number":
        if word in ("st", "nd", "rd", "th"):
            return "th", place + 1
        if word == "s" and tokens[place - 1].text.endswith("0"):
            return DECADE, place + 1
    between = text[tokens[place - 1].end : token.start]
    if word in "-–" and place + 1 < len(tokens) and tokens[place + 1].start == token.end:
        found = _UNITS.get(tokens[place + 1].text.lower())  # "a 5-year plan"
        return found, place + 2 if found else place
    if between.strip():
        return None, place
    following = tokens[place + 1].text.lower() if place + 1 < len(tokens) else ""
    if word == "per" and following in ("cent", "mille"):
        return ("percent" if following == "cent" else "permille"), place + 2
    if word in ("percentage", "basis") and following in ("point", "points"):
        return f"{word} point", place + 2
    unit = _UNITS.get(word)
    return unit, place + (unit is not None)


def _negates(text: str, tokens: Sequence[_FigureToken], place: int) -> bool:
    if place < 0:
        return False
    token = tokens[place]
    if token.text.lower() in ("minus", "negative"):
        return True
    if token.text not in "-−–" or not text[token.end : token.end + 1].strip():
        return False  # a dash with a space behind it
    before = text[: token.start]
    return not re.search(r"[\w)%°]\s?$", before)  # else a range, or a hyphen
