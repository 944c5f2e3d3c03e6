"""
Writes the golden files of numbers anew: ``python -m tests.golden.write``.

What moved under the version that it had is not written; the version has to be raised first.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from tests.golden.golden_file import FOLDER, Golden, kept, path_of, silent, told
from tests.golden.shipped_numbers import FILES, content


def write(name: str, now: Golden, raise_what: Mapping[str, str]) -> bool:
    """Write the file called *name*; False where something moved silently, which is told on stderr instead."""
    changes = silent(kept(name), now)
    if changes:
        print(told(name, changes, raise_what), file=sys.stderr)
        return False
    FOLDER.mkdir(exist_ok=True)
    path_of(name).write_text(now.written(), "utf-8")
    return True


def main() -> int:
    if not write("answers", *content("answers")):  # what all others are about
        return 1
    written = [write(name, *content(name)) for name in FILES]
    return 0 if all(written) else 1


if __name__ == "__main__":
    sys.exit(main())
