"""
The twelve kinds of personal data, and the patterns that tell some by their form.

A JSON value is told by its key, what in a URL is somebody's by how it looks; postal addresses by the names of
streets, by post codes, and by what is said before them; dates by the forms in which people write them, in
which they are moved by some days, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal, get_args

from replay.core.safety.secret_detection import is_key, looks_random

Kind = Literal[
    "name", "address", "email", "phone", "card", "account", "birth-date", "national-id", "passport",
    "number", "ip", "secret",
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)


_KEYS: Mapping[Kind, str] = {
    "secret": r"password|passwd|pwd|secret|token|api_?key|authorization|auth|cookie|session_?key|credentials?"
    r"|pin|cvv|cvc|otp",
    "email": r"e_?mails?",
    "phone": r"(?:tele)?phone|mobile|cell|fax|msisdn|whatsapp|tel",
    "birth-date": r"dob|birth_?da(?:te|y)|date_of_birth|born|birth",
    "national-id": r"ssn|nino|national_id|tax_id|social_security|nhs|passport_id|id_?card|bsn|cpf",
    "passport": r"passport",
    "card": r"card|pan|credit_?card|cc",
    "account": r"iban|bic|account_?(?:number|no)|sort_?code|routing|bank_?account",
    "ip": r"ip|ip_?addr(?:ess)?|remote_addr|client_ip",
    "address": r"address|street|line_?\d|address_?(?:line)?_?\d?|zip|zip_?code|post_?code|postal_?code"
    r"|latitude|longitude|lat|lng|lon|shipping|billing",
    "name": r"(?:first|last|full|given|family|middle|sur|customer|user|client|contact|display|nick|maiden"
    r"|passenger|patient|guest|holder|recipient|sender|agent|owner|account_holder|card_holder)_?name"
    r"|first|last|given|family|surname|passengers?|recipient|cardholder|author|customer|assignee|contact|agent",
    "number": r"id|ids|uuid|guid|number|no|ref|reference|order|ticket|case|booking|invoice|tracking"
    r"|customer_?number|reservation|confirmation|locator|pnr|policy|membership|user|login|handle|device",
}
_KEY_PATTERNS = {kind: re.compile(rf"(?:.*_)?(?:{words})s?", re.IGNORECASE) for kind, words in _KEYS.items()}


_OF_THINGS = re.compile(
    r"(?:flight|model|version|page|room|seat|gate|item|part|product|sku|category|tool|function|line|port"
    r"|status|error|language|currency|plan|file|train|channel|task|store|brand)s?_"
)
"""Beginnings of keys whose numbers and names are things', and nobody's."""


def kind_of_key(key: str) -> Kind | None:
    """
    Return what a JSON value under *key* is by the key alone, as ``customerName``; None if that doesn't say.
    """
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).replace("-", "_").replace(" ", "_").lower()
    kind = next((kind for kind, pattern in _KEY_PATTERNS.items() if pattern.fullmatch(snake)), None)
    return None if kind in ("number", "name") and _OF_THINGS.match(snake) else kind


_QUOTED = re.compile(r"""(["'])([A-Za-z]\w{0,40})\1\s*[:=]\s*(["'])((?:(?!\3)[^\n]){2,200})\3""")


def find_keyed(text: str) -> Iterator[tuple[int, int, Kind]]:
    """Yield the values within *text* that stand behind a quoted key, as ``'zip': '77242'``, by kind."""
    for match in _QUOTED.finditer(text):
        kind = kind_of_key(match[2])
        if kind is not None and (kind in ("name", "address", "email") or re.search(r"\d", match[4])):
            yield match.start(4), match.end(4), kind


_QUERY = re.compile(r"[?&;#]([\w.\[\]-]+)=([^&;#\s]*)")


def sensitive_parts(url: str) -> list[tuple[int, int]]:
    """Return where *url* holds a user's name and password, a token, an id: (begin, end), in order."""
    found = []
    rest = url.find("://") + 3
    host_end = next((at for at in range(rest, len(url)) if url[at] in "/?#"), len(url))
    if (at := url.rfind("@", rest, host_end)) > 0:
        found.append((rest, at))
    query = next((at for at in range(host_end, len(url)) if url[at] in "?#"), len(url))
    begin = host_end
    while begin < query:
        end = next((at for at in range(begin + 1, query) if url[at] == "/"), query)
        part = url[begin + 1 : end]
        digits = sum(sign.isdigit() for sign in part)
        if digits >= 6 or looks_random(part) or (len(part) >= 20 and digits >= 3):
            found.append((begin + 1, end))
        begin = end
    for match in _QUERY.finditer(url, query):
        value = match[2]
        if len(value) >= 3 and (
            sum(sign.isdigit() for sign in value) >= 4
            or looks_random(value)
            or is_key(match[1], value)
            or "@" in value
            or "%40" in value
        ):
            found.append(match.span(2))
    return found


_UPPER = "A-ZÀ-Þ"
_WORD = rf"[{_UPPER}0-9][\w’'./-]*"
_UNIT = r"(?:(?:Flat|Apt\.?|Apartment|Unit|Suite|Ste\.?|Room|Floor|No\.?)\s+[\w/-]+,?\s+|#\s?\d+\w?,?\s+)"
_STREETS = (
    "Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Drive|Dr|Court|Ct|Place|Pl|Square|Sq|Boulevard|Blvd|Way|Hill|Close"
    "|Crescent"
    "|Terrace|Row|Wharf|View|Quay|Parkway|Pkwy|Highway|Hwy|Wall|Gardens|Gate|Walk|Mews|Park|Green|Grove|Rise"
    "|Parade"
    "|Circle|Trail|Broadway|Alley|Yard|Bridge|Embankment|Heights|Loop|Path|Plaza"
)
_UK_CODE = r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}"
_CODES = (
    _UK_CODE,
    r"[A-Z]\d[\dW] ?[A-Z0-9]{4}",  # Ireland
    r"[A-Z]\d[A-Z] ?\d[A-Z]\d",  # Canada
    r"(?:A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT"
    r"|V[AT]|W[AIVY])"
    r",? \d{5}(?:-\d{4})?",
    r"(?:NSW|VIC|QLD|TAS|ACT) \d{4}",
    r"\d{4} ?[A-Z]{2} [A-ZÀ-Þ][\w’'-]+",  # Netherlands
    r"\d{3}-\d{4}(?=$|[.,;])",  # Japan
    rf"\d{{4,5}} [{_UPPER}][\w’'-]+",  # 10969 Berlin, 75002 Paris
)
_CODE = rf"(?:{'|'.join(_CODES)})"
_TAIL = (
    rf"(?:,?\s+(?:Apt\.?|Apartment|Unit|Suite|Ste\.?|Flat|Floor|#)\s*[\w/-]+)?(?:\s+(?:North|South|East|West"
    rf"|N|S|E|W)\b\.?)?"
    # Neither a line nor a sentence ends between two words: "USA", then "What would you like?"
    rf"(?:,?\s+{_CODE}|,\s+{_WORD}(?:(?<![A-Za-z0-9]{{3}}\.)[^\S\n]+{_WORD}){{0,3}}){{0,4}}"
)
_NUMBER = r"\d{1,5}[A-Za-z]?(?:[-/]\d+\w?)?"
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_UNIT}?\b{_NUMBER},?\s+(?:{_WORD}\s+){{1,4}}?(?:{_STREETS})\b\.?{_TAIL}",
        rf"{_UNIT}?\b{_NUMBER}\s+(?:[NSEW]\.?\s+)?{_WORD}(?:\s+{_WORD})*\s+(?:{_STREETS})\b\.?{_TAIL}",
        rf"\b(?:[{_UPPER}][\w-]*\s+)?[{_UPPER}]?[\w-]*(?:[sS]tra(?:ß|ss)e|[sS]tr\.|[wW]eg|[pP]latz|[gG]asse"
        rf"|[aA]llee|gracht|straat|laan|plein|kade"
        rf"|vej|gade|gatan|vägen)\s+{_NUMBER}{_TAIL}",
        rf"\b{_NUMBER}(?:\s+(?:bis|ter))?,?\s+(?i:rue|avenue|boulevard|place|chemin|quai|all[ée]e|impasse"
        rf"|cours)\s+(?:(?:de|du|des|la|le|les|d[’'])\s*){{0,3}}{_WORD}(?:\s+(?:(?:de|du|des|la|le|les"
        rf"|d[’'])\s*){{0,3}}[{_UPPER}][\w’'-]*){{0,3}}{_TAIL}",
        rf"\b(?:Calle|Avenida|Av\.|Via|Viale|Piazza|Corso|Rua|Carrera|Plaza"
        rf"|Paseo)\s+(?:[\w’']+\s+){{0,4}}[\w’']+,?\s+{_NUMBER}{_TAIL}",
        rf"\b(?i:p\.?\s?o\.?\s+box)\s+\d+{_TAIL}",
        rf"(?:[{_UPPER}0-9][\w’' -]*,\s+){{0,4}}(?:{_WORD}\s+){{0,3}}\b{_UK_CODE}\b",
        rf"(?:{_WORD},?\s+){{0,6}}\b{_CODES[3]}\b",
        rf"\b(?:{_CODES[1]}|{_CODES[2]})\b",
        # In small letters, or in capitals alone, where a post code follows.
        rf"(?i:\b{_NUMBER}\s+(?:[\w’'.-]+\s+){{1,4}}(?:{_STREETS})\b[^.;!?\n]{{0,40}}?\b(?:{_UK_CODE}|{_CODES[3]})\b)",
        rf"{_UNIT}{_NUMBER}\s+{_WORD}(?:\s+{_WORD}){{0,3}}{_TAIL}",
    )
)
_ZIP_CODE = re.compile(
    rf"\b(?:[{_UPPER}]\w+,? \(?|(?:in|to|from|near) )(\d{{5}}(?:-\d{{4}})?)\b(?![.,:]\d|%|\s+[a-z]{{3,}}s\b)"
)
""" "I live in 32286", "from Denver, 80280", and not "in 20000 steps"."""
ASKS_ADDRESS = re.compile(
    r"\baddress\b|\bwhere (?:do you live|should|shall|to send|can)\b|\bship(?:ped)? to\b|\band where\b"
    r"|where to send",
    re.IGNORECASE,
)
_CUE = re.compile(
    r"\b(?:address(?: is)?|lives? (?:at|on)|living at|deliver(?:ed|y)?(?: it| them)? to|ship(?:ped)?(?: it"
    r"| them)? to"
    r"|(?:mail|send|post)(?: it| them| the \w+(?: \w+)?)? to|moved to|staying at|\w+(?:'s|’s|'m|’m| am"
    r"| is) at)\s*:?\s+",
    re.IGNORECASE,
)
_CHUNK = re.compile(rf"(?=[^.;!?\n]*\d)(?=[\d{_UPPER}])[^.;!?\n]{{6,120}}")
_ENDS = re.compile(
    r"\s+(?:and|but|for|because|since|ring|call|please|which|if|so|not|on|any)\b|,\s+(?:for|ring|call|any"
    r"|not|which|correct|and|but|please|[a-z]{3,})\b|\s[–—-]\s"
)
_SENTENCE = re.compile(r"\b(?:that|ha[ds]|have|was|were|will|would|its?|they|s?he|been|who|than)\b")
"""What stands in a sentence and in no address."""
_LIKE_AN_ADDRESS = re.compile(rf"\d\w*\s+[{_UPPER}]|[{_UPPER}]\w+\s+\d+\w*\s*,|,\s*[{_UPPER}0-9]|\d{{4,}}")


