"""The twelve kinds of personal data; which a JSON value is by its key, and what in a URL is somebody's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
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
