"""Test runs inside a test, with the plug-in; in this process, since starting another takes long."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import distributions

import pytest

Ran = Callable[..., pytest.RunResult]


@pytest.fixture(scope="session")
def plugin() -> tuple[str, ...]:
    """Names the plug-in, where the environment was made before the package had it."""
    points = {(one.group, one.name) for found in distributions() for one in found.entry_points}
    return () if ("pytest11", "convreplay") in points else ("-p", "replay.integrations.pytest_plugin")


@pytest.fixture
def ran(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, plugin: tuple[str, ...]) -> Ran:
    """Runs pytest with some arguments."""
    # pytester forgets what a test run imports, and a compiled module can be imported only once.
    monkeypatch.setattr("_pytest.pytester.SysModulesSnapshot.restore", lambda self: None)
    (pytester.path / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope=function\n")

    def run(*arguments: object) -> pytest.RunResult:
        return pytester.runpytest_inprocess(
            *plugin, "-p", "no:cacheprovider", "--import-mode=importlib", *map(str, arguments)
        )

    return run
