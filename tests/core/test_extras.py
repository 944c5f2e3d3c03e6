"""What comes with an extra, and the sentence where it is missing."""

from __future__ import annotations

import json

import pytest

from replay.core.errors import PluginError
from replay.core.extras import check_extra, extra_module


def test_what_is_there_is_imported():
    assert extra_module("json", "neural", "a test") is json
    check_extra(("json", "math"), "neural", "a test")


def test_what_is_missing_is_named_by_its_package(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "bs4", None)
    with pytest.raises(PluginError) as raised:
        extra_module("bs4", "synthesis", "reading documents", otherwise="or use Markdown")
    assert str(raised.value) == (
        "reading documents needs beautifulsoup4, which is not installed; "
        'try pip install "convreplay[synthesis]", or use Markdown'
    )
    with pytest.raises(PluginError, match=r"a test needs no_such_module, .*convreplay\[neural\]"):
        check_extra(("json", "no_such_module"), "neural", "a test")


def test_what_is_there_and_broken_is_told_so(tmp_path, monkeypatch):
    (tmp_path / "half_a_module.py").write_text("from json import no_such_name\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PluginError, match=r"can't be imported \(cannot import name 'no_such_name'"):
        extra_module("half_a_module", "neural", "a test")
