"""What a study's database keeps, and what its one writer knows of it."""

from __future__ import annotations

import pytest

from replay.study.schema import make_study
from replay.study.store import StudyStore
from replay.study.tasks import NewTask


@pytest.fixture
def path(tmp_path):
    """The database of a study of two raters and three tasks."""
    path = tmp_path / "study.db"
    tasks = [NewTask(kind="rate", content={"n": n}, conversation=f"c{n}") for n in range(3)]
    make_study(path, {"name": "check"}, ["ann", "ben"], tasks)
    return path


@pytest.fixture
def store(path):
    opened = StudyStore(path, write=True)
    yield opened
    opened.close()


def seen(store):
    return store.raters(), dict(store.tasks()), store.assignments(), dict(store.raters_per_task())


def test_the_writer_knows_what_the_file_holds(store, path):
    """It reads a task and an assignment once, so every way of changing them has to tell it."""
    first = store.give(1, 1)
    other = store.give(2, 2)
    store.end_talk(other.id)
    store.reopen(other.id)
    store.mark_rater(store.add_rater("cleo").id, left_at=store.now())
    store.end(first.id, "given-back", "left")
    store.add_tasks([NewTask(kind="check", content={}, conversation="c", sources=(first.id,))])

    reader = StudyStore(path)
    assert seen(store) == seen(reader)
    assert store.task(4).sources == (first.id,)
    reader.close()


def test_what_was_rolled_back_is_not_known(store):
    def half_way():
        with store.writing():
            store.add_tasks([NewTask(kind="check", content={}, conversation="c")])
            store.give(4, 1)
            store.give(1, 1)

    before = seen(store)
    with pytest.raises(ValueError, match="has a task already"):
        half_way()
    assert seen(store) == before


def test_a_state_read_lazily_is_the_same_state(store):
    given = store.give(1, 1)
    store.keep_judgement("a", given.id, "rate", {"rating": 1}, "fine")
    store.ask("b", given.id, 1, "Who?")
    whole, lazy = store.state(), store.state(lazily=True)

    assert lazy.answers[given.id] == whole.answers[given.id]
    assert dict(lazy.answers) == whole.answers
    assert dict(lazy.talks) == whole.talks
    assert lazy.answers.get(given.id + 1) is None
