"""A user played by people: what they are shown, what is said of it, and what a killed program leaves."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from contextlib import asynccontextmanager

import pytest
import yaml

from replay.core.errors import RunStoppedError, ScenarioError
from replay.results.estimates import estimate_users
from replay.results.run import Run, newest_run
from replay.runs.launch import run_async
from replay.scenario.assembly import assemble
from replay.scenario.reading import read_scenario
from replay.study.preset import WAY_OUT
from replay.study.presets.wording import SKIP, TURN
from replay.study.running import person
from replay.study.running.flow import Flow
from replay.study.running.participation import set_phase
from replay.study.running.start import open_study
from replay.study.running.task_screens import StepScreen
from replay.testing import UserContract, wording_request
from replay.users.user import build_user
from tests.study.serving import begun, served
from tests.users.serving import program
from tests.users.test_llm import ASKS_BACK, GOLD, GOOD, SHOP, serving
from tests.waiting import until_async

STUDY = "name: people\npreset: wording\nraters: [ann]\n"


@pytest.fixture(autouse=True)
def looks_often(monkeypatch):
    monkeypatch.setattr(person, "LOOKING_S", 0.01)


def user_of(database):
    return build_user({"person": {"study": str(database)}}, database.parent)


class Robot(threading.Thread):
    """Somebody who says the intent in full, and has nothing to say where that can't be sent."""

    def __init__(self, database) -> None:
        super().__init__(daemon=True)
        self.database = database
        self.stop = threading.Event()

    def run(self) -> None:
        try:
            self.answer_all()
        except BaseException:
            _, store = open_study(self.database)
            set_phase(store, "closed")  # or whoever asks would wait for ever
            store.close()
            raise

    def answer_all(self) -> None:
        file, store = open_study(self.database, write=True)
        flow, rater = Flow(file, store), store.rater(1)
        flow.begin(rater)
        clicks = 0
        while not self.stop.wait(0.002):
            screen = flow.screen(store.rater(1))
            if isinstance(screen, StepScreen):
                clicks += 1
                request = store.task(screen.assignment.task).content["request"]
                form = {TURN: f"I mean: {request['standalone'] or request['question']}"}
                if request["rejected"]:
                    form = {WAY_OUT: "1"}
                faults = flow.answer(store.rater(1), *screen.id, form, f"click-{clicks}")
                assert not faults
        store.close()


class TestPerson(UserContract):
    @pytest.fixture
    def user(self, tmp_path):
        database = begun(STUDY, tmp_path)
        robot = Robot(database)
        robot.start()
        yield user_of(database)
        robot.stop.set()
        robot.join()


def scenario(server, folder):
    content = server.scenario(folder)
    content["policies"] = [{"react": {"user": {"person": {"study": str(folder / "study.db")}}}}]
    return content


@asynccontextmanager
async def at_work(study):
    """The browser of a person who has begun."""
    async with study.at_work(1) as browser:
        yield browser


async def next_turn(study, browser):
    """Wait for one, unless it was there, and given out, when the last answer was sent."""
    if browser.heading != "Say it in your words":
        await until_async(lambda: len(study.store.tasks()) > len(study.store.assignments()))
        await browser.open("/rate")
    assert browser.heading == "Say it in your words"


async def test_a_turn_is_worded_by_a_person_and_the_run_goes_on(tmp_path):
    database = begun(STUDY, tmp_path)
    async with serving("nobody asks this model") as server, served(database) as study, at_work(study) as ann:
        assert ann.heading == "Nothing to do just now"
        run = asyncio.create_task(run_async(scenario(server, tmp_path), runs=tmp_path / "runs"))
        await next_turn(study, ann)
        for text in (ASKS_BACK, SHOP.turns[1].question, "number: 40233", "the system asks you something"):
            assert text.casefold() in ann.text.casefold()
        await ann.send("/rate/answer", {TURN: "It's 90871."})
        await next_turn(study, ann)
        assert 'It\'s 90871. Why: it names a number that nobody has said ("90871").' in ann.text
        await ann.send("/rate/answer", {TURN: GOOD})
        done = await run
        await ann.open("/rate")
        assert ann.heading == "Nothing to do just now"
        await ann.open("/rate/2/turn")
        assert "can't be changed any more: the run has gone on with it" in ann.text
    second = done.records()[1]
    (one,) = second.interventions
    assert (one.said, one.source, one.move, one.asks) == (GOOD, "person", "answer", 0)
    assert [found.text for found in one.rejected] == ["It's 90871."]
    assert second.answer == "It has left our store."
    (signature,) = [s for name, s in done.signatures().items() if name.startswith("react")]
    assert "user:person(study:" in signature
    # The first answer is the system's own as well, which is part of what was really said.
    kept = database.read_bytes()
    assert GOOD.encode() in kept
    assert not [answer for answer in [*GOLD[1:], "Dunmore"] if answer.encode() in kept]


async def test_a_person_may_skip_a_turn(tmp_path):
    database = begun(STUDY, tmp_path)
    async with serving("") as server, served(database) as study, at_work(study) as ann:
        run = asyncio.create_task(run_async(scenario(server, tmp_path), runs=tmp_path / "runs"))
        await next_turn(study, ann)
        await ann.send("/rate/answer", {TURN: " "})
        assert "write something" in ann.text
        await ann.send("/rate/answer", {WAY_OUT: "1"})
        done = await run
        await ann.open("/rate/1/turn")
        assert f" {SKIP} " in ann.text
    (one,) = done.records()[1].interventions
    assert (one.move, one.said, one.note) == ("skip", None, "the person has nothing to say that is known")


