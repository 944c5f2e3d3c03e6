"""A run in one file."""

from __future__ import annotations

import html
import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from msgspec.structs import replace

from replay.core.drift_evidence import Drift, Mention, MentionDrift, Reading
from replay.core.message import Message
from replay.report.notes import hidden_sentences, wording_sentences
from replay.results.run import Run
from replay.viewer.pages import LIMIT_BYTES, hash_of, write_report
from tests.cli.command import replay_cli
from tests.scorers.turns import INVALID, NOT_JUDGED
from tests.viewer.runs import EVIL, failing_run, make_run, page_of, record, seen, talk

GOLDEN = Path(__file__).parents[1] / "golden" / "report_outline.txt"


@pytest.fixture(scope="module")
def page(quickstart, tmp_path_factory):
    path = tmp_path_factory.mktemp("file") / "report.html"
    write_report(quickstart, path)
    return path.read_text("utf-8")


class Outline(HTMLParser):
    """What a page is built of, without its numbers: landmarks, headings, tables' heads, controls."""

    SHOWN = (
        "header",
        "nav",
        "main",
        "section",
        "footer",
        "h1",
        "h2",
        "h3",
        "th",
        "figure",
        "form",
        "summary",
        "legend",
    )

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.scripts: list[dict[str, str | None]] = []
        self.handlers: list[str] = []
        self.loaded: list[str] = []
        self._text: list[str] | None = None

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        if tag == "script":
            self.scripts.append(known)
        self.handlers += [name for name in known if name.startswith("on")]
        if known.get("src") or (tag == "link" and known.get("href") != "data:,"):
            self.loaded.append(f"{tag} {known}")
        if tag in self.SHOWN and not (tag == "th" and known.get("scope") == "row"):
            name = f" #{known['id']}" if "id" in known else ""
            self.lines.append(f"{tag}{name}")
            self._text = []

    def handle_data(self, data):
        if self._text is not None:
            self._text.append(data)

    def handle_endtag(self, tag):
        if self._text is not None and tag in ("h1", "h2", "h3", "th", "summary", "legend"):
            self.lines[-1] += f": {' '.join(''.join(self._text).split())}"
        self._text = None if tag in self.SHOWN else self._text


def test_the_page_is_built_as_we_meant_it_to_be(page):
    """`UPDATE_GOLDEN=1 pytest tests/viewer` rewrites the outline; then read the difference."""
    outline = Outline()
    outline.feed(page)
    text = "\n".join(outline.lines) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text, "utf-8")
    assert text == GOLDEN.read_text("utf-8")


def test_the_page_says_what_recorded_answers_hide_and_how_our_wording_agrees(page, quickstart):
    report, said = Run(quickstart).report(), html.unescape(page)
    (hidden,), (wording,) = hidden_sentences(report.hidden), wording_sentences(report.wording)

    assert said.count(hidden) == 2, "on the overview, and above the curves against gold"
    assert said.count(wording) == 1


def test_the_file_loads_nothing_and_its_policy_names_each_script(page):
    outline = Outline()
    outline.feed(page)
    assert outline.loaded == []
    assert outline.handlers == []
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1].replace("&#39;", "'")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "connect-src" not in policy, "falls back to none"
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 4
    for script in scripts:
        assert hash_of(script) in policy


def test_the_same_run_gives_the_same_file(tmp_path):
    run = failing_run(tmp_path / "run")
    for name in ("one.html", "again.html"):
        write_report(run, tmp_path / name, resamples=50)
    assert (tmp_path / "again.html").read_bytes() == (tmp_path / "one.html").read_bytes()


def test_nothing_that_was_said_becomes_markup(hostile, tmp_path):
    write_report(hostile, tmp_path / "evil.html")
    text = (tmp_path / "evil.html").read_text("utf-8")
    outline = Outline()
    outline.feed(text)
    assert [s for s in outline.scripts if "type" not in s] == [{}] * 4
    assert outline.handlers == []
    for harmful in ("<img", "<u>rewrite", "onload=window.hacked=3>", "\u202e", "\x00"):
        assert harmful not in text
    assert EVIL not in text


def large_run(folder, conversations, words):
    """Ten turns each, half of them under each policy, every answer different."""
    rng = __import__("random").Random(3)
    made = [talk(f"c{n}", turns=5, title=f"Talk {n}") for n in range(conversations)]
    records, scores = [], {"f1": {}}
    for one in made:
        for policy in ("gold", "pred"):
            for depth in range(1, 6):
                answer = " ".join(f"w{rng.randrange(10**6)}" for _ in range(words))
                records.append(record(one.id, depth, policy=policy, answer=answer))
                scores["f1"][policy, one.id, depth] = rng.random()
    return make_run(folder, made, records, scores)


