"""The viewer over HTTP, as a browser or something worse would ask it."""

from __future__ import annotations

import asyncio
import json
import re
from functools import partial
from html import unescape
from urllib.parse import quote

import pytest

from replay.core.errors import InputError
from replay.viewer.viewer import check_loopback, serve_pages
from tests.report.test_load_text import sweep
from tests.viewer.conftest import computed, get, viewing_here
from tests.viewer.runs import add, create, failing_run, finish, make_run, record, talk


@pytest.mark.parametrize("page", ["", "depth", "gold", "conversations", "load"])
async def test_each_page_is_served_and_lets_in_no_script_but_its_own(http, viewer, quickstart, page):
    answer, text = await get(http, f"{viewer}run/{quickstart.name}/{page}")
    assert answer.status == 200
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'; script-src 'self';" in policy
    assert "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert re.findall(r"<script(?! defer src=\"/static/)(?! type=\"application/json\")", text) == []


async def test_a_stress_run_has_its_load_page_from_the_first_view_on(http, viewer, served_runs, quickstart):
    await asyncio.to_thread(sweep, served_runs / "swept")
    _, first = await get(http, f"{viewer}run/swept/")
    assert "data-pending" in first  # nothing has been computed yet
    assert '<a href="/run/swept/load">Load</a>' in first
    assert "load-latency-levels" in await computed(http, f"{viewer}run/swept/load", "load-throughput")
    assert ">Load<" not in (await get(http, f"{viewer}run/{quickstart.name}/"))[1]


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "example.org", "::"])
def test_only_loopback_is_bound(host):
    with pytest.raises(InputError, match="loopback"):
        check_loopback(host)


def test_every_way_to_write_loopback_is_taken():
    for host in ("127.0.0.1", "127.1.2.3", "::1", "localhost"):
        check_loopback(host)


async def test_a_named_folder_without_a_run_is_an_error_at_once(tmp_path):
    with pytest.raises(InputError, match="there is no run"):
        await serve_pages([tmp_path], tmp_path, port=0, token=None)


@pytest.mark.parametrize(
    "path", ["run/none/", "run/none/state", "nothing", "static/x/../../pages.py", "static/x/none.js"]
)
async def test_what_is_not_there_is_said_to_be_missing(http, viewer, path):
    answer, _ = await get(http, viewer + path)
    assert answer.status == 404
    assert "Content-Security-Policy" in answer.headers


async def test_the_list_is_searched_and_sorted(http, viewer, quickstart):
    address = f"{viewer}run/{quickstart.name}/conversations"
    _, text = await get(http, f"{address}?sort=f1&policy=pred")
    scores = [float(s) for s in re.findall(r'</th><td class="n">([\d.]+)</td>', text)]
    assert scores == sorted(scores)
    assert len(scores) == 20
    _, none = await get(http, f"{address}?q=nowhere+to+be+found")
    assert "0 of 20 conversations" in none


async def test_a_failed_number_leads_to_its_turns(http, viewer, served_runs):
    await asyncio.to_thread(failing_run, served_runs / "failing")
    run = f"{viewer}run/failing/"
    first = "conversations?only=assertion-0-made-pred"
    _, early = await get(http, f"{run}{first}")
    assert "data-pending" in early, "nothing has been computed yet, and the page says so"
    assert "/state?numbers=1" in early
    text = await computed(http, run, "1 of 2 failed")
    (link,) = re.findall(r'<a href="([^"]+)">3 turns</a>', text)
    assert unescape(link) == f"{first}&system=made&policy=pred"
    _, listed = await get(http, run + unescape(link))
    assert "f1 at least 0.6 (pred): made, pred" in listed
    turns = "conversation?id=b&amp;only=assertion-0-made-pred"
    assert f'<a href="{turns}#turn-1">1</a>, <a href="{turns}#turn-2">2</a>' in listed
    _, talk_a = await get(http, f"{run}conversation?id=a&only=assertion-0-made-pred")
    marked = re.findall(r'<tr id="turn-(\d)">(.*?)</tr>', talk_a, re.DOTALL)
    assert [n for n, row in marked if "against: f1 at least 0.6" in row] == ["2"]
    assert marked[1][1].count('class="against"') == 1, "only under pred"
    assert 'href="conversations?only=assertion-0-made-pred"' in talk_a


