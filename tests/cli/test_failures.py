"""Why turns failed is told in full wherever a run is shown."""

from __future__ import annotations

import html
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from rich.console import Console

from replay.report.markdown import escape_markdown
from replay.runs.progress import RunProgress
from tests.cli.command import replay_cli
from tests.viewer.runs import record

REASON = (
    "the reply holds no field answer.text; it has: <b>result</b>, usage, [trace], id | @admin. "
    "See the `answer` setting in scenario.yaml and the documentation of the endpoint's replies, page 7."
)
SYSTEM = f"""
async def answer(question):
    if question.endswith("3?"):
        raise RuntimeError({REASON!r})
    return "Ann."


async def never(question):
    raise RuntimeError({REASON!r})
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("work")
    (made / "system.py").write_text(SYSTEM)
    talk = {"id": "talk", "turns": [{"question": f"Who sang {n}?", "gold_answer": "Ann."} for n in (1, 2, 3)]}
    (made / "talks.jsonl").write_text(json.dumps(talk) + "\n")
    for function in ("answer", "never"):
        content = {
            "name": function,
            "data": {"path": "talks.jsonl"},
            "systems": [{"name": "s", "adapter": "python", "settings": {"target": f"system.py:{function}"}}],
            "policies": ["gold", "pred"],
            "scorers": ["em"],
            "drift": {"nlp_workers": 0},
            "assert": [{"metric": "errors", "max": 0.01}],
        }
        (made / f"{function}.yaml").write_text(yaml.safe_dump(content))
    return made


@pytest.fixture(scope="module")
def done(folder):
    return replay_cli("run", "answer.yaml", "--runs", "runs", "--junit", "junit.xml", cwd=folder)


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_the_end_of_a_run_and_its_report_tell_each_reason_once(folder, done):
    assert done.returncode == 100
    report = replay_cli("report", "--runs", "runs", cwd=folder)
    for text in (squeezed(done.stdout), squeezed(report.stdout)):
        assert text.count(REASON) == 1
        assert 'Failures - 2 turns, refused: s: "system.py:answer" raised RuntimeError: ' in text
        assert "(first: talk, depth 3, s, gold)" in text


def test_junit_tells_it_with_the_failure_and_for_the_suite(folder, done):
    (suite,) = ElementTree.parse(folder / "junit.xml").getroot()

    assert REASON in (suite.findtext("testcase/failure") or "")
    assert "- 2 turns, refused: " in (suite.findtext("system-err") or "")


def test_markdown_json_and_the_page_tell_it(folder, done):
    markdown = replay_cli("report", "--runs", "runs", "--markdown", cwd=folder).stdout
    assert escape_markdown(REASON) in markdown
    assert "<b>" not in markdown.replace("\\<b>", "")

    shown = replay_cli("report", "--runs", "runs", "--json", "--html", "page.html", cwd=folder)
    (failure,) = json.loads(shown.stdout)["failures"]
    assert REASON in failure["reason"]
    assert {key: failure[key] for key in ("turns", "conversation", "depth", "policy", "system")} == {
        "turns": 2,
        "conversation": "talk",
        "depth": 3,
        "policy": "gold",
        "system": "s",
    }
    page = (folder / "page.html").read_text("utf-8")
    assert html.escape(REASON, quote=True).replace("&#x27;", "&#39;") in page
    assert "talk, depth 3, s, gold" in page


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_where_nothing_was_answered_the_reason_is_there_in_any_case(folder, flags):
    ended = replay_cli("run", "never.yaml", "--runs", "never", *flags, cwd=folder)

    assert ended.returncode == 1
    assert REASON in squeezed(ended.stderr if flags else ended.stdout)


def told(console: Console) -> str:
    with RunProgress(console) as progress:
        progress.recorded(record("talk", 1, answer=None, error=REASON))
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_a_pipe_gets_the_last_failure_uncut():
    assert REASON in told(Console(file=io.StringIO(), width=80))


@pytest.mark.parametrize(("width", "shown"), [(100, 60), (250, len(REASON))])
def test_a_terminal_shows_as_much_of_it_as_its_line_takes(width, shown):
    """The line changes in place, so it must not wrap; square brackets are no markup in it."""
    progress = RunProgress(Console(file=io.StringIO(), width=width, force_terminal=True))
    progress.recorded(record("talk", 1, answer=None, error=REASON))
    line = progress._shown_line()

    assert line.cell_len <= width - 2
    assert REASON[: shown - 10] in line.plain
    assert ("[trace]" in line.plain) == (width == 250)
