"""A small ``mahueval`` study, and people who go through it click by click."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.study.serving import Browser, Served, begun
from tests.study.talks import ask

TOPICS = {
    "lighthouse": (
        "The lighthouse of Marrow was built in 1887 by Edith Vane.",
        "Edith Vane was a stonemason from Corrin who built nine lighthouses.",
        "The lamp of the lighthouse burned whale oil until 1931.",
    ),
    "orchestra": (
        "The Tamber orchestra plays on instruments made of glass.",
        "Its conductor Ilse Roon founded the orchestra in 1964.",
        "The orchestra toured Norway with a repertoire of waltzes.",
    ),
    "observatory": (
        "The observatory on Mount Sorrel discovered two comets.",
        "Its telescope has a mirror of four metres, ground by Piet Hall.",
        "Piet Hall lost an eye while he was grinding the mirror.",
    ),
    "railway": (
        "The railway through the Gorse valley carried slate and sheep.",
        "Its engine, called Brisk, exploded near Fenwick in 1902.",
        "After the explosion near Fenwick the valley used mules again.",
    ),
}
QUESTIONS = {
    "lighthouse": ("Who built the lighthouse?", "How many lighthouses did Edith Vane build?"),
    "orchestra": ("What are the instruments of the orchestra made of?", "Who founded the orchestra?"),
    "observatory": ("What did the observatory discover?", "Who ground the mirror?"),
    "railway": ("What did the railway carry?", "Where did the engine explode?"),
}


def study_text(folder: Path, **settings: Any) -> str:
    """The file of a study of these topics with two people, two turns and the ``extractive`` system."""
    lines = [
        {
            "id": topic,
            "title": topic.capitalize(),
            "section": "History",
            "turns": [{"question": question} for question in QUESTIONS[topic]],
            "passages": [{"id": f"{topic}-{n}", "text": text} for n, text in enumerate(passages, start=1)],
        }
        for topic, passages in TOPICS.items()
    ]
    (folder / "topics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    more = settings.pop("file", {})
    file = {
        "name": "Talks",
        "preset": {"mahueval": {"fewest_turns": 2, "most_turns": 2, "conversations": 2, **settings}},
        "data": {"path": "topics.jsonl"},
        "systems": [{"name": "zebra", "adapter": "extractive"}],
        "raters": ["ann", "ben"],
        "limits": {"between_messages_s": 0},
        **more,
    }
    return json.dumps(file)


def study(folder: Path, **settings: Any) -> Path:
    """The database of that study, which has begun."""
    return begun(study_text(folder, **settings), folder)


@asynccontextmanager
async def at_work(study: Served, rater: int) -> AsyncIterator[Person]:
    """*rater*, who has read the instructions."""
    async with study.at_work(rater) as browser:
        yield Person(study, browser, rater)


Says = Callable[[str, int], Mapping[str, Any]]
"""What a person says of a turn: by topic and depth."""


class Person:
    """Somebody who talks with systems and judges them."""

    def __init__(self, study: Served, browser: Browser, rater: int) -> None:
        self.study = study
        self.browser = browser
        self.rater = rater

    @property
    def task(self):
        """The one that is open."""
        (open_one,) = [one for one in self.study.store.assignments(self.rater) if one.state == "open"]
        return self.study.store.task(open_one.task)

    async def ask(self, question: str) -> None:
        """Ask, and wait for the answer."""
        await ask(self.study, self.browser, question)

    async def talk(self, *questions: str) -> None:
        for question in questions:
            await self.ask(question)

    async def judge(self, says: Says) -> None:
        """Each turn of the talk that has ended."""
        topic = self.task.conversation
        for depth in (1, 2):
            assert self.browser.heading == f"Question {depth}", self.browser.html
            said = {name: str(value) for name, value in says(topic, depth).items()}
            await self.browser.send("/rate/answer", said)
            assert self.browser.status == 200, self.browser.html

    @property
    def ranked(self) -> list[str]:
        """The passages that the screen shows, best first."""
        found = re.findall(r'<ol class="passages">(.*?)</ol>', self.browser.html, re.DOTALL)
        return re.findall(r'<div class="said[^>]*>(.*?)</div>', found[0]) if found else []
