"""What is printed goes through one place, which makes every text visible."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.laws.sources import ROOT, nodes

SHIPPED = {
    path.relative_to(ROOT).as_posix(): path
    for folder in ("replay", "adapters")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "training" not in path.parts  # not in the wheel
}
ALLOWED = {
    "replay/cli/output.py": {"sys.stdout", "sys.stderr"},
    "replay/cli/__init__.py": {"sys.stdout"},  # flushes it, and closes it where nobody reads
    "replay/cli/signals.py": {"sys.__stderr__"},  # faulthandler's, where the program doesn't end
    "replay/core/logs.py": {"sys.stderr", "print"},  # JSON in ASCII; one sentence of its own
    "replay/runs/launch.py": {"sys.stderr"},  # a visible console, where a program asks for progress
    "replay/scorers/checks/bounded.py": {"sys.stdout"},  # a pipe to the process that asks
}
BUILT_IN = {"print", "input", "Console", "breakpoint"}
OF_LIBRARIES = {"echo", "secho", "prompt", "echo_via_pager", "get_text_stream", "print", "get_console"}
ATTRIBUTES = {
    "sys": {"stdout", "stderr", "__stdout__", "__stderr__"},
    "typer": OF_LIBRARIES,
    "click": OF_LIBRARIES,
    "rich": OF_LIBRARIES,
}


def printers(path: Path) -> set[str]:
    """Whatever in a file writes to the terminal by itself."""
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in BUILT_IN:
            found.add(node.func.id)
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.attr in ATTRIBUTES.get(node.value.id, ())
        ):
            found.add(f"{node.value.id}.{node.attr}")
    return found


def test_nothing_is_printed_but_through_one_place():
    """What is printed goes through ``replay.cli.output``, or to a console that a caller opened there."""
    found = {name: used for name, path in SHIPPED.items() if (used := printers(path))}
    assert found == ALLOWED


@pytest.mark.parametrize("line", ["print(1)", "typer.echo(1)", "sys.stderr.write('')", "Console()"])
def test_the_law_sees_who_prints(line, tmp_path):
    (tmp_path / "file.py").write_text(line)
    assert printers(tmp_path / "file.py")
