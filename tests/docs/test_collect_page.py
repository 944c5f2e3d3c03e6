"""What docs/collect.md shows is what there is, its figures included."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

from ruamel.yaml import YAML

from replay.collecting.collect import read_rules
from replay.collecting.patterns import KINDS
from replay.scenario.sections import RecordedSection
from tests.benchmarks.programs import load_program, printed
from tests.cli.command import replay_cli
from tests.collecting.logs import write_logs
from tests.docs.shown_output import blocks, page

ROOT = Path(__file__).parents[2]
PAGE = page("collect")


def test_every_kind_is_on_the_page():
    listed = re.findall(r"^\| `([a-z-]+)` \|", PAGE.partition("## Personal data")[2], re.MULTILINE)
    assert tuple(listed) == KINDS


def test_the_commands_run(tmp_path):
    (tmp_path / "logs").mkdir()
    write_logs(tmp_path / "logs" / "shop.jsonl")
    commands = [line.split() for line in re.findall(r"^    replay (.*)$", PAGE, re.MULTILINE)]
    assert [command[0] for command in commands] == ["collect", "collect", "run", "run"]
    for command in (commands[0], commands[2]):
        done = replay_cli(*command, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    gated = replay_cli(*commands[3], cwd=tmp_path)
    assert gated.returncode == 100, gated.stderr
    assert "Worse than recorded, at most 0 allowed:\nFAIL  extractive, gold: " in gated.stdout
    files = {path.name for path in (tmp_path / "suite").iterdir()}
    named = set(re.findall(r"`([\w-]+\.(?:jsonl|yaml|md|txt))`", PAGE.partition("Beside the suite")[0]))
    assert files == named - {"dropped.jsonl"}
    assert (tmp_path / "suite-replaced.jsonl").exists()


def test_the_rules_can_be_read(tmp_path):
    text, _ = blocks(PAGE, "yaml")
    (tmp_path / "rules.yaml").write_text(text, "utf-8")
    assert read_rules(tmp_path / "rules.yaml").keep == {"acme", "lutetia"}


def test_the_section_is_what_collect_writes_and_its_figures_are_those_of_the_benchmark():
    section = YAML(typ="safe").load(blocks(PAGE, "yaml")[1])["recorded"]
    assert RecordedSection.model_validate(section) == RecordedSection()
    commented = re.findall(r"^  # (\w+): ([\w.]+)", blocks(PAGE, "yaml")[1], re.MULTILINE)
    assert section.keys() | {name for name, _ in commented} == RecordedSection.model_fields.keys()
    RecordedSection.model_validate(dict(commented))

    program = load_program("same_answers")
    fuzzy, measuring = program.others()["fuzzy match"], program.labelled_pairs("measuring")
    bound = program.bound_of(fuzzy, program.labelled_pairs("choosing"))
    for shown, compare in (
        ("now", program.ours),
        ("fuzzy match, from its best bound", lambda pair: fuzzy(pair) >= bound),
    ):
        row = program.line(shown, compare, measuring)
        figures = re.findall(r"\d+ of \d+, [\d.]+ %", row)
        assert f"| {shown} | {' | '.join(figures)} |" in PAGE


def test_the_cases_are_counted_as_the_page_says():
    text = (ROOT / "tests" / "results" / "recorded_cases.toml").read_text("utf-8")
    cases = tomllib.loads(text)["case"]
    assert [sum(key not in case for case in cases) for key in ("first", "still")] == [39, 48]


def test_the_program_runs(tmp_path, monkeypatch):
    write_logs(tmp_path / "shop.jsonl")
    monkeypatch.chdir(tmp_path)
    (program,) = blocks(PAGE, "python")
    exec(program, found := {})
    assert len(found["suite"].conversations) == 4


def test_the_figures_are_those_of_the_benchmark():
    """Names come from libraries: with another version of Faker than the page's they may differ a bit."""
    shown = printed("personal_data")
    rows = re.findall(r"^([a-z-]+) +(\d+) +(\d+) +\S+ +\d+ +(\S+)$", shown, re.MULTILINE)
    found = {kind: int(found) / int(items) for kind, items, found, _ in rows}
    assert len(found) == len(KINDS) + 1
    assert found["all"] >= 0.97
    (named,) = re.findall(r"Faker ([\d.]+\d)", PAGE)
    if version("faker") == named:
        measured = {kind: f"{found} of {items}, {precision}" for kind, items, found, precision in rows}
        traps = re.search(r"traps left alone: (\d+ of \d+)", shown)[1]
        table = re.findall(r"^\| ([a-z -]+) \| [^|]+ \| ([^|]+) \| [^|]+ \| [^|]+ \|$", PAGE, re.MULTILINE)
        assert dict(table[1:]) == measured | {"traps left alone": traps}
