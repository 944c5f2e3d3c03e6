"""
Objects of a type, decoded in several threads at once.

JSON values compared as such.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from replay.core.decoding import holds_json, same_json
from tests.data_tables import from_table

CHECKOUT = Path(__file__).parents[2]
AT_ONCE = """
import sys
from threading import Barrier, Thread

import msgspec

from replay.core.decoding import convert_to, decode_as, decoder_of

sys.setswitchinterval(1e-6)
fields = [(f"field{n}", dict[str, list[int]] | None, None) for n in range(20)]
kinds = [
    msgspec.defstruct(f"Outer{n}", [("inner", msgspec.defstruct(f"Inner{n}", fields))]) for n in range(300)
]
together, wrong = Barrier(4), []

def decode():
    for kind in kinds:
        together.wait()
        if HOW.inner.field7 != {"a": [1]}:
            wrong.append(kind)

threads = [Thread(target=decode) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not wrong
"""
JSON = """'{"inner": {"field7": {"a": [1]}}}'"""


@from_table
def test_threads_that_decode_the_first_of_a_kind_at_once_all_have_it(how):
    """By msgspec itself they end the process, at one of these kinds or another."""
    ended = subprocess.run([sys.executable, "-c", AT_ONCE.replace("HOW", how)], check=False, cwd=CHECKOUT)
    assert ended.returncode == 0


def test_nobody_else_lets_msgspec_work_out_a_kind():
    """Adapters do with kinds of their own, and while they are imported, which one thread does."""
    around = re.compile(r"msgspec\.(?:convert\(|(?:json\.)?decode\(.*\btype=|json\.Decoder\((?!\)|Any\)))")
    found = [
        f"{path.relative_to(CHECKOUT)}: {line.strip()}"
        for folder in ("replay", "adapters")
        for path in (CHECKOUT / folder).rglob("*.py")
        if path.name != "decoding.py"
        for line in path.read_text("utf-8").splitlines()
        if around.search(line) and not (folder == "adapters" and re.match(r"_\w+ = ", line))
    ]
    assert found == [], "take replay/core/decoding.py"


@from_table
def test_values_are_the_same_or_hold_another_as_json_has_them(whole, part, same, holds):
    assert (same_json(whole, part), holds_json(whole, part)) == (same, holds)