@pytest.mark.skipif(os.name != "posix", reason="kills a process by signal")
async def test_whichever_is_killed_nothing_is_lost_and_nobody_is_asked_twice(tmp_path):
    database = begun(STUDY, tmp_path)
    async with serving("") as server:
        (tmp_path / "s.yaml").write_text(yaml.safe_dump(scenario(server, tmp_path)))
        process = await program("run", "s.yaml", cwd=tmp_path)
        async with served(database) as study, at_work(study) as ann:
            await next_turn(study, ann)
            process.send_signal(signal.SIGKILL)
            await process.wait()
            page = ann.form("/rate/answer")
        # Both are gone now; the page that is still open is sent to the next server, twice.
        async with served(database) as study, study.browser(study.rater_link(1)) as ann:
            page["form_token"] = ann.form("/rate/answer")["form_token"]
            for _ in range(2):
                await ann.post("/rate/answer", {**page, TURN: GOOD})
            assert [record.depth for record in Run(newest_run(tmp_path / "runs")).records()] == [1]
            process = await program("resume", cwd=tmp_path)
            assert await process.wait() == 0
            assert len(study.store.tasks()) == len(study.store.judgements()) == 1
            again = await run_async(scenario(server, tmp_path), runs=tmp_path / "more")
            assert len(study.store.tasks()) == 1
    for run in (Run(newest_run(tmp_path / "runs")), again):
        assert run.records()[1].interventions[0].said == GOOD
        assert run.records()[1].answer == "It has left our store."


async def test_runs_side_by_side_put_the_same_turn_once(tmp_path):
    database = begun(STUDY, tmp_path)
    one, two = user_of(database), user_of(database)
    _, store = open_study(database, write=True)
    async with one, two:
        words = [asyncio.create_task(user.word(wording_request())) for user in (one, two)]
        await until_async(lambda: bool(store.tasks()))
        assignment = store.give(1, 1)
        store.keep_judgement("click", assignment.id, TURN, {TURN: GOOD}, "")
        store.end(assignment.id, "done")
        assert {wording.text for wording in await asyncio.gather(*words)} == {GOOD}
    assert len(store.tasks()) == 1
    store.close()


async def test_a_closed_study_ends_the_run_with_what_to_do(tmp_path):
    database = begun(STUDY, tmp_path)
    _, store = open_study(database)
    set_phase(store, "closed")
    store.close()
    async with serving("") as server:
        with pytest.raises(RunStoppedError, match="is closed, so nobody is given turn 2 of"):
            await run_async(scenario(server, tmp_path), runs=tmp_path / "runs")


async def test_erased_words_are_gone_from_the_turns_that_showed_them(tmp_path):
    database = begun(STUDY, tmp_path)
    robot = Robot(database)
    robot.start()
    request = wording_request()
    async with user_of(database) as user:
        first = await user.word(request)
        history = (*request.history, request.history[-1].__class__(question=first.text, answer="Which?"))
        await user.word(wording_request(history=history))
    robot.stop.set()
    robot.join()
    _, store = open_study(database, write=True)
    assert [task.sources for task in store.tasks().values()] == [(), (1,)]
    store.erase_rater(1)
    assert list(store.tasks()) == [1]
    store.close()
    assert first.text.encode() not in database.read_bytes()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "is required but missing"),
        ({"study": "nowhere"}, 'study: there is no "nowhere"'),
        ({"study": "begun-not"}, "`replay study serve STUDY.yaml` begins one"),
        ({"study": "other"}, 'in "other" people do not word turns; `replay study init wording FOLDER`'),
        ({"study": "."}, "holds neither study.yaml nor study.db"),
    ],
)
def test_what_is_no_study_is_told_in_a_sentence(tmp_path, quick_run, settings, message):
    for name, text in (("begun-not", STUDY), ("other", f"name: o\npreset: rating\nruns: ['{quick_run}']\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "study.yaml").write_text(text)
    begun((tmp_path / "other" / "study.yaml").read_text(), tmp_path / "other")
    with pytest.raises(ScenarioError) as caught:
        build_user({"person": settings}, tmp_path)
    assert message in str(caught.value).replace(f"{tmp_path}/", "")


def test_a_dry_run_says_how_many_turns_people_would_word_at_most(tmp_path):
    begun(STUDY, tmp_path)
    lines = "\n".join(f'{{"id": "{n}", "turns": [{{"question": "Why?"}}]}}' for n in range(4))
    (tmp_path / "talks.jsonl").write_text(lines + "\n")
    (tmp_path / "s.yaml").write_text(
        "name: s\ndata: {path: talks.jsonl}\nsystems: [{name: a, adapter: scripted}]\n"
        "policies: [{react: {extra: 1, user: {person: {study: study.db}}}}]\n"
    )
    (found,) = estimate_users(assemble(read_scenario(tmp_path / "s.yaml")), 4, 4)
    assert found.turns_at_most == 4 * (1 + 1) * 3
    assert f"people word 24 turns at most, in {tmp_path}" in found.sentence


def test_people_have_no_words_for_a_goal(tmp_path):
    """Their pages show a script; a scenario that wants them to talk without one is refused before it runs."""
    begun(STUDY, tmp_path)
    (tmp_path / "goals.jsonl").write_text('{"id": "g", "goal": {"wants": "You want your money back."}}\n')
    (tmp_path / "s.yaml").write_text(
        "name: s\ndata: {path: goals.jsonl}\nsystems: [{name: a, adapter: scripted}]\n"
        "policies: [{simulate: {user: {person: {study: study.db}}}}]\n"
    )
    with pytest.raises(
        ScenarioError, match=r'policies\[0\].*"person" has words for recorded questions alone'
    ):
        assemble(read_scenario(tmp_path / "s.yaml"))
