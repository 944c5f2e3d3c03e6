"""
pytest runs scenarios: ``pytest scenario.yaml`` plays it once, and each of its assertions is a test.

Found by pytest through the entry point ``pytest11``, and so loaded in every test run of an environment that
has this package: nothing of it is imported, read or played until a scenario is named, on the command line or
by the ini option ``replay_scenarios``, or a fixture is used. Its name there is ``convreplay``, since
pytest-replay, which records test runs, is called ``replay``, and pytest loads no two plug-ins of one name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from replay.integrations.scenario_runs import PlayedOnce
    from replay.results.run import Run
    from replay.runs.launch import AnyScenario
    from replay.scenario import reading
    from replay.testing.fakes import ChatServer

PLAYED = pytest.StashKey["PlayedOnce"]()
MARKER = "replay"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("replay", "scenarios of convreplay")
    group.addoption(
        "--replay-runs",
        metavar="DIR",
        type=Path,
        help="Keep the runs below DIR; without it they are kept with pytest's temporary folders.",
    )
    group.addoption(
        "--replay-checks",
        action="store_true",
        help="A test for each conversation whose data expects something, beside those for assertions.",
    )
    parser.addini(
        "replay_scenarios", "Scenario files to collect (patterns, from the root folder).", type="args"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARKER}(scenario): the scenario that the fixture replay_run plays.")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Only what is named: a folder full of YAML is nobody's scenario."""
    if file_path.suffix not in (".yaml", ".yml"):
        return None
    patterns = parent.config.getini("replay_scenarios")
    root = parent.config.rootpath
    if not parent.session.isinitpath(file_path) and file_path not in _matching(root, patterns):
        return None
    return ScenarioCollector.from_parent(parent, path=file_path) if _is_scenario(file_path) else None


def _matching(root: Path, patterns: Iterable[str]) -> set[Path]:
    return {path for pattern in patterns for path in root.glob(pattern)}


def _is_scenario(path: Path) -> bool:
    """Return whether *path* looks like one, with faults or without."""
    import yaml

    try:
        text = path.read_text("utf-8-sig")
        content = yaml.safe_load(text)
    except (OSError, UnicodeDecodeError):
        return False
    except yaml.YAMLError:  # by its lines, so that the fault is said
        content = dict.fromkeys(re.findall(r"^(\w+):", text, re.MULTILINE))
    return isinstance(content, dict) and {"data", "systems"} <= content.keys()


class ScenarioCollector(pytest.File):
    """A scenario; nothing is asked while its tests are collected."""

    def collect(self) -> Iterator[pytest.Item]:
        from replay.core.errors import ReplayError, ScenarioError
        from replay.report.junit import unique_names
        from replay.scenario.assembly import try_assemble
        from replay.scenario.reading import read_scenario

        try:
            self.file: reading.ScenarioFile = read_scenario(self.path)
            assembly, faults = try_assemble(self.file)
            if faults:
                raise ScenarioError(self.file.source, faults)
            titles = [assertion.title for assertion in self.file.scenario.assertions]
            for position, name in enumerate(unique_names(titles)):
                yield AssertionItem.from_parent(self, name=name, position=position)
            if self.config.getoption("--replay-checks"):
                for conversation in assembly.conversations(None):
                    asked = conversation.turns[conversation.asked_from - 1 :]
                    if conversation.expect or any(turn.expect for turn in asked):
                        yield ChecksItem.from_parent(self, name=conversation.id)
        except ReplayError as error:
            raise self.CollectError(str(error)) from error

    def run_played(self) -> Run:
        return _session_runs(self.config).run(self.file)


