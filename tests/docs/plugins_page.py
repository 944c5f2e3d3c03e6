"""The files that docs/plugins.md shows, and a folder where they are in use."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.shown_output import page

PAGE = page("plugins")
FILES = {
    block.splitlines()[0].removeprefix("# "): block
    for block in re.findall(r"```(?:python|yaml|toml)\n(.*?)```", PAGE, re.DOTALL)
}
"""By the name in their first line."""
TESTS = [name for name in FILES if name.startswith("test_")]
TALKS = """\
# album
Q: Who sang Stone Garden?
A: Alice Okafor sang it.
Q: Where was she born?
A: In Port Ellis.
"""


def write_files(folder: Path, *names: str) -> None:
    """Write those files of the page, all if none is named."""
    folder.mkdir(exist_ok=True)
    for name in names or FILES:
        (folder / name).write_text(FILES[name], "utf-8")
