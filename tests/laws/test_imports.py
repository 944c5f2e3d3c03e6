"""Imports go one way; the picture in the code is the picture in the documentation."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

DATA = {
    "errors", "conversation", "history", "evidence", "record", "adapter", "plugins", "settings_faults",
    "prices", "quick_init", "raw_reply", "templating", "yaml_lines", "known_secrets", "secret_looks", "logs",
    "scenario_folder", "template_sandbox",
}  # fmt: skip
LAYERS = [
    DATA,
    {"datasets", "coreference", "scorers", "tables"},
    {"policies", "load", "loop_lag", "retrying"},
    {"player"},
    {"engine", "store"},
]
"""Each layer may import itself and those before it."""
AFTER_THE_RUN = {"statistics", "report"}
"""May import data, scorers and themselves."""


def imports(path: Path) -> set[str]:
    """The parts of ``replay`` that a file imports, TYPE_CHECKING ones and late ones included."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module] if node.module != "replay" else [f"replay.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {n.split(".")[1] for n in names if n.startswith("replay.")}
        found |= {"replay_adapters" for n in names if n.split(".")[0] == "replay_adapters"}
    return found - {"__version__"}


def part_files() -> dict[str, list[Path]]:
    parts: dict[str, list[Path]] = {}
    for path in sorted((ROOT / "replay").rglob("*.py")):
        part = path.relative_to(ROOT / "replay").parts[0].removesuffix(".py")
        parts.setdefault(part, []).append(path)
    return parts


PARTS = part_files()


@pytest.mark.parametrize("number", range(len(LAYERS)))
def test_a_layer_imports_only_itself_and_those_before_it(number):
    allowed = set().union(*LAYERS[: number + 1])
    for part in LAYERS[number]:
        for path in PARTS[part]:
            assert imports(path) <= allowed, path


def test_statistics_and_reports_know_records_and_scorers_but_nothing_that_plays():
    for part in AFTER_THE_RUN:
        for path in PARTS[part]:
            assert imports(path) <= DATA | AFTER_THE_RUN | {"scorers"}, path


def test_judges_know_nothing_of_what_plays_or_stores():
    """They are asked about records wherever those come from; ``replay.runs.judging`` brings the two together."""
    for path in PARTS["judges"]:
        allowed = DATA | {"scorers", "load", "retrying", "scenario", "judges"}
        assert imports(path) <= allowed, path


@pytest.mark.parametrize("part", ["agreement", "evaluation"])
def test_what_works_on_files_needs_no_run(part):
    """People with two tables and no run have no database; the command line hands runs over as records."""
    allowed = DATA | AFTER_THE_RUN | {"scorers", "datasets", "tables", "judges", part}
    for path in PARTS[part]:
        assert imports(path) <= allowed, path


def test_assertions_know_runs_and_their_numbers_but_nothing_that_plays():
    """The section is part of a scenario, so only ``of_run`` may know what a scenario or a run is."""
    for path in PARTS["assertions"]:
        allowed = DATA | AFTER_THE_RUN | {"scorers", "judges", "store", "assertions"}
        allowed |= {"runs", "scenario"} if path.stem == "of_run" else set()
        assert imports(path) <= allowed, path


def test_pages_show_runs_and_play_nothing():
    """Only the command line knows of them, so that a run needs neither templates nor charts."""
    for path in PARTS["web"]:
        assert imports(path) <= DATA | AFTER_THE_RUN | {"scorers", "scenario", "store", "runs", "web"}, path
    for part, paths in PARTS.items():
        for path in paths:
            assert part in ("web", "cli") or "web" not in imports(path), path


def test_data_imports_nothing_of_ours_that_is_not_data():
    assert imports(ROOT / "replay" / "conversation.py") == set()


def test_nothing_in_replay_imports_the_built_in_adapters():
    """They come in by the same door as a third party's."""
    for paths in PARTS.values():
        for path in paths:
            assert "replay_adapters" not in imports(path), path


def test_adapters_import_only_what_replay_exports():
    for path in sorted((ROOT / "adapters").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                assert not node.module.startswith("replay."), f"{path}: {node.module}"


HEAVY = (
    "aiohttp", "pandas", "numpy", "scipy", "spacy", "pydantic", "torch", "sacrebleu", "rouge_score",
    "statsmodels", "krippendorff", "matplotlib", "openpyxl", "jinja2", "plotly",
)  # fmt: skip


def test_help_loads_nothing_heavy():
    """`replay --help` has to answer at once; a stress test never loads torch."""
    program = (
        "import sys\n"
        "from replay.cli import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "Replay conversations" in done.stdout
    assert done.stderr.strip() == "[]"