class ScenarioItem(pytest.Item):
    """A test of a scenario's run."""

    parent: ScenarioCollector

    def runtest(self) -> None:
        run = self.parent.run_played()
        self.user_properties.append(("replay_run", str(run.folder)))
        self.look_at(run)

    def look_at(self, run: Run) -> None:
        raise NotImplementedError

    def _at(self, key: str) -> tuple[Path, int | None, str]:
        """Return the test's location: the scenario's path, the line (from 0) or None, and a headline."""
        line = self.parent.file.lines.of(key)
        # Not the bare name: pytest takes the dots in one for those of a Python class.
        return self.path, None if line is None else line - 1, f"{self.parent.file.scenario.name}: {self.name}"

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from replay.core.errors import ReplayError

        # What a run found, or why there is none, is said in words; a traceback would show our own lines.
        if isinstance(excinfo.value, (FindingError, ReplayError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)


class FindingError(AssertionError):
    """What a run did not keep to, in words."""


class AssertionItem(ScenarioItem):
    """An entry under ``assert:``."""

    def __init__(self, *, position: int, **more: Any) -> None:
        super().__init__(**more)
        self.position = position

    def look_at(self, run: Run) -> None:
        from replay.integrations.scenario_runs import turns_against
        from replay.report.findings import lines_of
        from replay.results.comparing import check_assertions

        result = check_assertions(run)[self.position]
        for finding in result.findings:
            self.user_properties.append((str(finding.group), finding.summary))
        if not result.holds:
            raise FindingError("\n".join([*lines_of(result), *turns_against(run, result), "", _where(run)]))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self._at(f"assert[{self.position}]")


class ChecksItem(ScenarioItem):
    """What the data expects of a conversation."""

    def look_at(self, run: Run) -> None:
        from replay.core.expectation import NO_TIMES
        from replay.integrations.scenario_runs import check_lines

        plays = {one.conversation for one in run.records() if one.recorded_conversation == self.name}
        mine = [check for check in run.checks() if check.conversation in plays]
        if not mine:
            raise FindingError(f"no check of {self.name} was made\n\n{_where(run)}")
        failed = [check for check in mine if check.passed is False]
        unchecked = {check.reason or "" for check in mine if check.passed is None} - {NO_TIMES}
        if failed:
            raise FindingError(
                "\n".join([*(line for one in failed for line in check_lines(one)), "", _where(run)])
            )
        if unchecked:
            pytest.skip(f"not all checks could be made: {', '.join(sorted(unchecked))}")

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self._at("data")


def _where(run: Run) -> str:
    return f"run: {run.folder} (replay view {run.folder.parent})"


def _session_runs(config: pytest.Config) -> PlayedOnce:
    """Return the session's runs; workers of pytest-xdist share them."""
    if PLAYED not in config.stash:
        from replay.integrations.scenario_runs import PlayedOnce

        shared = config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        if hasattr(config, "workerinput"):
            shared = shared.parent  # each worker has a folder of its own in the session's
        runs = config.getoption("--replay-runs") or shared / "replay-runs"
        config.stash[PLAYED] = PlayedOnce(shared / "replay-played.db", runs)
    return config.stash[PLAYED]


@pytest.fixture(scope="session")
def replay_scenario(pytestconfig: pytest.Config) -> Callable[[AnyScenario], Run]:
    """
    A function that plays a scenario, once in a session, and returns its run.

    It takes a path (from where pytest was started), a shipped scenario's name, or a mapping.
    """
    from replay.runs.launch import load_scenario

    played = _session_runs(pytestconfig)
    return lambda scenario: played.run(load_scenario(scenario))


@pytest.fixture
def replay_run(request: pytest.FixtureRequest, replay_scenario: Callable[[AnyScenario], Run]) -> Run:
    """The run of the scenario that the test's marker names: ``@pytest.mark.replay("scenario.yaml")``."""
    marker = request.node.get_closest_marker(MARKER)
    if marker is None or len(marker.args) != 1 or marker.kwargs:
        pytest.fail('replay_run needs @pytest.mark.replay("scenario.yaml") on the test', pytrace=False)
    scenario = marker.args[0]
    beside = request.path.parent / scenario if isinstance(scenario, str) else None
    return replay_scenario(beside if beside and beside.is_file() else scenario)


@pytest.fixture
def mock_system() -> Iterator[ChatServer]:
    """A chat server on this machine that says what ``answers`` has; its ``system`` is for a scenario."""
    from replay.testing.fakes import mock_system

    with mock_system() as server:
        yield server