def test_two_thousand_turns_fit_in_five_megabytes_with_every_conversation(tmp_path):
    run = large_run(tmp_path / "run", 200, words=60)
    written = write_report(run, tmp_path / "page.html", resamples=50)
    assert (written.conversations, written.of) == (200, 200)
    assert written.bytes == (tmp_path / "page.html").stat().st_size < LIMIT_BYTES
    assert "All 200 conversations are in this file" in (tmp_path / "page.html").read_text("utf-8")


def test_a_larger_run_says_what_it_left_out(tmp_path):
    run = large_run(tmp_path / "run", 60, words=60)
    written = write_report(run, tmp_path / "page.html", resamples=50, limit_bytes=2_150_000)
    assert written.bytes < 2_150_000
    assert 0 < written.conversations < 60
    text = (tmp_path / "page.html").read_text("utf-8")
    assert f"This file holds {written.conversations} of 60 conversations" in text
    assert text.count("data-place=") == written.conversations


def test_a_run_without_a_turn_is_a_page_too(tmp_path):
    run = make_run(tmp_path / "run", [talk("a")], [], {})
    written = write_report(run, tmp_path / "page.html")
    assert written.of == 0
    assert "No turn has been asked yet" in (tmp_path / "page.html").read_text("utf-8")


def test_an_empty_answer_is_said_to_be_one(tmp_path):
    run = make_run(tmp_path / "run", [talk("a")], [record("a", 1, answer="")], {})
    page = page_of(seen(run))
    assert '<div class="answer" dir="auto">(an empty answer)</div>' in page


def _conversation_page(folder, drift):
    run = make_run(folder / "run", [talk("a")], [record("a", 1, "pred", drift=drift)], {})
    return page_of(seen(run))


def test_a_turns_system_prompts_stand_beside_its_question(tmp_path):
    asked = talk("a", turns=1)
    told = (Message(role="system", text="Be <b>brief</b>."), Message(role="user", text="Not twice."))
    prompted = replace(asked, turns=(replace(asked.turns[0], asked_with=told),))
    page = page_of(seen(make_run(tmp_path / "run", [prompted], [record("a", 1)], {})))
    assert '<span class="tag">system</span> Be &lt;b&gt;brief&lt;/b&gt;.' in page
    assert "Not twice." not in page


def test_what_a_question_leaves_out_stands_in_it_and_in_the_table(tmp_path):
    left_out = Mention(start=10, end=10, text="", kind="ellipsis")
    gold = Reading(mention=left_out, antecedent="record <u>an album</u>")
    one = MentionDrift(
        gold=gold, predicted=Reading(mention=left_out, antecedent=None), state="lost", overlap=0.0
    )
    page = _conversation_page(tmp_path, Drift(valid=False, mentions=(one,), mode="strict"))

    said = "record &lt;u&gt;an album&lt;/u&gt;"
    assert f'Question 1<mark class="lost"><b>‸</b> <i>{said}</i></mark>?' in page
    assert "<b>‸</b> <small>left out</small>" in page
    assert f"<td><bdi>{said}</bdi>" in page
    assert f"what is left out is “{said}” in the gold history, and means nothing in its own" in page


def test_a_question_that_was_not_judged_is_not_called_invalid(tmp_path):
    page = _conversation_page(tmp_path, NOT_JUDGED)

    assert '<span class="tag">not judged</span>' in page
    assert "the question is not English (German)" in page
    assert "invalid" not in page


def test_what_was_not_judged_is_said_beside_the_gap(tmp_path):
    drifts = {1: INVALID, 2: NOT_JUDGED}
    records = [
        record("a", depth, policy, drift=drifts[depth] if policy == "pred" else None)
        for policy in ("gold", "pred")
        for depth in (1, 2)
    ]
    scores = {"f1": {(r.policy, "a", r.depth): 0.5 for r in records}}
    write_report(make_run(tmp_path / "run", [talk("a")], records, scores), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")

    assert "1 question not judged: not English (German)." in page
    assert "add up. 1 question was not judged; it stands with the valid ones." in page


def test_report_writes_the_page_beside_its_tables(quickstart, tmp_path):
    done = replay_cli("report", quickstart, "--html", "page.html", "--resamples", "20", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "page.html: 20 of 20 conversations" in done.stderr
    assert "extractive, rewrite" in done.stdout
    assert (tmp_path / "page.html").stat().st_size < LIMIT_BYTES
