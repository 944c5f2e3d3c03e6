"""
Made-up values for one conversation's personal data: the same for the same, of the same form, nobody's.

They depend on the seed and on how many came before, never on what they replace, so that nothing can be
computed back from them. Kept is what a program may look at: the gender of a first name, a card's issuer and
check digit, an IBAN's country and check digits, the form of a number, the order and distances of dates.
Numbers of telephones and addresses of machines are those set apart for examples, where there are such.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from replay.collecting.patterns import Kind, find_dates, sensitive_parts
from replay.collecting.person_names import CONNECTORS, WORD, name_lists

_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"
_DOMAINS = ("example.com", "example.org", "example.net")
_NETWORKS = ("192.0.2", "198.51.100", "203.0.113")
"""For documentation (RFC 5737)."""
_MOST_TRIES = 200


@cache
def _pools() -> dict[str, tuple[str, ...]]:
    """Return first names by gender, surnames, streets and towns, as Faker has them for the USA."""
    from faker.providers.address.en_US import Provider as Address
    from faker.providers.person.en_US import Provider as Person

    lists = name_lists()

    def plain(names: Any) -> tuple[str, ...]:
        return tuple(sorted(name for name in names if name.isascii() and name.lower() not in lists.both))

    female, male = plain(Person.first_names_female), plain(Person.first_names_male)
    return {
        "female": tuple(name for name in female if lists.gender(name.lower()) == "female"),
        "male": tuple(name for name in male if lists.gender(name.lower()) == "male"),
        "either": tuple(name for name in female if name in set(male)),
        "last": tuple(name for name in plain(Person.last_names) if not lists.is_first(name.lower())),
        "street": tuple(Address.street_suffixes),
    }


class Pseudonyms:
    """What stands for what in one conversation."""

    def __init__(self, rng: random.Random, originals: Iterable[str] = ()) -> None:
        """
        Args:
            rng: Draws the values.
            originals: What no value may be, since it is to be gone.
        """
        self._rng = rng
        self._values: dict[tuple[Kind, str], str] = {}
        self._names: dict[str, str] = {}
        self._used = {original.lower() for original in originals}
        self._days = rng.choice((-1, 1)) * rng.randrange(30, 700)
        self._weeks = rng.randrange(1, 100)
        self._genders: dict[str, str] = {}

    @property
    def shift_s(self) -> float:
        """By how many seconds recorded times are moved: whole weeks into the past."""
        return -self._weeks * 7 * 86_400.0

    def of(self, kind: Kind, text: str) -> str:
        """Return what stands for *text*, a piece of personal data of this *kind*."""
        if kind == "name":
            return self.name(text)
        if kind == "birth-date":
            return self._date(text)
        key = re.sub(r"[\W_]+", "", text).lower() if kind not in ("secret", "ip", "email") else text.lower()
        if (known := self._values.get((kind, key))) is None:
            known = self._new(_MAKERS[kind], text)
            self._values[kind, key] = known
        return _in_form_of(text, known) if kind in _BY_FORM else known

    def _new(self, make: Callable[[random.Random, str], str], text: str) -> str:
        for _ in range(_MOST_TRIES):
            made = make(self._rng, text)
            if made != text and made.lower() not in self._used:
                break
        self._used.add(made.lower())
        return made

    # Names ---------------------------------------------------------------------------------------------

    def name(self, text: str) -> str:
        """
        Return the name that stands for *text*, word by word, so that parts of it stand for the same person.
        """
        words = [match for match in WORD.finditer(text) if match[0].lower() not in CONNECTORS]
        made, at = "", 0
        for index, match in enumerate(words):
            word = match[0].rstrip(".")
            made += text[at : match.start()] + self._name_word(
                word, first=index == 0 < len(words) - 1, last=0 < index == len(words) - 1
            )
            at = match.start() + len(word)
        return made + text[at:]

    def be_called(self, first: str, gender: str) -> None:
        """Keep that whoever is called *first* is ``female`` or ``male``, as their title says."""
        self._genders.setdefault(first.lower(), gender)

    def _name_word(self, word: str, *, first: bool, last: bool) -> str:
        lower = word.lower()
        if lower not in self._names:
            if len(word) == 1:
                made = self._rng.choice(_LETTERS)
            else:
                lists, pools = name_lists(), _pools()
                first = first or (lists.is_first(lower) and not last)
                gender = lists.gender(lower)
                if first and gender == "either":
                    gender = self._genders.get(lower, "either")  # type: ignore[assignment]
                pool = pools[gender] if first else pools["last"]
                made = self._new(lambda rng, _: rng.choice(pool), word)
            self._names[lower] = made
        made = self._names[lower]
        return made.upper() if word.isupper() and len(word) > 1 else made.lower() if word.islower() else made

    # Dates ---------------------------------------------------------------------------------------------

    def _date(self, text: str) -> str:
        for written in find_dates(text):
            return text[: written.begin] + written.move(self._days) + text[written.end :]
        return _scramble(self._rng, text)


_RUN = re.compile(r"[^\W\d_]+|\d+|[\W_]+")


def _scramble(rng: random.Random, text: str, *, keep_words: bool = True) -> str:
    """
    Return another text of the same form: a digit for a digit, a letter for a letter.

    Of ``ORD-2291`` and ``credit_card_77`` the letters stay, of ``emma_kim_77`` they don't.
    """
    keep_words = keep_words and not any(
        run.islower() and name_lists().is_name(run) for run in _RUN.findall(text)
    )
    made = ""
    for match in _RUN.finditer(text):
        run = match[0]
        if keep_words and _says_nothing(run, before=made, after=text[match.end() :]):
            made += run
        elif run.isdecimal():
            first = run[0] != "0" and not any(sign.isdecimal() for sign in made)
            made += "".join(
                rng.choice("123456789" if first and not index else "0123456789") for index in range(len(run))
            )
        elif run.isalpha():
            letters = (rng.choice(_LETTERS) for _ in run)
            made += "".join(
                letter if sign.isupper() else letter.lower()
                for letter, sign in zip(letters, run, strict=True)
            )
        else:
            made += run
    return made


def _says_nothing(run: str, *, before: str, after: str) -> bool:
    """Return whether *run*, letters of an identifier, says nothing of whose it is."""
    if not run.isalpha():
        return False
    # Letters before the number say which kind of number it is: "ORD-1234", "LN445190".
    prefix = run.isupper() and not before.strip("#") and re.match(r"[-_/ ]|\d{4}", after) is not None
    return (prefix and 2 <= len(run) <= 5) or (len(run) >= 3 and run.lower() in name_lists().common)


def _in_form_of(text: str, value: str) -> str:
    """Return the letters and digits of *value* with the signs between them that *text* has."""
    signs = iter(re.sub(r"[\W_]+", "", value))
    return "".join(next(signs, "") if sign.isalnum() else sign for sign in text)


def _card(rng: random.Random, text: str) -> str:
    from stdnum import luhn

    digits = re.sub(r"\D", "", text)
    made = digits[0] + "".join(rng.choice("0123456789") for _ in digits[2:])
    check = luhn.calc_check_digit(made)
    # One that was mistyped has a wrong check digit afterwards, too.
    return made + (check if luhn.is_valid(digits) else str((int(check) + rng.randrange(1, 10)) % 10))


def _account(rng: random.Random, text: str) -> str:
    from stdnum import iban

    plain = re.sub(r"[\W_]+", "", text).upper()
    if not re.match(r"[A-Z]{2}\d{2}", plain):
        return _scramble(rng, text)
    body = "".join(rng.choice("0123456789") if sign.isdigit() else rng.choice(_LETTERS) for sign in plain[4:])
    if not iban.is_valid(plain, check_country=False):
        return plain[:2] + _scramble(rng, plain[2:4]) + body
    return plain[:2] + iban.calc_check_digits(plain[:2] + "00" + body) + body


def _phone(rng: random.Random, text: str) -> str:
    """Return a number for examples (555-01xx; Ofcom's for drama); elsewhere one with the same beginning."""
    digits = re.sub(r"\D", "", text)
    tail = f"{rng.randrange(100):02d}"
    if re.fullmatch(r"1?[2-9]\d{9}", digits):
        return f"{digits[:-7]}55501{tail}"
    if re.fullmatch(r"(?:44|0)7\d{9}", digits):
        return f"{digits[:-10]}7700900{rng.randrange(1000):03d}"
    if digits.startswith(("4420", "020")) and len(digits) in (11, 12):
        return f"{digits[:-8]}79460{rng.randrange(1000):03d}"
    kept = len(digits) - min(6, len(digits) - 2)
    return digits[:kept] + "".join(rng.choice("0123456789") for _ in digits[kept:])


def _address(rng: random.Random, text: str) -> str:
    pools = _pools()
    if len(text) <= 10 or not re.search(r"[a-zß-ÿ]", text):
        return _scramble(rng, text, keep_words=re.search(r"[a-z]", text) is not None)
    made = f"{rng.randrange(1, 200)} {rng.choice(pools['last'])} {rng.choice(pools['street'])}"
    if "," in text:
        made += f", {rng.choice(pools['last'])}ville"
        if code := re.search(
            r"\b[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}\b|\b[A-Z]{2} \d{5}\b|\b\d{4,5}\b(?=\D*$)", text
        ):
            made += f" {_scramble(rng, code[0])}"
    return made


def _email(rng: random.Random, text: str) -> str:
    pools = _pools()
    name = f"{rng.choice(pools['either'])}.{rng.choice(pools['last'])}".lower()
    return f"{name}@{rng.choice(_DOMAINS)}"


def _ip(rng: random.Random, text: str) -> str:
    if ":" in text:
        return f"2001:db8::{rng.randrange(1, 0xFFFF):x}:{rng.randrange(1, 0xFFFF):x}"
    return f"{rng.choice(_NETWORKS)}.{rng.randrange(1, 255)}"


def _national_id(rng: random.Random, text: str) -> str:
    plain = re.sub(r"\W", "", text)
    if re.fullmatch(r"\d{9}", plain):
        return f"9{_scramble(rng, plain[1:])}"  # no social security number begins with 9
    if re.fullmatch(r"[A-Z]{2}\d{6}[A-D]", plain):
        return f"QQ{_scramble(rng, plain[2:8])}{plain[8]}"  # as in the forms' own examples
    return _scramble(rng, plain, keep_words=False)


def _passport(rng: random.Random, text: str) -> str:
    return _scramble(rng, text, keep_words=False)


def _secret(rng: random.Random, text: str) -> str:
    """Return a text that no scanner takes for a key; of an address only what is secret in it is replaced."""
    if "://" not in text:
        return f"hidden-{rng.randrange(10_000):04d}"
    made, at = "", 0
    for begin, end in sensitive_parts(text):
        made += text[at:begin] + f"hidden-{rng.randrange(10_000):04d}"
        at = end
    return made + text[at:]


_MAKERS: dict[Kind, Callable[[random.Random, str], str]] = {
    "address": _address,
    "email": _email,
    "phone": _phone,
    "card": _card,
    "account": _account,
    "national-id": _national_id,
    "passport": _passport,
    "number": _scramble,
    "ip": _ip,
    "secret": _secret,
}
_BY_FORM = ("phone", "card", "account", "national-id", "number")
"""Kinds that are the same however their digits are grouped."""
