"""
Where personal data are in a text: twelve kinds, each by its shape, its check digits and what is said around
it.

Phone numbers are told by phonenumbers, check digits of cards and IBANs by python-stdnum, names by
``person_names``, keys by what scenarios are searched with. All else are patterns, and strict ones: a long
number is somebody's until it is a date, since what leaks is worse than what is lost.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from replay.collecting.patterns import (
    Kind,
    find_addresses,
    find_cued_addresses,
    find_dates,
    find_keyed,
    find_post_codes,
    sensitive_parts,
)
from replay.collecting.person_names import find_names, name_lists
from replay.core.safety.secret_detection import key_spans, looks_random

LATEST_BIRTH = 2012
"""A date of this year or an earlier one may be somebody's birth, whatever is said around it."""


class PersonalSpan(NamedTuple):
    """Where something personal is in a text."""

    begin: int
    end: int
    kind: Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalDataRules:
    """What somebody knows of their own logs."""

    patterns: Sequence[tuple[Kind, re.Pattern[str]]] = ()
    """What is personal here as well; of a pattern with a group that group."""
    keep: frozenset[str] = field(default_factory=frozenset)
    """Words, in small letters, that are no names here: products, the company."""


_EMAIL = re.compile(r"[\w.+%'’-]*[\w+%-]@(?:[\w-]+\.)+[^\W\d_]{2,}")
_HANDLE = re.compile(
    r"(?<![\w@./])@(?!(?:here|channel|everyone|all|media|import)\b)([^\W\d_][\w.-]*\w)(?![\w/(])"
)
"""A decorator or a package in code is none."""
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s<>\"'|\])}]+", re.IGNORECASE)
_IP4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)")
_IP6 = re.compile(r"(?<![\w:.])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}(?![\w:])", re.IGNORECASE)
_VERSION = re.compile(
    r"(?:version|firmware|release|build|client|driver|update|kernel|v|ver)\.?\s*[:=]?\s*$", re.IGNORECASE
)
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]{1,4}){3,9}\b")
_SORT_CODE = re.compile(r"(?<![\d-])\d{2}-\d{2}-\d{2}(?![\d-])")
_CARD = re.compile(r"(?<![\d.,-])\d(?:[ -]?\d){12,18}(?![\d-])")
_SSN = re.compile(r"(?<![\d-])\d{3}-\d{2}-\d{4}(?![\d-])")
_NINO = re.compile(r"\b[A-CEGHJ-PQR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]\b")
_PHONE = re.compile(r"(?<![\w.,/-])\+?\(?\d(?:[ .()/-]{0,2}\d){8,14}(?![\w-]|[.,]\d)")
_PHONE_CUED = r"\+?\(?\d(?:[ .()/-]{0,2}\d){5,14}"
_EXTENSION = re.compile(r"(?<!\w)(?:x|ext\.? ?)\d{2,6}\b")
_PREFIXED = re.compile(r"(?<![\w-])[A-Z]{1,6}[-/ ]?\d[\d/-]{4,}(?:-?[A-Z]{1,3})?(?![\w-])")
_LONG = re.compile(r"(?<![\w.,-])\d[\d-]{5,}\d(?![\w-]|[.,]\d)")
_MIXED = re.compile(r"\b(?=[A-Z0-9]*[A-Z])(?=(?:[A-Z]*\d){4})[A-Z0-9]{9,}\b")
_SNAKE = re.compile(r"\b(?:[a-z]+_)+\d{4,}\b")
_HASHED = re.compile(r"(?<!\w)#\d[\w-]{2,}")
_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE)
_TOKEN = re.compile(r"(?=[^\s\d]*\d)[A-Za-z0-9+/_=.~-]{16,}")
_IDENTIFIER = r"#?(?=[A-Z0-9/-]*\d)[A-Z0-9](?:[A-Z0-9]|[-/](?=[A-Z0-9])){3,}"
_DIGITS = r"#?\d(?:[\d-]|[ /](?=\d)){4,}"


class _Cue(NamedTuple):
    """Something that says of what follows, or of the answer to it, what it is."""

    kind: Kind
    words: re.Pattern[str]
    value: re.Pattern[str]
    reach: int
    """Characters between, within the sentence."""
    asks: re.Pattern[str] | None = None
    """What asks for it, if not the same words."""


def _cue(kind: Kind, words: str, value: str, reach: int = 30, asks: str | None = None) -> _Cue:
    return _Cue(
        kind,
        re.compile(rf"(?<![\w-])(?:{words})(?![^\W\d_])", re.IGNORECASE),
        re.compile(rf"(?<![\w.#-]){value}(?![\w-])"),
        reach,
        None if asks is None else re.compile(asks, re.IGNORECASE),
    )


