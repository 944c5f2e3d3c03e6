"""What a notebook shows, in a real browser, on light and on dark ground."""

from __future__ import annotations

import pytest

from replay.report.compare_document import comparison_document
from replay.report.notebook import document_html
from replay.report.run_document import run_document
from tests.driving import axe_script, serious
from tests.report.sample_report import report
from tests.report.test_notebook import compared

pytest.importorskip("selenium", reason="selenium is not installed")


LOOKS = ("background: #fff; color: #222", "background: #111; color: #ddd")


@pytest.mark.long
def test_axe_finds_nothing_serious(browser, tmp_path):
    documents = (run_document(report(), title="sample"), comparison_document(compared(by_depth=True)))
    shown = "".join(document_html(one, all_at="all of it") for one in documents)
    page = f'<html lang="en"><meta charset="utf-8"><title>a notebook</title><main><h1>A</h1>{shown}</main>'
    (tmp_path / "page.html").write_text(f"<!doctype html>{page}", "utf-8")
    browser.get(f"file://{tmp_path / 'page.html'}")
    browser.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
    browser.execute_cdp_cmd("Runtime.evaluate", {"expression": axe_script()})

    for look in LOOKS:
        browser.execute_script("document.body.style = arguments[0]", look)
        assert serious(browser, None) == []