async def test_a_check_that_does_not_fail_now_is_told(http, viewer, quickstart):
    address = f"{viewer}run/{quickstart.name}/conversations?only=assertion-9"
    assert "Nothing breaks that rule now" in await computed(http, address, "breaks that rule")


async def test_the_list_of_runs_tells_system_scores_and_what_became_of_assertions(http, viewer, served_runs):
    await asyncio.to_thread(failing_run, served_runs / "asserting")
    make = partial(make_run, scores={"f1": {("gold", "a", 1): 0.25}})
    await asyncio.to_thread(make, served_runs / "unasserted", [talk("a")], [record("a", 1)])
    assert "data-waiting" in (await get(http, viewer))[1]
    text = await computed(http, viewer, "^(?!.*data-waiting)")
    rows = dict(re.findall(r'<a href="/run/(\w+)/">(.*?)</tr>', text, re.DOTALL))
    assert "1 of 2 failed" in rows["asserting"]
    assert "<td>made</td>" in rows["asserting"]
    scores = "<small>f1</small> <span><b>100.0</b> gold</span> <span><b>43.8</b> pred</span>"
    assert scores in rows["asserting"]
    assert "<b>25.0</b> gold" in rows["unasserted"]
    assert "failed" not in rows["unasserted"]


async def test_a_conversation_with_a_strange_id_is_found_by_it(http, viewer, hostile):
    _, listed = await get(http, f"{viewer}run/evil/conversations")
    (id,) = set(re.findall(r'href="conversation\?id=([^"]+)"', listed))
    answer, text = await get(http, f"{viewer}run/evil/conversation?id={id}")
    assert answer.status == 200
    assert "<img" not in text
    assert "\x00" not in text
    assert "more characters" in text
    assert text.count(">flag &lt;/script&gt;") == 1  # what made a vote doubtful, once however often it did
    answer, _ = await get(http, f"{viewer}run/evil/conversation?id={quote('no such')}")
    assert answer.status == 404


async def test_a_page_that_polls_hears_nothing_until_something_happens(http, viewer, served_runs):
    store = create(served_runs / "polled")
    try:
        await add(store, [talk("a")], [record("a", 1)])
        state = f"{viewer}run/polled/state"
        answer, text = await get(http, state)
        assert json.loads(text)["turns"] == 1
        headers = {"If-None-Match": answer.headers["ETag"]}
        assert (await get(http, state, headers=headers))[0].status == 304
        await add(store, [talk("b")], [record("b", 1)])
        again, text = await get(http, state, headers=headers)
        assert (again.status, json.loads(text)["turns"]) == (200, 2)
        finish(store, {"f1": {("gold", "a", 1): 0.5}})
        await store.flush()
        assert json.loads((await get(http, state))[1])["state"] == "finished"
        assert "f1" in await computed(http, f"{viewer}run/polled/", "headline")
    finally:
        store.close()


async def test_runs_that_begin_later_are_listed_too(http, tmp_path):
    (tmp_path / "runs").mkdir()
    async with viewing_here(below=tmp_path / "runs") as address:
        assert "There is no run here yet" in (await get(http, address))[1]
        create(tmp_path / "runs" / "later").close()
        assert "later" in (await get(http, address))[1]
        (tmp_path / "runs" / "broken").mkdir()
        (tmp_path / "runs" / "broken" / "run.db").write_bytes(b"no database at all, but long enough" * 40)
        _, text = await get(http, address)
        assert "Can’t be read" in text
        assert "broken" in text


async def test_two_runs_are_compared_turn_by_turn(http, viewer, served_runs):
    for name, value in (("one", 1.0), ("two", 0.0)):
        store = create(served_runs / name, policies={"gold": f"policy:gold|v:{name}"})
        records = [record(f"c{n}", 1) for n in range(12)]
        await add(store, [talk(f"c{n}", turns=1) for n in range(12)], records)
        finish(store, {"f1": {("gold", f"c{n}", 1): value if n < 10 else 0.2 for n in range(12)}})
        store.close()
    text = await computed(http, f"{viewer}compare?run=one&run=two", "Differences by depth")
    assert "0 from wrong to right, 10 from right to wrong" in text
    assert "−83.3" in text
    assert "v:one" in text
    assert "v:two" in text
