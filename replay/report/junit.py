"""
Judgements as JUnit XML, a test case for each assertion, as Jenkins, GitLab and GitHub's actions read it.

There is no one standard. What is written here is the common ground of Jenkins' schema (junit-10.xsd of the
xUnit plug-in) and of GitLab's reader, which takes ``classname`` for the suite, tells cases apart by
``classname`` and ``name`` together, and shows a failure's text but not its ``message``. An assertion that
could not be evaluated is a failure, not an error: it is red everywhere, and some readers don't show errors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from replay.core.errors import writing
from replay.core.terminal import visible
from replay.report.assertions_text import lines_of
from replay.report.failure_text import failure_lines
from replay.scenario.assertions.findings import AssertionResult
from replay.statistics.failure_reasons import FailureReason


def junit_xml(
    suites: Mapping[str, Sequence[AssertionResult]],
    failures: Mapping[str, Sequence[FailureReason]] | None = None,
) -> str:
    """
    The document; *suites* are results by suite, which should be called the same every time.

    *failures*, by suite as well, say why turns failed: in the suite's ``system-err``, and, since not every
    reader shows that, with each failure that such turns bring about by themselves. The same results give the
    same text: it has no time, and no machine's name.
    """
    root = ElementTree.Element("testsuites", _counts([one for each in suites.values() for one in each]))
    for name, results in suites.items():
        attributes = {"name": _clean(name), **_counts(results), "skipped": "0", "time": "0"}
        suite = ElementTree.SubElement(root, "testsuite", attributes)
        reasons = failure_lines((failures or {}).get(name, ()))
        for case_name, result in zip(_names(results), results, strict=True):
            facts = {"classname": _clean(name), "name": _clean(case_name), "time": "0"}
            case = ElementTree.SubElement(suite, "testcase", facts)
            said = _clean("\n".join(lines_of(result)))
            if result.holds:
                ElementTree.SubElement(case, "system-out").text = said
                continue
            failing = [f for f in result.findings if not f.holds]
            message = "; ".join(f"{finding.group}: {finding.said}" for finding in failing)
            kind = "not-evaluated" if all(f.reason for f in failing) else "assertion"
            failure = ElementTree.SubElement(case, "failure", {"message": _clean(message), "type": kind})
            failure.text = said
            if reasons and (kind == "not-evaluated" or result.assertion.metric == "errors"):
                failure.text = _clean("\n".join([said, "", *_told(reasons)]))
        if reasons:
            ElementTree.SubElement(suite, "system-err").text = _clean("\n".join(_told(reasons)))
    ElementTree.indent(root)
    text: str = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def write_junit(
    path: Path,
    suites: Mapping[str, Sequence[AssertionResult]],
    failures: Mapping[str, Sequence[FailureReason]] | None = None,
) -> None:
    """
    Write the document to *path*; *failures* as for ``junit_xml``.

    Raises:
        InputError: it can't be written.
    """
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(junit_xml(suites, failures), "utf-8")


def _told(reasons: Sequence[str]) -> list[str]:
    return ["Failures of the run:", *(f"- {reason}" for reason in reasons)]


def _counts(results: Sequence[AssertionResult]) -> dict[str, str]:
    failures = sum(not one.holds for one in results)
    return {"tests": str(len(results)), "failures": str(failures), "errors": "0"}


def _names(results: Sequence[AssertionResult]) -> list[str]:
    """Titles, numbered where two are alike."""
    seen = Counter[str]()
    names = []
    for one in results:
        title = one.assertion.title
        seen[title] += 1
        names.append(title if seen[title] == 1 else f"{title} [{seen[title]}]")
    return names


def _clean(text: str) -> str:
    """What XML 1.0 can't hold can't be seen either."""
    return visible(text, keep="\n\t")