_SURE_CUES = (
    _cue(
        "account",
        r"(?:bank )?account (?:number|no\.?|nr\.?)|account|acct\.?|a/c|routing(?: number)?|konto(?:nummer)?"
        r"|iban",
        r"\d(?:[ -]?\d){5,16}",
        14,
    ),
    _cue(
        "national-id",
        r"ssn|social(?: security)?(?: number)?|ni(?:no)?|national insurance(?: number)?|nhs(?: number)?"
        r"|medicare"
        r"|national id|id number|id card|identity(?: card)?|tax id|vitale|kt\.?|personal (?:id|number)|bsn"
        r"|dni|cpf"
        r"|aadhaar|tfn|itin|personnummer|codice fiscale|needs id",
        r"(?=(?:[A-Z-]*[ -]?\d){5})[A-Z0-9](?:[A-Z0-9]|[ -](?=[A-Z0-9]*\d)){5,24}",
        30,
    ),
    _cue("passport", r"passports?|travel document", r"(?=(?:[A-Z]*\d){4})[A-Z0-9]{6,10}", 200),
)
_CUES = (
    _cue(
        "number",
        r"tag|tracking|case|reference|parcel|order|booking|policy|customer|claim|contract|member(?:ship)?|number",
        r"(?=(?:[A-Z]* ?\d){6})[A-Z0-9]{2,}(?: [A-Z0-9]+){1,4}",
        10,
    ),
    _cue(
        "number",
        r"(?:purchase |work )?orders?|bookings?|reservations?|tickets?|cases?|invoices?|customers?|clients?"
        r"|member(?:ship)?|polic(?:y|ies)|ref(?:erence)?|tracking|accounts?|contracts?|claims?|applications?"
        r"|confirmations?|lease|agreements?|records?|mrn|crn|po|tag|trip|parcel|shipment|registration"
        r"|licen[cs]e"
        r"|subscription|student|patient|employee|user ?id|transaction|payment id",
        _IDENTIFIER,
        24,
        r"\b(?:order|booking|reservation|ticket|case|invoice|customer|client|member|policy|reference|tracking"
        r"|account|contract|claim|application|confirmation|lease|agreement|record|purchase order)\b[^.!]*\?|"
        r"\b(?:number|reference|id)\b[^.!]*\?",
    ),
    _cue(
        "number",
        r"bookings?|reservations?|confirmation|locator|pnr",
        r"(?:(?=[A-Z]*\d)[A-Z0-9]{5,7}|[A-Z]{6})",
        24,
    ),
    _cue(
        "phone",
        r"tele(?:phone)?|phone|call(?:back)?(?: \w+)?|mobile|cell|fax|ring|text|whatsapp|direct line|line is"
        r"|reach (?:me|her|him|us)|number (?:is|still)",
        _PHONE_CUED,
        30,
        r"\b(?:phone|telephone|mobile|cell|callback|call you|contact number)\b",
    ),
    _cue(
        "address",
        r"zip(?: code)?|post ?code|postal code|plz",
        r"(?=[A-Z]*\d)[A-Z0-9][A-Z0-9 -]{2,8}[A-Z0-9]",
        12,
    ),
    _cue(
        "number",
        r"user ?name|login|handle|user ?id|screen name|user",
        r"(?:@[\w.]{3,}|(?=[\w-]*[\d_])[A-Za-z][\w-]{3,}|[a-z]+\.[a-z]+)",
        12,
    ),
)
_PASSWORD = re.compile(
    r"\b(?:password|passwd|pwd|pass(?:code|phrase|wort)?|psk|secret|(?:api|access|auth)[ _-]?(?:key|token)"
    r"|key|token"
    r"|bearer|cookie|session(?:id)?|pin|otp|cvv|cvc|(?:security|access|verification) code)\b"
    r"(?:\s+(?:for|to|of)(?:\s+\w+){1,3}(?=\s*(?:is|was|:|=)))?[\s:=\"'`]{1,4}(?:(?:is|was|still|now|=)[\s:=\"'`]{1,3}){0,2}([^\s\"'`<>]{3,})",
    re.IGNORECASE,
)


