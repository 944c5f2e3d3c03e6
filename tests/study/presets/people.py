"""Runs with telltale names, and people who work through a study."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from html import unescape
from pathlib import Path

from replay.runs.launch import run
from replay.scenario.shipped import shipped_folder
from tests.study.serving import Browser, Served

TELLTALE = ("zebra", "okapi", "badger", "ferret", "marten", "heron")
"""Names of systems, policies and the run in ``animal_run``: what no page may show."""

SYSTEMS = [
    {"name": "zebra", "adapter": "extractive"},
    {"name": "okapi", "adapter": "extractive", "settings": {"history_weight": 4.0, "decay": 1.0}},
]
POLICIES = [
    {own_name: policy, "settings": {}}
    for own_name, policy in (("badger", "gold"), ("ferret", "pred"), ("marten", "rewrite"))
]


def animal_run(
    folder: Path, *, systems=SYSTEMS, policies=POLICIES, name: str = "heron", conversations: int = 3
) -> Path:
    """The folder of a run in *folder*, called *name*."""
    data = shipped_folder() / "conversations" / "*.jsonl"
    scenario = {
        "name": name,
        "data": {"path": str(data), "limit": conversations},
        "systems": list(systems),
        "policies": list(policies),
    }
    done = run(scenario, runs=folder)
    return done.folder.rename(folder / name)


def study_text(preset: str, runs: Sequence[object], *settings: str, raters: str = "[ann, ben]") -> str:
    """A study file with *settings* of its *preset*, each a line of YAML."""
    lines = "".join(f"    {one}\n" for one in settings)
    named = [str(run) for run in runs]
    return f"name: check\nseed: 3\npreset:\n  {preset}:\n{lines}runs: {named}\nraters: {raters}\n"


Says = Callable[[str, str], Mapping[str, str]]
"""What a person answers: from a screen's heading and its text, the fields."""


async def work(study: Served, rater: int, says: Says) -> list[str]:
    """*rater* works until there is nothing to do; returns each page as it came, markup and all."""
    async with study.at_work(rater) as browser:
        pages = [browser.html]
        while 'action="/rate/answer"' in browser.html:
            await browser.send("/rate/answer", says(browser.heading, shown(browser)))
            assert browser.status == 200, browser.html
            pages.append(browser.html)
    return pages


def shown(browser: Browser) -> str:
    """What the page says, without its markup; each block's heading and text on lines of their own."""
    main = re.sub("</?mark>", "", browser.html.partition("<main")[2])
    lines = (" ".join(line.split()) for line in unescape(re.sub(r"<[^>]*>", "\n", main)).splitlines())
    return "\n".join(line for line in lines if line)


def table_of(results, title: str) -> list[dict[str, object]]:
    """The rows of the results' table called *title*, by column."""
    (table,) = [one for one in results.tables if one.title == title]
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]
