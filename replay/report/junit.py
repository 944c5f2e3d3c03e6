"""
What had to hold as JUnit XML, a test case for each assertion and for each check, as Jenkins, GitLab and
GitHub's actions read it.

There is no one standard. What is written here is the common ground of Jenkins' schema (junit-10.xsd of the
xUnit plug-in) and of GitLab's reader, which takes ``classname`` for the suite, tells cases apart by
``classname`` and ``name`` together, and shows a failure's text but not its ``message``. An assertion that
could not be evaluated is a failure, not an error: it is red everywhere, and some readers don't show errors.
Checks make a suite for each conversation, whose name Jenkins takes for a class in the scenario's package. A
case is called for what is checked, of which turn and of whom, and not for what came out, so that branches
compare. One that could not be looked at is skipped, with the reason: no reader takes that for passed. Turns
that were held against the recorded answers make a suite for each conversation, too; a worse one is a failure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree

from replay.core.errors import writing
from replay.core.expectation import CheckResult
from replay.core.terminal import escape_unprintable
from replay.report.findings import check_title, failure_lines, lines_of, turn_texts, why_invalid
from replay.report.printing import shorten
from replay.scenario.assertions.findings import AssertionResult
from replay.statistics.recorded import RecordedTurn
from replay.statistics.run_numbers import FailureReason

LONGEST = 200
"""Characters of what a case is called for; of a question or an answer ten times as many."""


def junit_xml(
    name: str,
    results: Sequence[AssertionResult],
    failures: Sequence[FailureReason] = (),
    checks: Sequence[CheckResult] = (),
    recorded: Sequence[RecordedTurn] = (),
) -> str:
    """
    Return the document; *name*, the suite's, should be the same every time.

    *checks* are what became of the data's checks, *recorded* the turns held against the recorded answers,
    both in the order of the data. *failures* say why turns failed: in the suite's ``system-err``, and, since
    not every reader shows that, with each failure that such turns bring about by themselves. The same results
    give the same text: it has no time, and no machine's name.
    """
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", {"name": _clean(name)})
    reasons = failure_lines(failures)
    titles = unique_names([one.assertion.title for one in results])
    for case_name, result in zip(titles, results, strict=True):
        case = _case(suite, name, case_name)
        said = _clean("\n".join(lines_of(result)))
        if result.holds:
            ElementTree.SubElement(case, "system-out").text = said
            continue
        failing = [f for f in result.findings if not f.holds]
        message = "; ".join(f"{finding.group}: {finding.summary}" for finding in failing)
        kind = "not-evaluated" if all(f.reason for f in failing) else "assertion"
        failure = ElementTree.SubElement(case, "failure", {"message": _clean(message), "type": kind})
        failure.text = said
        if reasons and (kind == "not-evaluated" or result.assertion.metric == "errors"):
            failure.text = _clean("\n".join([said, "", *_failure_lines(reasons)]))
    if reasons:
        ElementTree.SubElement(suite, "system-err").text = _clean("\n".join(_failure_lines(reasons)))
    for conversation, of_it in groupby(checks, lambda one: one.conversation):
        _add_checks(root, f"{name}.{conversation}", list(of_it))
    for conversation, turns in groupby(recorded, lambda one: one.conversation):
        _add_recorded(root, f"{name}.{conversation}.recorded", list(turns))
    _count(root)
    ElementTree.indent(root)
    text: str = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def write_junit(
    path: Path,
    name: str,
    results: Sequence[AssertionResult],
    failures: Sequence[FailureReason] = (),
    checks: Sequence[CheckResult] = (),
    recorded: Sequence[RecordedTurn] = (),
) -> None:
    """
    Write the document to *path*; the others as for ``junit_xml``.

    Raises:
        InputError: it can't be written.
    """
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(junit_xml(name, results, failures, checks, recorded), "utf-8")


def _failure_lines(reasons: Sequence[str]) -> list[str]:
    return ["Failures of the run:", *(f"- {reason}" for reason in reasons)]


def _add_checks(root: ElementTree.Element, name: str, checks: Sequence[CheckResult]) -> None:
    """A suite with the *checks* of one conversation."""
    suite = ElementTree.SubElement(root, "testsuite", {"name": _clean(name)})
    for title, one in zip(unique_names([_check_name(one) for one in checks]), checks, strict=True):
        case = _case(suite, name, title)
        if one.passed is False:
            message = one.evidence or "it does not hold"
            facts = {"message": _clean(shorten(message, LONGEST)), "type": "check"}
            ElementTree.SubElement(case, "failure", facts).text = _clean("\n".join(_check_lines(one)))
        elif one.passed is None:
            reason = _clean(one.reason or "no reason given")
            text = f"{reason}: {_clean(one.evidence)}" if one.evidence else reason
            ElementTree.SubElement(case, "skipped", {"message": reason}).text = text


def _check_name(check: CheckResult) -> str:
    """``depth 2: contains "refund" (bot, pred)``; the same in every run of the same data."""
    return f"{check.where}: {shorten(check.rule, LONGEST)} ({check.system}, {check.policy})"


def _check_lines(check: CheckResult) -> Iterator[str]:
    yield check_title(check, names_group=True)
    for name, text in turn_texts(check).items():
        yield f"{name}: {shorten(text, 10 * LONGEST)}"
    if check.drift is not None and check.drift.invalid:
        why = why_invalid(check.drift)
        yield f"the question is invalid over the system's own history{f': {why}' if why else ''}"


def _add_recorded(root: ElementTree.Element, name: str, turns: Sequence[RecordedTurn]) -> None:
    """A suite with the *turns* of one conversation."""
    suite = ElementTree.SubElement(root, "testsuite", {"name": _clean(name)})
    titles = unique_names([f"depth {one.depth}: against the recorded answer ({one.group})" for one in turns])
    for title, one in zip(titles, turns, strict=True):
        case = _case(suite, name, title)
        said = _clean("\n".join(f"{key}: {shorten(text, 10 * LONGEST)}" for key, text in one.texts))
        if one.verdict == "worse":
            facts = {"message": _clean(shorten(f"worse: {one.evidence}", LONGEST)), "type": "recorded"}
            ElementTree.SubElement(case, "failure", facts).text = said
        elif one.verdict != "same":
            ElementTree.SubElement(case, "system-out").text = said


def _case(suite: ElementTree.Element, classname: str, name: str) -> ElementTree.Element:
    facts = {"classname": _clean(classname), "name": _clean(name), "time": "0"}
    return ElementTree.SubElement(suite, "testcase", facts)


def _count(root: ElementTree.Element) -> None:
    """Say in *root* and its suites how many cases there are, and how many failed or were skipped."""
    for element in (root, *root):
        cases = list(element.iter("testcase"))
        counts = {"failures": "failure", "errors": "error"}
        if element is not root:  # which has no such attribute in the schema
            counts["skipped"] = "skipped"
        element.set("tests", str(len(cases)))
        for name, tag in counts.items():
            element.set(name, str(sum(case.find(tag) is not None for case in cases)))
        if element is not root:
            element.set("time", "0")


def unique_names(titles: Sequence[str]) -> list[str]:
    """Return *titles*, numbered where two are alike."""
    seen = Counter[str]()
    names = []
    for title in titles:
        seen[title] += 1
        names.append(title if seen[title] == 1 else f"{title} [{seen[title]}]")
    return names


def _clean(text: str) -> str:
    """Return *text* with all characters that XML 1.0 can't hold made visible as escapes."""
    return escape_unprintable(text, keep="\n\t")
