"""The owner's page: who is where, what raters part on, who comes and who goes."""

from __future__ import annotations

import io
import re
import zipfile

import pytest

from tests.study.serving import begun, served, shown_text


@pytest.fixture
def database(quick_run, tmp_path):
    """Of a study in which Ann and <b>Ben</b> rate three answers."""
    return begun(
        f"name: check\npreset: {{rating: {{answers: 3}}}}\nruns: ['{quick_run}']\n"
        "raters: [Ann, <b>Ben</b>]\nlimits: {too_fast_s: 1000}\n",
        tmp_path,
    )


async def rate(study, rater, ratings, comment=""):
    async with study.at_work(rater) as browser:
        for rating in ratings:
            await browser.send("/rate/answer", {"rating": rating, "comment": comment})
        return browser.heading


def section(html, heading):
    return shown_text(html.partition(f"<h2>{heading}</h2>")[2].partition("<h2>")[0])


async def test_the_owner_sees_who_is_where_and_where_raters_part(database):
    async with served(database) as study:
        await rate(study, 1, "111", comment="hm <i>")
        await rate(study, 2, "10")
        async with study.browser(study.owner_link) as owner:
            raters = section(owner.html, "Raters")
            assert "Ann done 3" in raters
            assert "<b>Ben</b> at work 2 just now just now" in raters
            assert "3 of 3" in raters, "all were faster than a quarter of an hour"
            assert "<b>Ben</b>" not in owner.html
            assert "1 rate" in section(owner.html, "Balance")
            assert re.search(r"3 6 5 1 0", section(owner.html, "Balance")), "tasks, wanted, done, open"
            assert re.search(r"rate 2 50\.0 %", section(owner.html, "Agreement so far"))
            (task,) = re.findall(
                r"/owner/task/(\d+)", owner.html.partition("Where raters part")[2].partition("<h2>")[0]
            )

            await owner.open(f"/owner/task/{task}")
            assert owner.heading == f"Task {task}"
            shown = owner.text
            assert "hm <i>" in shown
            assert {"Yes", "No"} <= set(re.findall(r"\b(?:Yes|No)\b", shown))
            await owner.open("/owner/task/999")
            assert owner.status == 404
            await owner.open("/owner/numbers")
            assert "human_rating" in owner.html


async def test_the_export_is_one_file_to_keep(database):
    async with served(database) as study, study.browser(study.owner_link) as owner:
        await rate(study, 1, "111")
        for query, named in (("", True), ("?pseudonyms=1", False)):
            async with owner.client.get(f"{study.address}/owner/export{query}") as response:
                assert response.status == 200
                found = zipfile.ZipFile(io.BytesIO(await response.read()))
            assert {"study/run.db", "study/ratings.csv", "study/results.json"} <= set(found.namelist())
            assert (b"Ann" in found.read("study/ratings.csv")) == named


async def test_a_further_rater_gets_a_link_that_works(database):
    async with served(database) as study, study.browser(study.owner_link) as owner:
        await owner.send("/owner/add", {"name": "  Cleo   Maria "})
        (link,) = re.findall(r'id="link-3" href="([^"]+)"', owner.html)
        assert link == study.rater_link(3)
        assert "Cleo Maria" in owner.html
        assert await rate(study, 3, "111") == "Done"
        await owner.open("/owner")
        for name, said in (("Ann", "is called"), ("", "1 to 100"), ("x" * 101, "1 to 100")):
            await owner.send("/owner/add", {"name": name})
            assert owner.status == 422
            assert said in owner.html


async def test_a_rater_is_taken_out_and_let_back_in(database):
    async with served(database) as study, study.browser(study.owner_link) as owner:
        await rate(study, 1, "1")
        await owner.post("/owner/leave", {**owner.form("/owner/add"), "rater": "1"})
        assert "has left" in section(owner.html, "Raters")
        async with study.browser(study.rater_link(1)) as browser:
            assert browser.heading == "You have left this study"
        await owner.post("/owner/return", {**owner.form("/owner/add"), "rater": "1"})
        assert await rate(study, 1, "11") == "Done"


async def test_erasing_takes_the_name_to_be_typed(database):
    async with served(database) as study, study.browser(study.owner_link) as owner:
        await rate(study, 1, "111", comment="mine")
        form = {**owner.form("/owner/add"), "rater": "1"}
        await owner.post("/owner/withdraw", {**form, "name": "ann"})
        assert owner.status == 422
        assert len(study.store.judgements()) == 3

        await owner.post("/owner/withdraw", {**form, "name": "Ann"})
        assert owner.status == 200
        assert not study.store.judgements()
        assert "1 withdrew, and is erased" in owner.text
        assert "Ann" not in owner.text
        await owner.post("/owner/withdraw", {**form, "name": "withdrawn-1"})
        assert owner.status == 422
        async with study.browser(study.rater_link(1)) as erased:
            assert "All that you did in it is erased" in erased.html
            assert "is kept" not in erased.html


async def test_a_rater_leaves_by_themselves_and_reads_that_they_can_pause(database):
    async with served(database) as study, study.at_work(1) as browser:
        assert "your link leads back to this place" in browser.html
        await browser.send("/rate/leave")
        assert browser.heading == "You have left this study"
        assert [one.reason for one in study.store.assignments(1)] == ["left"]


async def test_no_rater_does_what_the_owner_may(database):
    async with served(database) as study, study.browser(study.rater_link(1)) as browser:
        form = {**browser.form("/rate/begin"), "rater": "2", "name": "<b>Ben</b>"}
        for action in ("add", "leave", "return", "withdraw"):
            await browser.post(f"/owner/{action}", form)
            assert browser.status == 401
        for path in ("/owner", "/owner/numbers", "/owner/task/1", "/owner/export"):
            await browser.open(path)
            assert browser.status == 401
        assert [one.takes_part for one in study.store.raters()] == [True, True]


async def test_a_rater_that_is_none_is_told(database):
    async with served(database) as study, study.browser(study.owner_link) as owner:
        form = owner.form("/owner/add")
        for number in ("", "0", "9", "x", "١", "1 OR 1", "9" * 30):
            await owner.post("/owner/leave", {**form, "rater": number})
            assert owner.status == 422
            assert "no such rater" in owner.html


async def test_long_lists_are_cut_to_what_is_read_and_whole_on_demand(quick_run, tmp_path):
    text = f"name: check\npreset: {{rating: {{answers: 12}}}}\nruns: ['{quick_run}']\nraters: [ann, ben]\n"
    async with served(begun(text, tmp_path)) as study, study.browser(study.owner_link) as owner:
        await rate(study, 1, "1" * 12)
        await rate(study, 2, "0" * 12)
        for address, parted, fast in (("/owner", 10, 10), ("/owner?all=1", 12, 24)):
            await owner.open(address)
            lists = [
                owner.html.partition(f">{one}</h")[2].partition("</table>")[0]
                for one in ("Where raters part", "Answered in less than 2.0 s")
            ]
            assert [one.count("<tr><th") - 1 for one in lists] == [parted, fast]
        assert "Show all" not in owner.html


async def test_the_owner_sees_what_was_answered_before_it_was_corrected(database):
    async with served(database) as study, study.browser(study.owner_link) as owner:
        await rate(study, 1, "0")
        async with study.browser(study.rater_link(1)) as ann:
            await ann.open("/rate/1/rate")
            await ann.send("/rate/answer", {"rating": "1"})
        await owner.open(f"/owner/task/{study.store.assignment(1).task}")
        assert re.search("Corrected first answered just now: .* No; as it is now just now", owner.text)
