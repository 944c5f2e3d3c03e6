"""Who leaves, who comes back, and whose data is erased."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta

import pytest

from replay.study.database import seconds_between
from replay.study.running import participation
from replay.study.running.flow import Flow
from replay.study.running.start import open_study
from replay.study.schema import make_study
from replay.study.store import StudyStore
from replay.study.tasks import NewTask
from tests.study.serving import begun


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self):
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self):
        return self.now

    def hours(self, hours):
        self.now += timedelta(hours=hours)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def flow(quick_run, tmp_path, clock):
    """A study of two tasks that one of two people does each, begun by both."""
    database = begun(
        f"name: check\npreset: {{rating: {{answers: 1}}}}\nruns: ['{quick_run}']\nraters: [Ann, Ben]\n"
        "consent: {text: We keep what you say., version: '3'}\nlimits: {idle_h: 24}\n",
        tmp_path,
    )
    file, store = open_study(database)
    content = store.task(1).content
    store.close()
    database.unlink()
    tasks = [NewTask(kind="rate", content=content, conversation=f"c{n}", raters=1) for n in range(2)]
    make_study(database, {"name": "check", "file": {}}, ["Quixley", "Ben"], tasks)
    store = StudyStore(database, write=True, clock=clock)
    flow = Flow(file, store)
    for rater in (1, 2):
        flow.consent(store.rater(rater))
        flow.begin(store.rater(rater))
    yield flow
    store.close()


def look(flow, rater):
    return flow.screen(flow.store.rater(rater))


def rate(flow, rater, rating="1", comment=""):
    screen = look(flow, rater)
    form = {"rating": rating, "comment": comment}
    number = len(flow.store.state().answers)
    flow.answer(flow.store.rater(rater), screen.assignment.id, screen.step.id, form, f"{rater}-{number}")
    return screen.assignment


def test_what_somebody_leaves_open_goes_to_others(flow):
    task = look(flow, 1).assignment.task
    participation.leave(flow.store, 1)

    assert look(flow, 1).kind == "left"
    assert {rate(flow, 2).task, rate(flow, 2).task} == {1, 2}
    assert look(flow, 2).kind == "done"
    assert [one.reason for one in flow.store.assignments(1)] == ["left"]
    assert task in {1, 2}


def test_whoever_is_let_back_or_comes_back_late_goes_on_where_they_were(flow, clock):
    before = look(flow, 1).assignment
    participation.leave(flow.store, 1)
    participation.let_back(flow.store, 1)
    assert look(flow, 1).assignment.id == before.id

    clock.hours(100)
    assert look(flow, 1).assignment.id == before.id


def test_what_nobody_looks_at_goes_to_others_and_back_if_it_is_free(flow, clock):
    first = look(flow, 1).assignment
    clock.hours(20)
    look(flow, 1)
    clock.hours(20)
    rate(flow, 2)
    assert look(flow, 2).kind == "done", "Ann has looked at hers 20 hours ago"

    clock.hours(5)
    second = look(flow, 2).assignment
    assert second.task == first.task
    assert look(flow, 1).kind == "done", "somebody else has it now"

    participation.leave(flow.store, 2)
    assert look(flow, 1).assignment.id == first.id


def test_progress_says_what_is_left_and_how_long_it_takes(flow, clock):
    assert look(flow, 1).progress.left == 2, "their own, and the share of the other that may come to them"
    assert look(flow, 1).progress.minutes_left is None
    clock.hours(0.5)
    rate(flow, 1)
    progress = look(flow, 1).progress
    assert (progress.done, progress.left, progress.minutes_left) == (1, 1, 30)
    participation.leave(flow.store, 2)


def test_a_clock_that_is_set_back_makes_no_time_below_zero(flow, clock):
    given = look(flow, 1).assignment
    clock.hours(-4.4)
    flow.answer(flow.store.rater(1), given.id, "rate", {"rating": "1"}, "back")
    assert flow.store.judgements(given.id)[given.id]["rate"].seconds is None
    assert look(flow, 1).progress.minutes_left is None
    asked = flow.store.now()
    clock.hours(-1)
    assert seconds_between(asked, flow.store.now()) is None


def files(store):
    return b"".join(
        path.read_bytes() for path in store.path.parent.iterdir() if path.name.startswith(store.path.name)
    )


def test_of_whoever_withdraws_nothing_is_left_in_the_files(flow):
    """Nor of what was made of their words; what others said of other things stays."""
    store = flow.store
    kept = rate(flow, 2, comment="Ben's own words")
    own = rate(flow, 1, comment="Quixley's very own words")
    store.ask("t", own.id, 1, "Quixley's question?")
    store.add_event("failure", {"assignment": own.id, "error": "at Quixley's question"})
    validation = NewTask(
        kind="check", content={"q": "Quixley's question again"}, conversation="x", raters=1, sources=(own.id,)
    )
    of_both = NewTask(kind="check", content={"q": "Ben's words alone"}, conversation="y", sources=(kept.id,))
    store.add_tasks([validation, of_both])
    given = store.give(3, 2)
    store.keep_judgement("v", given.id, "check", {"a": "as Quixley's question was"}, "")
    store.end(given.id, "done")
    store.add_tasks(
        [NewTask(kind="check", content={"q": "Quixley's once more"}, conversation="x", sources=(given.id,))]
    )
    assert files(store).count(b"Quixley") >= 7

    erased, is_clean = store.erase_rater(1)

    assert is_clean
    assert b"Quixley" not in files(store)
    assert (erased.assignments, erased.tasks, erased.of_others) == (1, 2, 1)
    assert [one.id for one in store.assignments()] == [kept.id]
    assert set(store.tasks()) == {1, 2, 4}
    state = store.state()
    assert state.answers[kept.id]["rate"].comment == "Ben's own words"
    (event,) = store.events("withdrawal")
    assert {"assignments": 1, "tasks": 2, "of_others": 1}.items() <= event.items()
    assert look(flow, 1).kind == "erased"
    gone = store.rater(1)
    assert (gone.consented_at, gone.withdrawn_at is None) == (None, False)


def test_what_is_deleted_is_overwritten_before_the_file_is_written_anew(flow, monkeypatch):
    """We could be killed in between."""
    rate(flow, 1, comment="Quixley's words")
    monkeypatch.setattr("replay.study.store.rewrite_database", lambda connection: True)
    flow.store.erase_rater(1)
    flow.store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    assert b"Quixley" not in files(flow.store)


def test_the_erased_task_is_done_by_somebody_else_and_no_number_is_used_twice(flow):
    """A form that is still open somewhere must not meet another assignment."""
    last = rate(flow, 1)
    flow.store.erase_rater(1)

    first, second = rate(flow, 2), rate(flow, 2)
    assert last.task in {first.task, second.task}
    assert min(first.id, second.id) > last.id


def test_whoever_reads_the_database_meanwhile_is_told_of(flow):
    rate(flow, 1)
    reader = sqlite3.connect(flow.store.path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM judgement").fetchone()
    flow.store._connection.execute("PRAGMA busy_timeout=10")

    assert flow.store.erase_rater(1)[1] is False
    reader.execute("ROLLBACK")
    reader.close()


def test_agreeing_once_more_changes_nothing(flow, clock):
    """A form that is sent again, hours later, must not move the moment at which somebody agreed."""
    before = flow.store.rater(1)
    clock.hours(1)
    flow.consent(before)
    flow.begin(before)
    assert flow.store.rater(1) == before


def test_the_instructions_come_after_the_consent(flow):
    cleo = flow.store.add_rater("Cleo")
    flow.begin(cleo)
    assert flow.store.rater(cleo.id).instructed_at is None


def test_pages_of_an_erased_person_write_nothing(flow):
    """A tab that was open before still has its forms."""
    before = flow.store.rater(1)
    flow.store.erase_rater(1)
    erased = flow.store.rater(1)
    flow.consent(before)
    flow.begin(before)
    participation.leave(flow.store, 1)
    assert flow.store.rater(1) == erased
