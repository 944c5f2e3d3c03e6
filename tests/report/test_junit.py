from __future__ import annotations

from xml.etree import ElementTree

import pytest

from replay.core.errors import InputError
from replay.report.assertions_text import assertion_lines
from replay.report.junit import junit_xml, write_junit
from tests.scenario.assertions.samples import answers, judge


def results():
    run = answers("+-", "++")
    return [judge(run, min=0.5), judge(run, min=0.9), judge(run, depth=7, min=0.5)]


def cases_as_gitlab_reads_them(text: str) -> list[tuple[str, str, str, str | None]]:
    """
    Classname, name, status and details, as GitLab's parser takes them from the document.

    Cases are those within a suite, at any depth; ``failure`` before ``error`` before ``skipped``, else
    success (lib/gitlab/ci/parsers/test/junit.rb of GitLab 14.5).
    """
    found = []
    for case in ElementTree.fromstring(text.encode()).iterfind(".//testsuite//testcase"):
        for status in ("failure", "error", "skipped"):
            if (element := case.find(status)) is not None:
                found.append((case.attrib["classname"], case.attrib["name"], status, element.text))
                break
        else:
            found.append((case.attrib["classname"], case.attrib["name"], "success", None))
    return found


def test_each_assertion_is_a_case_and_a_failure_tells_all():
    first, second, third = cases_as_gitlab_reads_them(junit_xml({"try": results()}))

    assert first == ("try", "em at least 0.5", "success", None)
    assert second[:3] == ("try", "em at least 0.9", "failure")
    assert "s, pred: 0.75 [0.009849, 0.9989], 0.15 below the bound 0.9, on 4 turns" in (second[3] or "")
    assert third[:3] == ("try", "em at least 0.5 (depth 7)", "failure")
    assert "no turn was asked at depth 7" in (third[3] or "")


def test_counts_and_kinds_are_those_of_jenkins_schema():
    """Required by junit-10.xsd: a suite's name, tests, failures and errors, and each case's name."""
    root = ElementTree.fromstring(junit_xml({"try": results()}).encode())
    (suite,) = root

    assert root.tag == "testsuites"
    assert root.attrib == {"tests": "3", "failures": "2", "errors": "0"}
    assert suite.attrib.items() >= {"name": "try", "tests": "3", "failures": "2", "errors": "0"}.items()
    assert [element.attrib["type"] for element in root.iter("failure")] == ["assertion", "not-evaluated"]
    assert {child.tag for case in root.iter("testcase") for child in case} <= {"failure", "system-out"}


def test_cases_can_be_told_apart():
    """GitLab takes cases of the same classname and name for one."""
    same = [judge(answers("+"), min=0.5)] * 3
    found = cases_as_gitlab_reads_them(junit_xml({"a, repeat 1": same, "a, repeat 2": same}))

    assert len({case[:2] for case in found}) == 6
    assert found[1][1] == "em at least 0.5 [2]"


def test_names_that_xml_cannot_hold_do_no_harm():
    odd = 'a<b & "c"\x00\x1b\ud800'
    found = judge(answers("-", system=odd), system=odd, min=0.5)
    text = junit_xml({odd: [found]})
    ((classname, name, status, _),) = cases_as_gitlab_reads_them(text)

    assert classname == r'a<b & "c"\x00\x1b\ud800'
    assert classname in name
    assert status == "failure"


def test_the_same_judgements_give_the_same_bytes(tmp_path):
    for name in ("one.xml", "deep/other.xml"):
        write_junit(tmp_path / name, {"try": results()})

    assert (tmp_path / "one.xml").read_bytes() == (tmp_path / "deep/other.xml").read_bytes()


def test_a_file_that_cannot_be_written_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="can't be written"):
        write_junit(tmp_path, {"try": results()})


def test_the_text_marks_what_failed():
    found = assertion_lines(results())

    assert found[0] == "Assertions: 2 of 3 failed"
    assert found[1:3] == [
        "ok    em at least 0.5",
        "      s, pred: 0.75 [0.009849, 0.9989], 0.25 above the bound 0.5, on 4 turns of 2 conversations",
    ]
    assert found[3] == "FAIL  em at least 0.9"
    assert found[4].startswith("      FAIL s, pred: 0.75 ")
    assert assertion_lines(results()[:1])[0] == "Assertions: 1 of 1 kept"
