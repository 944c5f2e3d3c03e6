"""What docs/statistics.md shows of repeats comes out as it stands there."""

from __future__ import annotations

import re

from tests.cli.command import replay_cli
from tests.docs.shown_output import page

PAGE = page("statistics")


def test_the_example_of_repeats(tmp_path):
    section = PAGE.partition("## Several plays of a conversation\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```\w+\n(.*?)```", section, re.DOTALL)
    files = {found[1]: block for block in blocks if (found := re.match(r"# (\S+\.\w+)\n", block))}
    assert files.keys() == {"bot.py", "repeated.yaml", "talks.csv"}
    for name, text in files.items():
        (tmp_path / name).write_text(text.partition("\n")[2] if name == "talks.csv" else text)
    done = replay_cli("run", "repeated.yaml", cwd=tmp_path)
    assert done.returncode == 100, done.stderr
    shown = [block for block in blocks if block not in files.values()]
    assert len(shown) == 2
    for block in shown:
        assert block in done.stdout