def find_personal_data(
    text: str, *, before: str = "", rules: PersonalDataRules | None = None
) -> list[PersonalSpan]:
    """
    Return where personal data are in *text*, in order; no two overlap.

    Args:
        text: What somebody said.
        before: What was said before it, which may have asked for something.
        rules: What is personal, or isn't, in these logs.
    """
    rules = rules or PersonalDataRules()
    spans: list[PersonalSpan] = []
    taken = bytearray(len(text))

    def claim(begin: int, end: int, kind: Kind) -> None:
        if begin < end and not any(taken[begin:end]):
            taken[begin:end] = b"\x01" * (end - begin)
            spans.append(PersonalSpan(begin, end, kind))

    for kind, pattern in rules.patterns:
        for match in pattern.finditer(text):
            claim(*match.span(1 if pattern.groups else 0), kind)
    for finder in _FINDERS:
        for begin, end, kind in finder(text, before):
            claim(begin, end, kind)
    for begin, end in find_cued_addresses(_mask(text, taken), before):
        claim(begin, end, "address")
    for begin, end in find_post_codes(_mask(text, taken)):
        claim(begin, end, "address")
    for begin, end in find_names(_mask(text, taken), before=before, keep=rules.keep):
        claim(begin, end, "name")
    return sorted(spans)


def _mask(text: str, taken: bytearray) -> str:
    """Return *text* with blanks for what is *taken*, so that words keep their places."""
    return "".join(" " if mark else sign for sign, mark in zip(text, taken, strict=True))


_Spans = Iterable[PersonalSpan]


def _meets(match: re.Match[str], spans: Iterable[tuple[int, int]]) -> bool:
    """Return whether *match* overlaps one of *spans*."""
    return any(begin < match.end() and match.start() < end for begin, end in spans)


def _secrets(text: str, before: str) -> _Spans:
    urls = [match.span() for match in _URL.finditer(text)]
    for match in _URL.finditer(text):
        end = match.start() + len(match[0].rstrip(".,;:!?"))
        if sensitive_parts(text[match.start() : end]):
            yield PersonalSpan(match.start(), end, "secret")
    for begin, end in key_spans(text):
        yield PersonalSpan(begin, end, "secret")
    for match in _PASSWORD.finditer(text):
        value = match[1].rstrip(".,;:?)")
        if re.search(r"\d|[^\w.,'’-]|[a-z][A-Z]", value) and not re.fullmatch(
            r"\d{4}-\d\d-\d\d|.{0,2}", value
        ):
            yield PersonalSpan(match.start(1), match.start(1) + len(value), "secret")
    for match in _TOKEN.finditer(text):
        in_url = _meets(match, urls)
        if not in_url and looks_random(match[0]) and not _UUID.fullmatch(match[0]):
            yield PersonalSpan(match.start(), match.end(), "secret")


def _matches(kind: Kind, *patterns: re.Pattern[str]) -> Callable[[str, str], _Spans]:
    """Return what finds all that one of *patterns* matches."""
    return lambda text, before: (
        PersonalSpan(*match.span(), kind) for pattern in patterns for match in pattern.finditer(text)
    )


def _handles(text: str, before: str) -> _Spans:
    """Yield who is called by an @, as in chats: a name if it is one of letters, else an identifier."""
    for match in _HANDLE.finditer(text):
        yield PersonalSpan(*match.span(1), "name" if re.fullmatch(r"[^\W\d_]+", match[1]) else "number")


def _ips(text: str, before: str) -> _Spans:
    for pattern in (_IP4, _IP6):
        for match in pattern.finditer(text):
            with suppress(ValueError):
                address = ipaddress.ip_address(match[0])
                version = pattern is _IP4 and _VERSION.search(
                    text[max(0, match.start() - 14) : match.start()]
                )
                if not (address.is_loopback or address.is_unspecified or version):
                    yield PersonalSpan(*match.span(), "ip")


def _accounts(text: str, before: str) -> _Spans:
    from stdnum import iban

    for match in _IBAN.finditer(text):
        end = match.end()
        while end - match.start() >= 15:
            if iban.is_valid(text[match.start() : end], check_country=False):
                break
            end = max(text.rfind(" ", match.start(), end), text.rfind("-", match.start(), end))
        if end - match.start() < 15:
            # Mistyped, or of a country that isn't known: an account all the same where it is as long.
            if sum(sign.isdigit() for sign in match[0]) < 12:
                continue
            end = match.end()
        yield PersonalSpan(match.start(), end, "account")
    for match in _SORT_CODE.finditer(text):
        around = text[max(0, match.start() - 40) : match.start()] + before[-200:]
        if re.search(r"sort ?code|bank|account", around, re.IGNORECASE):
            yield PersonalSpan(*match.span(), "account")


