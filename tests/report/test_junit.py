from __future__ import annotations

from xml.etree import ElementTree

import pytest

from replay.core.errors import InputError
from replay.report.findings import assertion_lines
from replay.report.junit import junit_xml, write_junit
from tests.report.sample_checks import SAMPLE, check
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
    first, second, third = cases_as_gitlab_reads_them(junit_xml("try", results()))

    assert first == ("try", "em at least 0.5", "success", None)
    assert second[:3] == ("try", "em at least 0.9", "failure")
    assert "s, pred: 0.75 [0.009849, 0.9989], 0.15 below the bound 0.9, on 4 turns" in (second[3] or "")
    assert third[:3] == ("try", "em at least 0.5 (depth 7)", "failure")
    assert "no turn was asked at depth 7" in (third[3] or "")


def test_counts_and_kinds_are_those_of_jenkins_schema():
    """Required by junit-10.xsd: a suite's name, tests, failures and errors, and each case's name."""
    root = ElementTree.fromstring(junit_xml("try", results()).encode())
    (suite,) = root

    assert root.tag == "testsuites"
    assert root.attrib == {"tests": "3", "failures": "2", "errors": "0"}
    assert suite.attrib.items() >= {"name": "try", "tests": "3", "failures": "2", "errors": "0"}.items()
    assert [element.attrib["type"] for element in root.iter("failure")] == ["assertion", "not-evaluated"]
    assert {child.tag for case in root.iter("testcase") for child in case} <= {"failure", "system-out"}


def test_cases_can_be_told_apart():
    """GitLab takes cases of the same classname and name for one."""
    same = [judge(answers("+"), min=0.5)] * 3
    found = cases_as_gitlab_reads_them(junit_xml("a", same))

    assert len({case[:2] for case in found}) == 3
    assert found[1][1] == "em at least 0.5 [2]"


def test_names_that_xml_cannot_hold_do_no_harm():
    odd = 'a<b & "c"\x00\x1b\ud800'
    found = judge(answers("-", system=odd), system=odd, min=0.5)
    text = junit_xml(odd, [found])
    ((classname, name, status, _),) = cases_as_gitlab_reads_them(text)

    assert classname == r'a<b & "c"\x00\x1b\ud800'
    assert classname in name
    assert status == "failure"


def test_the_same_judgements_give_the_same_bytes(tmp_path):
    for name in ("one.xml", "deep/other.xml"):
        write_junit(tmp_path / name, "try", results())

    assert (tmp_path / "one.xml").read_bytes() == (tmp_path / "deep/other.xml").read_bytes()


def test_a_file_that_cannot_be_written_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="can't be written"):
        write_junit(tmp_path, "try", results())


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


def cases_of_checks(checks):
    return cases_as_gitlab_reads_them(junit_xml("try", [], checks=checks))


def test_each_check_is_a_case_and_one_that_could_not_be_looked_at_is_skipped():
    found = cases_of_checks(SAMPLE)

    assert [case[:3] for case in found] == [
        ("try.a", 'depth 1: contains "refund" (made, pred)', "success"),
        ("try.a", 'depth 1: polite: rubric "Is it polite?" (made, pred)', "failure"),
        ("try.a", 'depth 2: contains "refund" (made, pred)', "failure"),
        ("try.b", 'depth 1: contains "refund" (made, pred)', "failure"),
        ("try.b", 'depth 2: contains "refund" (made, pred)', "skipped"),
        ("try.b", 'the conversation\'s end: polite: rubric "Is it polite?" (made, pred)', "skipped"),
    ]
    assert found[-1][3] == "never reached"


def test_a_failed_check_tells_question_answer_evidence_and_drift():
    said = cases_of_checks(SAMPLE)[2][3] or ""

    assert said.splitlines()[:4] == [
        'made, pred: depth 2 of a: contains "refund"',
        "asked: Question 2?",
        "answer: No.",
        'found: no "refund" in the answer',
    ]
    assert said.splitlines()[4].startswith(
        "the question is invalid over the system's own history: 90 % likely"
    )


def test_suites_and_the_whole_count_their_cases():
    root = ElementTree.fromstring(junit_xml("try", results(), checks=SAMPLE).encode())

    assert root.attrib == {"tests": "9", "failures": "5", "errors": "0"}
    counts = [[suite.get(key) for key in ("name", "tests", "failures", "skipped")] for suite in root]
    assert counts == [["try", "3", "2", "0"], ["try.a", "3", "2", "0"], ["try.b", "3", "1", "2"]]


def test_a_check_is_called_the_same_whatever_came_out_and_no_two_are():
    """Branches are compared by these names; other answers must not show as new tests."""
    twice = [check("a", 1, "-"), check("a", 1, "+", position=1), check("a", 1, "+", policy="gold")]
    names = [case[:2] for case in cases_of_checks(twice)]
    later = [case[:2] for case in cases_of_checks([check("a", 1, "skipped"), *twice[1:]])]

    assert names == later
    assert len(set(names)) == 3


def test_hostile_checks_make_a_document_all_the_same():
    odd = 'a<b & "c"\x00\x1b\ud800]]>'
    found = cases_of_checks(
        [check(odd, 1, "-", value={odd: odd}, answer=odd, evidence=odd), check(odd, 2, odd)]
    )

    assert [case[2] for case in found] == ["failure", "skipped"]
    assert r'a<b & "c"\x00\x1b\ud800]]>' in (found[0][3] or "")
