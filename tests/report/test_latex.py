"""Reports as LaTeX: environments are balanced, rows have a cell for each column, and names mean nothing."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from replay.report.latex import SPECIAL, escape_latex, latex_report
from tests.cli.command import replay_cli
from tests.report.sample_report import report
from tests.report.test_markdown import HOSTILE, hostile_report

MEANT = {written: character for character, written in SPECIAL.items()}
TOKEN = re.compile(r"\\text[a-z]+\{\}|\\[&%$#_{}]|.", re.DOTALL)


def read(text: str) -> str:
    """Return what TeX sets for *text*, an output of ours; fail where a character would mean something."""
    found = ""
    for token in TOKEN.findall(text):
        assert token in MEANT or token not in '\\&%$#_{}~^<>|"', f"{token!r} in {text!r}"
        found += MEANT.get(token, token)
    return found


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_every_character_is_set_as_it_is(text):
    assert read(escape_latex(text)) == text


def tables(text: str) -> list[str]:
    """Return the tabulars of *text*; fail unless all environments and braces are balanced."""
    text = "\n".join(line for line in text.split("\n") if not line.startswith("%"))
    opened: list[str] = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if kind == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert opened == []
    plain = re.sub(r"\\[{}]", "", text)
    assert plain.count("{") == plain.count("}")
    return re.findall(r"\\begin\{tabular\}.*?\\end\{tabular\}", text, re.DOTALL)


def rows(table: str) -> list[list[str]]:
    lines = [line.strip().removesuffix(r" \\") for line in table.split("\n") if line.endswith(r" \\")]
    return [re.split(r"(?<!\\)&", line) for line in lines]


def is_sound(text: str) -> bool:
    """Whether each table has one cell a column, and exactly the rules that it should."""
    for table in tables(text):
        columns = re.search(r"\{tabular\}\{([lr]+)\}", table)
        assert columns is not None
        assert {len(row) for row in rows(table)} == {len(columns[1])}
        assert [table.count(f"\\{rule}rule") for rule in ("top", "bottom")] == [1, 1]
    return bool(tables(text))


def test_a_reports_tables_are_there_with_their_captions_and_labels():
    text = latex_report(report(), title="my first_run")
    assert is_sound(text)
    captions = re.findall(r"\\caption\{(.*)\}", text)
    assert captions[0] == "All depths"
    assert captions[1].startswith("Against gold")
    assert len([one for one in captions if one.startswith("By depth: ")]) == 4
    labels = re.findall(r"\\label\{(.*)\}", text)
    assert labels == [f"tab:my-first-run-{number}" for number in range(1, len(captions) + 1)]
    depths = tables(text)[2]
    assert re.search(r"\\midrule\n    all & [^\n]*\n    \\bottomrule", depths), "totals are set apart"
    assert not re.search("[▁-█]", text), "no bars, for which TeX has no characters"


def test_what_is_to_be_known_stands_beside_the_tables_as_comments():
    comments = [line for line in latex_report(report(), title="x").split("\n") if line.startswith("%")]
    assert any("95 % interval" in line for line in comments)
    assert "% rewrite: policy:rewrite|coref:embedded-1|window:2|convreplay:0.1.0" in comments


def test_a_minus_is_one_and_a_hyphen_in_a_name_stays():
    text = "".join(tables(latex_report(report(), title="x")))
    assert "$-$" in text
    assert not re.search(r"[ \[]-[0-9]", text)


@pytest.mark.parametrize("name", HOSTILE)
def test_names_make_nothing_happen(name):
    usual, text = (latex_report(hostile_report(one), title=one) for one in ("plain", name))
    assert is_sound(text)
    assert [len(rows(table)) for table in tables(text)] == [len(rows(table)) for table in tables(usual)]
    shown = tables(text)[0]
    cells = [cell.strip().removeprefix("{}").replace("$-$", "-") for row in rows(shown)[1:] for cell in row]
    for cell in cells:
        read(cell)


def test_only_one_format_is_printed(tmp_path):
    done = replay_cli("report", "--latex", "--json", cwd=tmp_path)
    assert done.returncode == 2
    assert "--json and --latex: say which one to print" in done.stderr
