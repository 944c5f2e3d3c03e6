"""What in a URL is secret or somebody's."""

from __future__ import annotations

import re

from replay.core.safety.secret_detection import is_key, looks_random

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
