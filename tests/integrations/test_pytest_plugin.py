"""The pytest plug-in, in test runs of its own: pytester plays them in this process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from replay.testing.fakes import ChatServer, mock_system

pytest_plugins = ["pytester", "tests.integrations.in_pytest"]

QUESTIONS = "Who sang it?", "When did she sing it?"

FIXTURES = """
import pytest

@pytest.mark.replay("songs.yaml")
def test_marked(replay_run):
    assert [record.answer for record in replay_run.records()] == ["Ann.", "In 1990.", "Ann."]

def test_named(replay_scenario):
    assert len(replay_scenario("songs.yaml").records()) == 3

@pytest.mark.replay()
def test_unmarked(replay_run): pass

def test_own_system(mock_system, replay_scenario):
    mock_system.answers["Why?"] = "So."
    content = {
        "name": "own",
        "data": {"path": "why.jsonl"},
        "systems": [mock_system.system],
        "policies": ["gold"],
    }
    assert [record.answer for record in replay_scenario(content).records()] == ["So."]
    assert replay_scenario(content).folder == replay_scenario(content).folder
    assert mock_system.asked["Why?"] == 1
"""


class OnceEach(dict[str, str]):
    """Answers, and for any other question the next of some."""

    def __init__(self, answers: dict[str, str], others: Iterator[str]) -> None:
        super().__init__(answers)
        self._others = others

    def get(self, question: str, default: object = None) -> str:  # type: ignore[override]
        return self[question] if question in self else next(self._others)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with mock_system() as server:
        server.answers.update(zip(QUESTIONS, ("Ann.", "In 1990."), strict=True))
        yield server


@pytest.fixture
def scenario(pytester: pytest.Pytester, server: ChatServer) -> Path:
    """Two turns, the second one answered wrongly, and one assertion about each."""
    turns = [
        {"question": QUESTIONS[0], "gold_answer": "Ann.", "expect": {"contains": "Ann"}},
        {"question": QUESTIONS[1], "gold_answer": "In 1991.", "expect": {"contains": "1991"}},
    ]
    talks = {"id": "talk", "turns": turns}, {"id": "first", "turns": turns[:1]}
    (pytester.path / "talks.jsonl").write_text("".join(json.dumps(talk) + "\n" for talk in talks))
    (pytester.path / "why.jsonl").write_text('{"id": "why", "turns": [{"question": "Why?"}]}\n')
    content = {
        "name": "songs",
        "data": {"path": "talks.jsonl"},
        "systems": [server.system],
        "policies": ["gold"],
        "assert": [{"metric": "em", "depth": 1, "min": 1}, {"metric": "em", "depth": 2, "min": 0.9}],
    }
    path = pytester.path / "songs.yaml"
    path.write_text(json.dumps(content, indent=1))
    return path


def test_each_assertion_is_a_test_and_the_scenario_is_played_once(scenario, server, ran):
    done = ran(scenario, "-v", "--replay-runs", "kept")

    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["*::em at least 1 (depth 1) PASSED*", "*::em at least 0.9 (depth 2) FAILED*"])
    assert server.asked == {QUESTIONS[0]: 2, QUESTIONS[1]: 1}
    assert len(list((scenario.parent / "kept").iterdir())) == 1


def test_a_failure_shows_the_number_the_turns_behind_it_and_no_traceback(scenario, ran):
    shown = ran(scenario).stdout.str()

    for line in (
        "FAIL server, gold: 0, 0.9 below the bound 0.9, on 1 turn of 1 conversation",
        "depth 2 of talk (server, gold)",
        "asked   When did she sing it?",
        "answer  In 1990.",
    ):
        assert line in shown
    assert "depth 1 of talk" not in shown
    assert ".py:" not in shown


def test_conversations_are_tests_by_option_and_show_the_checks_that_failed(scenario, ran):
    done = ran(scenario, "--replay-checks", "-k", "talk or first")

    done.assert_outcomes(passed=1, failed=1, deselected=2)
    done.stdout.fnmatch_lines(
        [
            '*FAIL  server, gold: depth 2 of talk: contains "1991"',
            "*asked   When did she sing it?",
            "*answer  In 1990.",
            '*found   no "1991" in the answer',
        ]
    )


def test_checks_that_could_not_be_made_are_skipped_with_the_reason(scenario, server, ran):
    server.broken.add(QUESTIONS[0])
    done = ran(scenario, "--replay-checks", "-rs", "-k", "first")

    done.assert_outcomes(skipped=1, deselected=3)
    assert "not all checks could be made" in done.stdout.str()


def test_a_check_that_fails_in_one_of_several_plays_fails_the_conversation(scenario, server, ran):
    seconds = iter(("In 1991.", "In 1990."))
    server.answers = OnceEach({QUESTIONS[0]: "Ann."}, seconds)
    content = json.loads(scenario.read_text())
    scenario.write_text(json.dumps({**content, "play": {"repeats": 2, "concurrency": 1}}))
    done = ran(scenario, "--replay-checks", "-k", "talk")

    done.assert_outcomes(failed=1, deselected=3)
    assert "depth 2 of talk~2: contains" in done.stdout.str()
    assert "depth 2 of talk: contains" not in done.stdout.str()


def test_a_failed_assertion_on_several_plays_shows_those_that_did_not_pass(scenario, server, ran):
    server.answers = OnceEach({QUESTIONS[0]: "Ann."}, iter(("In 1991.", "In 1990.")))
    content = json.loads(scenario.read_text())
    content |= {"play": {"repeats": 2, "concurrency": 1}, "assert": [{"metric": "pass^2(check)", "min": 1}]}
    scenario.write_text(json.dumps(content))
    done = ran(scenario)

    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        [
            "*depth 2 of talk: passed in 1 of 2 plays, not in play 2",
            "*depth 2 of talk~2 (server, gold)",
            "*answer  In 1990.",
            '*found   contains "1991": no "1991" in the answer',
        ]
    )
    assert "depth 2 of talk (server, gold)" not in done.stdout.str()


def test_only_turns_that_are_asked_make_a_test(scenario, ran):
    talks = scenario.parent / "talks.jsonl"
    first, second = json.loads(talks.read_text().splitlines()[0])["turns"]
    del second["expect"]
    talks.write_text(json.dumps({"id": "talk", "turns": [first, second]}) + "\n")
    content = json.loads(scenario.read_text())
    scenario.write_text(json.dumps({**content, "data": {"path": "talks.jsonl", "ask": "last"}}))

    assert "talk" not in ran(scenario, "--replay-checks", "--collect-only", "-q").stdout.str().split()


def test_yaml_is_left_alone_unless_a_scenario_is_named(scenario, server, ran):
    (scenario.parent / "compose.yaml").write_text("services: {db: {image: postgres}}\n")

    assert ran().ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert ran("compose.yaml").ret != pytest.ExitCode.INTERRUPTED
    ran("-o", "replay_scenarios=*.yaml").assert_outcomes(passed=1, failed=1)
    ran("-o", "replay_scenarios=*.yaml", "--collect-only").assert_outcomes()
    assert sum(server.asked.values()) == 3


def test_a_faulty_scenario_is_an_error_of_collection_that_names_the_fault(scenario, server, ran):
    scenario.write_text(scenario.read_text().replace('"gold"', '"golden"'))
    done = ran(scenario)

    done.assert_outcomes(errors=1)
    assert 'did you mean "gold"?' in done.stdout.str()
    scenario.write_text("name: n\ndata: {path: [}\nsystems: []\n")
    assert "line 2" in ran(scenario).stdout.str()
    assert not server.asked


def test_what_stops_a_run_is_said_once_in_words(scenario, server, ran):
    (scenario.parent / "talks.jsonl").write_text(
        '{"id": "talk", "turns": [{"question": "Why?", "gold": "No"}]}\n'
    )
    done = ran(scenario)

    done.assert_outcomes(failed=2)
    assert "talks.jsonl:1: turns[0].gold: is not a field here" in done.stdout.str()
    assert ".py:" not in done.stdout.str()


def test_fixtures_play_what_is_named_beside_the_test_by_path_or_as_a_mapping(scenario, server, ran):
    (scenario.parent / "test_songs.py").write_text(FIXTURES)
    done = ran("test_songs.py", "--strict-markers")

    done.assert_outcomes(passed=3, errors=1)
    assert 'replay_run needs @pytest.mark.replay("scenario.yaml") on the test' in done.stdout.str()
    assert server.asked == {QUESTIONS[0]: 2, QUESTIONS[1]: 1}


def test_junit_has_the_run_and_the_numbers_as_properties(scenario, ran):
    ran(scenario, "--junitxml", "out.xml", "--replay-runs", "kept")

    first, *_ = ElementTree.parse(scenario.parent / "out.xml").iter("testcase")
    found = {one.get("name"): one.get("value") for one in first.iter("property")}
    (folder,) = (scenario.parent / "kept").iterdir()
    assert Path(found["replay_run"] or "").name == folder.name
    assert (found["server, gold"] or "").endswith("at the bound 1, on 2 turns of 2 conversations")


@pytest.mark.long
def test_workers_of_xdist_share_one_run(scenario, server, pytester, plugin):
    done = pytester.runpytest_subprocess(*plugin, scenario, "-n", "2")

    done.assert_outcomes(passed=1, failed=1)
    assert server.asked == {QUESTIONS[0]: 2, QUESTIONS[1]: 1}


def test_pytest_loads_nothing_of_the_package_until_it_is_needed():
    program = (
        "import sys, replay.integrations.pytest_plugin\n"
        "print(sorted({name.split('.')[1] for name in sys.modules if name.startswith('replay.')}))\n"
        "print({'asyncio', 'numpy', 'pydantic', 'sqlite3', 'yaml'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['clash', 'integrations']\nset()"
