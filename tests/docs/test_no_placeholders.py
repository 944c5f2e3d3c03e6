"""Nothing on a page waits to be filled in, and figures that stand in two places are the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted(ROOT.glob("docs/**/*.md")),
]
PLACEHOLDER = re.compile(
    r"\b(?:TODO|FIXME|TBD|TBC|TKTK?|XXX+)\b|\b[A-Z]+_(?:TABLE|FIGURES?|NUMBERS?|RESULTS?|HERE)\b|\?\?\?"
    r"|^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$|(?i:lorem ipsum|to be (?:written|filled in|measured))",
    re.MULTILINE,
)
"""Words that somebody leaves for later; also a name in capitals that has a line to itself."""
README, *PAGES_WITH_FIGURES = (
    (ROOT / name).read_text("utf-8")
    for name in ("README.md", "docs/performance.md", "docs/reliability.md", "docs/drift-measurements.md")
)
PERFORMANCE, RELIABILITY, DRIFT = PAGES_WITH_FIGURES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_waits_to_be_filled_in(page):
    assert PLACEHOLDER.findall(page.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "text", ["| a |\nKILLS_TABLE\n", "costs XXX a turn", "see TODO", "a\nSOME_ROWS\nb", "???"]
)
def test_what_was_left_for_later_is_found(text):
    assert PLACEHOLDER.search(text)


def rows(page: str) -> dict[str, list[str]]:
    """Every table's rows by their first cell; of rows called alike, the first."""
    found: dict[str, list[str]] = {}
    for line in re.findall(r"^\| (.+) \|$", page, re.MULTILINE):
        name, *cells = line.split(" | ")
        found.setdefault(name.strip(), cells)
    return found


def test_the_readme_has_the_figures_of_the_pages_that_measure():
    table = rows(PERFORMANCE)
    share, *_ = table["convreplay pred (no drift)"][1].split()
    assert f"{share} of what a bare aiohttp loop" in README
    *_, precision, recall, _ = rows(DRIFT)["all"]
    found = re.search(r"calls changed (\d+) % were, and of those that had changed it finds (\d+) %", README)
    assert found is not None
    assert found.groups() == (f"{float(precision):.0f}", f"{float(recall):.0f}")


def test_the_kills_add_up():
    counts = {n: cells for n, cells in rows(RELIABILITY).items() if re.fullmatch(r"[\d, ]+", " ".join(cells))}
    table = {name: [int(cell.replace(",", "")) for cell in cells] for name, cells in counts.items()}
    parts = ("killed while asking", "killed while scoring or reporting", "killed before there was a run")
    assert [sum(of) for of in zip(*(table[part] for part in parts), strict=True)] == table["kills"]
    kills, runs, turns = (sum(table[name]) for name in ("kills", "runs", "turns"))
    assert f"{kills} kills of {runs} runs with {turns:,} turns" in RELIABILITY
    for name in ("durable turns asked again", "turns missing or twice", "turns unlike undisturbed"):
        assert table[name] == [0, 0]
