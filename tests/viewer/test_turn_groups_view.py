"""Scores by kind of question on *By depth*."""

from __future__ import annotations

import asyncio

from replay.runs.launch import run_async
from replay.viewer.pages import write_report
from tests.scenario.keys import scenario, talk


def test_the_page_has_a_table_for_each_kind_of_question(tmp_path):
    said = talk("a", turns=3)
    for turn, kind in zip(said["turns"], ("temporal", "<b>odd</b>", "temporal"), strict=True):
        turn["kind"] = kind
    content = scenario(tmp_path, talks=[said])
    folder = asyncio.run(run_async(content, runs=tmp_path / "runs")).folder

    write_report(folder, tmp_path / "report.html", resamples=0)

    page = (tmp_path / "report.html").read_text("utf-8")
    table = page.partition('<h3 id="turns-by-1">By kind</h3>')[2].partition("</table>")[0]
    assert '<th scope="col">kind</th>' in table
    assert table.count("<td>temporal</td>") == table.count("<td>&lt;b&gt;odd&lt;/b&gt;</td>") > 0
    assert "<b>odd" not in page
