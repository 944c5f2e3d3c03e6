"""
A run is killed, its data changes, and it is resumed: no answer is lost, no turn asked twice, nothing mixed.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml
from aiohttp import web

from replay.results.run import Run, newest_run
from replay.results.run_data import DATA_IS_READ
from replay.store.store import RunStore
from tests.adapters.servers import answering, in_a_thread
from tests.cli.command import replay_cli
from tests.reliability.programs import begun
from tests.waiting import PATIENCE_S, others_first, until

posix = pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")

TALKS, TURNS = 36, 2
"""More conversations than are fetched at once."""
POLICIES = ("gold", "pred")
ALL = TALKS * TURNS * len(POLICIES)


def talk(name, said="sang", turns=TURNS):
    return {
        "id": name,
        "turns": [
            {"question": f"Who {said} {name}-{n}?", "gold_answer": f"Mira {said} {name}-{n}."}
            for n in range(1, turns + 1)
        ],
    }


def log(name):
    """One without an id of its own, which the reader calls by its line."""
    messages = []
    for turn in talk(name)["turns"]:
        messages += [{"role": "user", "content": turn["question"]}]
        messages += [{"role": "assistant", "content": turn["gold_answer"]}]
    return {"messages": messages}


def write(path, talks):
    path.write_text("".join(json.dumps(one) + "\n" for one in talks))


BEFORE = [talk(f"talk{n}") for n in range(TALKS)]


@dataclass
class Killed:
    """A run that was killed half-way, and the server that it asked."""

    folder: Any
    run: Run
    durable: dict
    asked: Counter
    before: Counter

    @property
    def data(self):
        return self.folder / "talks.jsonl"

    def resume(self, *options, verb="resume"):
        """``replay resume``: its exit status and what it said on stderr."""
        done = replay_cli(verb, self.run.folder, *options, cwd=self.folder)
        return done.returncode, done.stderr

    def turns(self):
        return {(r.policy, r.conversation, r.depth): (r.asked, r.answer) for r in self.run.records()}

    def check(self, expected=ALL):
        """Each turn is there once, those before the kill as they were, and none of those was asked again."""
        turns = self.turns()
        assert len(turns) == len(self.run.records()) == expected
        assert self.durable.items() <= turns.items()
        again, times = self.asked - self.before, Counter(asked for asked, _ in turns.values())
        durable = Counter(asked for asked, _ in self.durable.values())
        assert again == times - durable

    def remarks(self):
        return self.run.report(resamples=0).remarks


@dataclass
class Chat:
    """A server that answers every question, and how often it was asked which."""

    asked: Counter = field(default_factory=Counter)
    url: str = ""
    loop: asyncio.AbstractEventLoop | None = None

    async def answer(self, request):
        self.loop = asyncio.get_running_loop()
        question = (await request.json())["messages"][-1]["content"]
        self.asked[question] += 1
        return web.json_response({"choices": [{"message": {"content": f"Answer to {question}"}}]})


@pytest.fixture(scope="module")
def chat():
    chat = Chat()
    with in_a_thread(answering(chat.answer)) as chat.url:
        yield chat


def killed(folder, chat, talks=BEFORE, **data):
    """A run in *folder* whose process was killed half-way."""
    write(folder / "talks.jsonl", talks)
    settings = {"base_url": f"{chat.url}/v1", "model": "m"}
    content = {
        "name": "killed",
        "data": {"path": "talks.jsonl", **data},
        "systems": [{"name": "s", "adapter": "openai", "settings": settings}],
        "policies": list(POLICIES),
        "drift": {"nlp_workers": 0},
        "play": {"concurrency": 3},
    }
    (folder / "scenario.yaml").write_text(yaml.safe_dump(content))
    asked = chat.asked.total()
    with begun("run", "scenario.yaml", cwd=folder) as process:
        until(lambda: chat.asked.total() >= asked + 29)
        process.kill()
    # What was on its way still reaches the server.
    asyncio.run_coroutine_threadsafe(others_first(), chat.loop).result(PATIENCE_S)
    return half_way(folder, chat)


def half_way(folder, chat):
    run = Run(newest_run(folder / "runs"))
    found = Killed(folder, run, {}, chat.asked, Counter(chat.asked))
    found.durable = found.turns()
    assert 0 < len(found.durable) < ALL
    return found


@pytest.fixture(scope="module")
def killed_once(chat, tmp_path_factory):
    """Where a run was killed, and a copy of all that it left."""
    folder = tmp_path_factory.mktemp("killed")
    killed(folder, chat)
    return folder, shutil.copytree(folder, tmp_path_factory.mktemp("copy") / "killed")


@pytest.fixture
def run(chat, killed_once):
    """As if it had just been killed; in the same place, since a run knows where its data lies."""
    folder, copy = killed_once
    shutil.rmtree(folder)
    return half_way(shutil.copytree(copy, folder), chat)


def changed_texts():
    """The first half has other questions, and the last talk one turn less."""
    half = [talk(f"talk{n}", said="wrote") for n in range(TALKS // 2)]
    return [*half, *BEFORE[TALKS // 2 : -1], talk(f"talk{TALKS - 1}", turns=TURNS - 1)]


CHANGES = {
    "reversed": (BEFORE[::-1], None),
    "half gone": (BEFORE[: TALKS // 2], '18 conversations are gone ("talk18", "talk19", "talk20", ...)'),
    "other texts": (
        changed_texts(),
        '19 conversations have another content ("talk0", "talk1", "talk2", ...)',
    ),
    "called anew": ([{**one, "id": f"other {one['id']}"} for one in BEFORE], None),
    "an id twice": ([*BEFORE, talk("talk3", said="wrote")], "The data can't be compared"),
    "a bad line": ([*BEFORE[:3], {"id": "bad", "turns": 7}], "The data can't be compared"),
    "empty": ([], "The data can't be compared"),
}


ALIKE = ("an id twice", "called anew", "empty")
"""Told as others are."""


@posix
@pytest.mark.parametrize(
    "change", [pytest.param(one, marks=pytest.mark.long) if one in ALIKE else one for one in CHANGES]
)
def test_whatever_became_of_the_data_the_run_goes_on_with_what_it_read(run, change):
    talks, said = CHANGES[change]
    write(run.data, talks)
    code, told = run.resume()
    assert code == 0, told
    run.check()
    assert {r.conversation for r in run.run.records()} == {one["id"] for one in BEFORE}
    if said is None:
        assert "The data" not in told
        assert run.remarks() == ()
    else:
        assert said in told
        assert said in run.remarks()[0]
        assert "as it read them when it began" in run.remarks()[0]


@posix
@pytest.mark.parametrize("remove", ["file", "folder"])
def test_data_that_is_no_longer_there_keeps_no_run_from_its_end(run, remove):
    run.data.unlink()
    if remove == "folder":
        run.data.mkdir()
    code, told = run.resume("--with-new-data")
    assert code == 2
    assert "talks.jsonl" in told
    code, told = run.resume()
    assert code == 0
    assert "The data can't be compared" in told
    assert "talks.jsonl" in told
    run.check()


@posix
def test_new_conversations_are_taken_up_when_told_so_and_once(run):
    write(run.data, [talk("new1"), *BEFORE[2:], talk("new2")])
    code, told = run.resume()
    assert code == 0
    assert f"replay resume {run.run.folder} --with-new-data` takes them up" in told
    run.check()
    code, told = run.resume("--with-new-data")
    assert code == 0
    assert "2 new beside them" in told
    two_more = 2 * TURNS * len(POLICIES)
    run.check(ALL + two_more)
    assert [one.id for one in run.run.conversations()][-2:] == ["new1", "new2"]
    assert "--with-new-data" not in run.remarks()[0]
    code, told = run.resume("--with-new-data")
    assert code == 0
    assert '2 conversations are gone ("talk0", "talk1")' in told
    assert "new" not in told
    run.check(ALL + two_more)
    write(run.data, [talk("new1"), *BEFORE, talk("new2")])
    code, told = run.resume()
    assert "The data" not in told
    assert not [one for one in run.remarks() if "The data" in one]
    assert run.run.signatures()["data"].startswith(f"conversations:{TALKS + 2}|")
    assert "Earlier resumes took up 2 conversations" in run.remarks()[-1]


@posix
def test_logs_called_by_their_lines_are_known_by_what_they_hold(chat, tmp_path):
    """A log before the others gives each of them another line, and takes the name of the first."""
    logs = [log(f"talk{n}") for n in range(TALKS)]
    run = killed(tmp_path, chat, logs)
    write(run.data, [log("new"), *logs])
    code, told = run.resume()
    assert code == 0
    assert '1 conversation is new ("talks.jsonl:1")' in told
    run.check()
    code, told = run.resume("--with-new-data")
    assert code == 0
    run.check(ALL + TURNS * len(POLICIES))
    added = run.run.conversations()[-1]
    assert (added.id, added.turns[0].id) == ("talks.jsonl:1~2", "talks.jsonl:1~2#1")
    assert added.turns[0].question == "Who sang new-1?"
    code, told = run.resume("--with-new-data")
    assert "changed" not in told
    run.check(ALL + TURNS * len(POLICIES))


@posix
def test_a_limit_holds_for_what_is_taken_up_as_well(chat, tmp_path):
    run = killed(tmp_path, chat, limit=TALKS)
    write(run.data, [talk("new"), *BEFORE])
    code, told = run.resume("--with-new-data")
    assert code == 0
    assert f"1 new left out (data.limit is {TALKS})" in told
    assert '1 conversation is gone ("talk35")' in told
    run.check()


@posix
def test_asking_again_asks_what_the_run_read_whatever_became_of_the_data(run):
    assert (run.resume())[0] == 0
    run.data.unlink()
    before = Counter(run.asked)
    code, told = run.resume("--only", "conversation=talk3", verb="rerun")
    assert code == 0, told
    assert run.asked - before == {f"Who sang talk3-{n}?": 2 for n in range(1, TURNS + 1)}
    write(run.data, changed_texts())
    assert (run.resume())[0] == 0
    assert len(run.run.records()) == ALL


@posix
def test_a_run_that_was_killed_while_it_read_reads_anew(run):
    """None of its conversations was asked anything."""
    store = RunStore(run.run.folder, write=True)
    for table in ("turn", "event"):
        store._writing.post(f"DELETE FROM {table}", ())
    store.set_fact(DATA_IS_READ, None)
    store.add_event("bad-conversation", {"message": "of the first reading"})
    store.close()
    write(run.data, BEFORE[::-1])
    code, told = run.resume()
    assert code == 0, told
    assert len(run.run.records()) == ALL
    assert [one.id for one in run.run.conversations()] == [one["id"] for one in BEFORE[::-1]]
    assert run.run.state().skipped_conversations == 0