def find_addresses(text: str) -> Iterator[tuple[int, int]]:
    """
    Yield where addresses are in *text* by their form, as (begin, end); they may overlap, surer ones first.
    """
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            yield match.start(), match.start() + len(match[0].rstrip(" ,."))


def find_post_codes(text: str) -> Iterator[tuple[int, int]]:
    """Yield where an American post code stands by itself, as (begin, end)."""
    for match in _ZIP_CODE.finditer(text):
        yield match.span(1)


def find_cued_addresses(text: str, before: str) -> Iterator[tuple[int, int]]:
    """
    Yield where addresses are in *text* because something says so, as (begin, end).

    Args:
        text: What somebody said.
        before: What was said before it, which may have asked for an address.
    """
    starts = [match.end() for match in _CUE.finditer(text)]
    if ASKS_ADDRESS.search(before):
        starts += [0, *(match.end() for match in re.finditer(r"[.!?:]\s+|\b(?:is|to|at)\s+", text))]
    for start in starts:
        if match := _CHUNK.match(text, start):
            end = _ENDS.search(match[0])
            chunk = match[0][: end.start()] if end else match[0]
            if len(chunk) >= 8 and _LIKE_AN_ADDRESS.search(chunk) and not _SENTENCE.search(chunk):
                yield start, start + len(chunk.rstrip(" ,."))


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
