"""A model on this machine, behind real HTTP, that reads the histories in its prompt and says who "she" is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

SHE = re.compile(r"<question>.*\b(she|her)\b.*</question>")
SINGER = re.compile(r"(\w+ \w+) (?:sang|wrote) it")


def history(prompt: str, side: str) -> str:
    """What stands in *prompt* as one of the histories."""
    found = re.search(rf"<{side}_history>(.*?)</{side}_history>", prompt, re.DOTALL)
    return found[1] if found else ""


def honest(prompt: str, number: int) -> str:
    """Who sang it, in each of the histories in *prompt*."""
    mention = SHE.search(prompt)
    said = {side: SINGER.search(history(prompt, side)) for side in ("recorded", "own")}
    quotes = {side: found and found[1] for side, found in said.items()}
    same = quotes["recorded"] == quotes["own"]
    compares = "<own_history>" in prompt
    references: list[Mapping[str, Any]] = []
    if mention:
        one = {"text": mention[1], "recorded": quotes["recorded"]}
        references = [{**one, "own": quotes["own"], "same": same} if compares else one]
    verdict = {"same_meaning": same or not mention} if compares else {}
    return json.dumps({"references": references, **verdict})
