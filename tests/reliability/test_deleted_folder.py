"""A run whose folder is deleted or moved while it is played asks nobody any more: no answer would be kept."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiohttp import web

from replay.results.run import Run
from tests.adapters.servers import answering, completion, in_a_thread
from tests.cli.command import replay_cli
from tests.reliability.programs import only_run, write_scenario
from tests.workers.inside import started_inside

TALKS, TURNS = 40, 3
GONE_AT = 4
"""The question before whose answer the folder goes."""


class Server:
    """Answers, and does what *go_away* says before one of its answers."""

    def __init__(self, go_away: Callable[[], object]) -> None:
        self.asked = 0
        self._go_away = go_away

    async def answer(self, request: web.Request) -> web.Response:
        self.asked += 1
        if self.asked == GONE_AT:
            self._go_away()
        return web.json_response(completion("Yes."))


@contextmanager
def played(folder: Path, go_away: Callable[[], object], **play: object) -> Iterator[tuple[Server, str]]:
    """A run whose folder goes, and what it said when it ended; its server goes on."""
    server = Server(go_away)
    with in_a_thread(answering(server.answer)) as address:
        settings = {"base_url": f"{address}/v1", "model": "m"}
        system = {"name": "s", "adapter": "openai", "settings": settings}
        write_scenario(folder, talks=TALKS, turns=TURNS, systems=[system], **play)
        done = replay_cli("stress" if "load" in play else "run", "scenario.yaml", cwd=folder)
        assert done.returncode == 2
        yield server, done.stderr


@pytest.mark.parametrize(
    "play",
    [
        {"play": {"concurrency": 2}},
        {"play": {"concurrency": 2, "workers": 2}},
        {"load": {"concurrency": 2, "conversations": TALKS}},
        {"load": {"concurrency": 2, "conversations": TALKS, "workers": 2}},
    ],
    ids=["one process", "several processes", "load", "load from several processes"],
)
def test_a_run_without_its_folder_stops_and_says_why(tmp_path, play, monkeypatch):
    started_inside(monkeypatch)
    runs = tmp_path / "runs"
    with played(tmp_path, lambda: shutil.rmtree(runs), **play) as (server, said):
        assert "was deleted or moved while it was written" in said
        assert GONE_AT <= server.asked < TALKS, "nobody asks on"
        assert not runs.exists()


def test_a_run_that_was_moved_goes_on_where_it_is(tmp_path):
    moved = tmp_path / "moved"
    with played(tmp_path, lambda: (tmp_path / "runs").rename(moved), play={"concurrency": 2}) as (_, said):
        assert "was deleted or moved while it was written" in said
        done = replay_cli("resume", only_run(moved), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert len(Run(only_run(moved)).records()) == TALKS * TURNS
