"""A disk that is full: what isn't saved is said, and stays on the page."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager, suppress
from html import unescape
from itertools import count

from tests.study.serving import begun, served
from tests.study.talks import study_file


@contextmanager
def full(store):
    """The database can't grow, as on a full disk."""
    (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    with suppress(sqlite3.OperationalError):
        for number in count():  # what room is left on its pages
            store.keep_judgement(f"filling-{number}", 0, "", {}, "x" * 500)
    yield
    store._connection.execute("PRAGMA max_page_count = 1000000")


async def test_an_answer_that_can_not_be_kept_stays_on_the_page_and_is_saved_later(quick_run, tmp_path):
    database = begun(f"name: check\npreset: {{rating: {{answers: 2}}}}\nruns: ['{quick_run}']\n", tmp_path)
    answer = {"rating": "0", "comment": "my own words " * 150}
    async with served(database) as study, study.at_work(1) as browser:
        with full(study.store):
            await browser.send("/rate/answer", answer)
            assert browser.status == 503
            assert "Not saved: the server can't write to its disk (database or disk is full)" in unescape(
                browser.html
            )
            assert "is kept" not in browser.html.partition("<form")[0]
            assert 'value="0" checked' in unescape(browser.html)
            assert "my own words my own words" in unescape(browser.html)
        assert study.store.judgements().keys() <= {0}
        await browser.send("/rate/answer", answer)
        assert browser.status == 200
        assert study.store.judgements()[1]["rate"].answer == {"rating": 0}


async def test_a_question_that_can_not_be_kept_is_not_sent_and_stays_there(chat, tmp_path):
    database = begun(study_file({"adapter": "extractive"}), tmp_path)
    async with served(database) as study, study.at_work(1) as browser:
        with full(study.store):
            await browser.send("/rate/talk/ask", {"question": "Where does the dog sleep? " * 38})
            assert "This was not sent: the server can't write to its disk" in unescape(browser.html)
            assert "Where does the dog sleep? Where" in unescape(browser.html)
        assert not study.store.talks()
