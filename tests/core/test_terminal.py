from __future__ import annotations

import io
import json
import sys
import unicodedata
from contextlib import redirect_stderr, redirect_stdout

import pytest

from replay.core.terminal import GuardedStream, escape_unprintable, guard_streams, on_one_line, visible_json
from tests.data_tables import from_table


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("\x1b[2J", r"\x1b[2J"),
        ("\x9b2J", r"\x9b2J"),
        ("a\rb\x7f\x00", r"a\rb\x7f\x00"),
        ("\u202eevil\u2066\u200f", r"\u202eevil\u2066\u200f"),
        ("pay\u200bpal\ufeff\u00ad", r"pay\u200bpal\ufeff\xad"),
        ("\ud800", r"\ud800"),
        ("\u2028\x85\n\t", r"\u2028\x85\n\t"),
        ("\U000e0041", r"\U000e0041"),
        ("::add-mask::a", r"\x3a:add-mask::a"),
        ("word::Error file=a.py::b", r"word\x3a:Error file=a.py::b"),
        (" ::unknown-yet::b", r" \x3a:unknown-yet::b"),
        ("so##[set-output name=a]b", r"so\x23#[set-output name=a]b"),
        ("##vso[task.complete]", r"\x23#vso[task.complete]"),
        (":::warning::", r":\x3a:warning::"),
    ],
)
def test_what_cannot_be_seen_or_is_obeyed_is_written_out(hidden, shown):
    assert escape_unprintable(hidden) == shown


@from_table
def test_what_can_be_seen_stays(text):
    assert escape_unprintable(text) == text


def test_json_stays_json_and_what_it_says():
    said = {"::error::a": "##[group]\x1b\u202e é", "b": ["std::vector", "::warning file=a::b"]}
    shown = visible_json(json.dumps(said, ensure_ascii=False, indent=2))
    assert json.loads(shown) == said
    assert shown == escape_unprintable(shown, keep="\n")
    assert "é" in shown


def test_every_character_that_unicode_calls_control_or_format_is_made_visible():
    for kind in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        of_kind = [c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c) == kind]
        assert of_kind
        assert escape_unprintable("".join(of_kind)).isprintable()


def test_layout_can_be_kept():
    assert escape_unprintable("a\tb\n\x1b", keep="\n\t") == "a\tb\n\\x1b"
    assert on_one_line("a\n b\u2028c\x1b") == "a  b c\\x1b"


def test_whatever_python_prints_is_guarded():
    """Also what we have no hand in: tracebacks, warnings, prints of libraries."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        guard_streams()
        guard_streams()
        assert isinstance(sys.stdout, GuardedStream)
        print("a\x1b[2J", "b", flush=True)
        sys.stdout.writelines(["\x9b", "\n"])
        try:
            raise ValueError("\x1b]0;title\x07")
        except ValueError:
            sys.__excepthook__(*sys.exc_info())
    assert out.getvalue() == "a\\x1b[2J b\n\\x9b\n"
    assert err.getvalue().endswith("ValueError: \\x1b]0;title\\x07\n")


def test_a_stream_in_ascii_gets_escapes_and_ends_nothing():
    raw = io.BytesIO()
    with redirect_stdout(io.TextIOWrapper(raw, "ascii", write_through=True)):
        guard_streams()
        print("café")
        assert raw.getvalue() == b"caf\\xe9\n"
