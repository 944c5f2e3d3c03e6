"""A model on this machine, behind real HTTP, that reads the histories in its prompt and says who "she" is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import asynccontextmanager
from typing import Any

from replay.core.asking.costs import NO_PRICES
from replay.coreference.service.service import CoreferenceService, ResolverChoice

SHE = re.compile(r"<question>(.*)\b(she|her)\b(.*)</question>")
SINGER = re.compile(r"(\w+ \w+) (?:sang|wrote) it")


def choice(server, folder, table=NO_PRICES, **settings):
    """Whoever is asked at *server*, as a scenario in *folder* names it."""
    made = {**server.settings(), "cache": False, "attempts": 1, **settings}
    return ResolverChoice(name="llm", settings=made, folder=folder, prices=table)


@asynccontextmanager
async def resolver(server, folder, **settings):
    """The same, open."""
    async with CoreferenceService(choice(server, folder, **settings), workers=0) as service:
        yield service.asked


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
        one = {"text": mention[2], "recorded": quotes["recorded"]}
        references = [{**one, "own": quotes["own"], "same": same} if compares else one]
    standalone = mention and f"{mention[1]}{quotes['recorded']}{mention[3]}"
    verdict = {"meaning": "same" if same or not mention else "other"} if compares else {}
    return json.dumps({"references": references, "standalone": standalone, **verdict})