def _cards(text: str, before: str) -> _Spans:
    from stdnum import luhn

    for match in _CARD.finditer(text):
        digits = re.sub(r"\D", "", match[0])
        cued = re.search(r"card|visa|amex|mastercard", text[: match.start()] + before, re.IGNORECASE)
        if cued or luhn.is_valid(digits):
            yield PersonalSpan(*match.span(), "card")


_BORN = re.compile(
    r"\bborn\b|birth|\bd\.?o\.?b\b|birthday|\bgeb(?:oren|urtsdatum)?\b|\bn[ée]e? le\b|date of b",
    re.IGNORECASE,
)


def _birth_dates(text: str, before: str) -> _Spans:
    asked = _BORN.search(before) is not None
    for date in find_dates(text):
        cued = _BORN.search(text[max(0, date.begin - 40) : date.begin]) or _BORN.search(
            text[date.end : date.end + 20]
        )
        if cued or asked or (date.full_year and date.value.year <= LATEST_BIRTH):
            yield PersonalSpan(date.begin, date.end, "birth-date")


def _find_cued(cues: Sequence[_Cue], text: str, before: str) -> _Spans:
    dates = [(date.begin, date.end) for date in find_dates(text)]
    for cue in cues:
        asks = cue.asks or cue.words
        starts = [(match.end(), cue.reach) for match in cue.words.finditer(text)]
        if cue.kind != "address" and asks.search(before):
            starts.append((0, 60))
        for start, reach in starts:
            # All of them behind a cue that reaches far: "old passport A, new one B".
            for match in cue.value.finditer(text, start):
                gap = text[start : match.start()]
                if len(gap) > reach or "ending" in gap or (reach < 60 and re.search(r"[.!?;]\s|\n", gap)):
                    break
                if not _is_plain_number(match[0]) and not _meets(match, dates):
                    yield PersonalSpan(*match.span(), cue.kind)


_PLAIN_NUMBER = re.compile(r"(?:19|20)\d\d(?:-(?:(?:19|20)\d\d|\d\d))?|\d{1,3}(?:[A-Z]{2,})?")


def _is_plain_number(text: str) -> bool:
    """Return whether *text* is a year, a small number or a word, and nobody's number."""
    if not any(sign.isdigit() for sign in text):
        return not (text.isupper() and len(text) == 6) or name_lists().is_word(text.lower())
    return _PLAIN_NUMBER.fullmatch(text) is not None


def _phones(text: str, before: str) -> _Spans:
    import phonenumbers

    for region in ("US", "GB"):
        for number in phonenumbers.PhoneNumberMatcher(text, region, phonenumbers.Leniency.VALID):
            begin, end = number.start, number.end
            inside = re.search(r"[\w/-]$", text[:begin]) or re.match(r"\w", text[end:])
            if sum(sign.isdigit() for sign in number.raw_string) >= 9 and not inside:
                yield PersonalSpan(begin, end, "phone")
    dates = [(date.begin, date.end) for date in find_dates(text)]
    for match in _EXTENSION.finditer(text):
        yield PersonalSpan(*match.span(), "phone")
    for match in _PHONE.finditer(text):
        separated = re.search(r"[ .()/-]|\+", match[0])
        if separated and not _meets(match, dates):
            yield PersonalSpan(*match.span(), "phone")


def _numbers(text: str, before: str) -> _Spans:
    dates = [(date.begin, date.end) for date in find_dates(text)]
    for pattern in (_UUID, _HASHED, _SNAKE, _PREFIXED, _MIXED, _LONG):
        for match in pattern.finditer(text):
            digits = sum(sign.isdigit() for sign in match[0])
            is_date = _meets(match, dates)
            least = 3 if pattern in (_HASHED, _SNAKE) else 5
            if digits >= least and not is_date and not _PLAIN_NUMBER.fullmatch(match[0]):
                yield PersonalSpan(*match.span(), "number")


def _addresses(text: str, before: str) -> _Spans:
    return (PersonalSpan(begin, end, "address") for begin, end in find_addresses(text))


def _keyed_values(text: str, before: str) -> _Spans:
    return (PersonalSpan(*found) for found in find_keyed(text))


_FINDERS: tuple[Callable[[str, str], _Spans], ...] = (
    _secrets, _keyed_values, _matches("email", _EMAIL), _handles, _ips, _accounts, _birth_dates,
    _matches("national-id", _SSN, _NINO),
    _cards, partial(_find_cued, _SURE_CUES), _phones, _addresses, partial(_find_cued, _CUES), _numbers,
)  # fmt: skip
"""In this order: what an earlier one has found is not looked at by a later one."""
