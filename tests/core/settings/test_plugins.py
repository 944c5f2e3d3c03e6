"""
Finding plug-ins and checking their settings against their own annotations.

Parameters of callables whose annotations can't be read.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from replay.core.errors import PluginError, PluginNotFoundError, ResolverError, ScenarioError
from replay.core.settings.plugin_bugs import signature_of
from replay.core.settings.plugins import KINDS, available, build, load, load_object
from replay_adapters.local.python import ARGUMENTS, _accepted_names
from tests.data_tables import from_table

pytestmark = pytest.mark.usefixtures("code_runs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    text: str
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    kind: Literal["fast", "slow"]
    number: int = 3
    names: list[str] = field(default_factory=list)
    place: Path | None = None
    folder: Path | None = None
    several: Literal["all"] | list[str | Inner] | dict[str, int] = "all"
    extra: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.number < 0:
            raise ValueError("number: -1 is below 0")


def fault(settings, **more) -> tuple[str, str]:
    with pytest.raises(ScenarioError) as caught:
        build(Plugin, settings, folder=Path("/base"), key_path="systems[0].settings", **more)
    (found,) = caught.value.faults
    return found.path, found.message


def test_settings_become_keyword_arguments():
    made = build(Plugin, {"kind": "fast", "names": ["a"], "place": "x/y"}, folder=Path("/base"))
    assert made == Plugin(kind="fast", names=["a"], place=Path("/base/x/y"), folder=Path("/base"))


def test_a_misspelt_setting_is_named_with_the_nearest_one():
    path, message = fault({"kind": "fast", "numbr": 1})
    assert path == "systems[0].settings.numbr"
    assert 'did you mean "number"?' in message


@from_table
def test_a_wrong_setting_is_named_with_what_was_found(settings, path, words):
    found_path, message = fault(settings)
    assert found_path == f"systems[0].settings.{path}"
    assert words in message


def test_what_the_plugin_itself_objects_to_is_a_fault_too():
    assert fault({"kind": "fast", "number": -1}) == ("systems[0].settings", "number: -1 is below 0")


def test_what_a_plugin_says_in_our_own_errors_comes_through():
    def factory() -> None:
        raise ResolverError("no weights")

    with pytest.raises(ResolverError, match=r"^no weights$"):
        build(factory, {}, folder=Path())


def test_what_we_provide_is_not_a_setting():
    def factory(detector: object, always: bool = False) -> tuple[object, bool]:
        return detector, always

    assert build(factory, {"always": True}, provided={"detector": "d"}, folder=Path()) == ("d", True)
    with pytest.raises(ScenarioError, match="detector"):
        build(factory, {"detector": "mine"}, provided={"detector": "d"}, folder=Path())


def test_every_built_in_plugin_can_be_loaded():
    for kind in KINDS:
        assert available(kind)
        for name in available(kind):
            assert callable(load(kind, name, Path()))


def test_an_unknown_name_lists_what_is_known():
    with pytest.raises(PluginNotFoundError, match=r'did you mean "rewrite"\?.*gold'):
        load("policies", "rewritte", Path())


def test_objects_are_found_in_files_and_modules(tmp_path):
    (tmp_path / "mine.py").write_text("class A:\n    inner = 7\n")
    assert load_object("mine.py:A.inner", tmp_path) == 7
    assert load_object("replay.core.history:Exchange", tmp_path).__name__ == "Exchange"


def test_a_dataclass_has_the_settings_of_its_bases_too(tmp_path):
    """Whose annotations name what only their own modules import."""
    (tmp_path / "mine.py").write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "from replay.scorers.judges.yes_no import CorrectnessJudge\n"
        "@dataclass(kw_only=True)\n"
        "class Mine(CorrectnessJudge):\n"
        "    more: int = 1\n"
    )
    (tmp_path / "own.txt").write_text("{{ predicted }}?")
    settings = {"prompt": "own.txt", "more": 2}
    made = build(load_object("mine.py:Mine", tmp_path), settings, folder=tmp_path)
    assert (made.more, made.prompt) == (2, tmp_path / "own.txt")


@pytest.mark.parametrize(
    ("target", "kind", "words"),
    [
        ("none.py:f", PluginNotFoundError, "there is no file"),
        ("no_such_module:f", PluginNotFoundError, "there is no module"),
        ("mine.py:Answr", PluginNotFoundError, 'did you mean "Answer"'),
        ("broken.py:f", PluginError, "ZeroDivisionError"),
        ("needy.py:f", PluginError, "no_such_dependency"),
    ],
)
def test_what_can_not_be_imported_says_why(tmp_path, target, kind, words):
    (tmp_path / "mine.py").write_text("class Answer: ...\n")
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "needy.py").write_text("import no_such_dependency\n")
    with pytest.raises(kind, match=words):
        load_object(target, tmp_path)


LAZY = "async def answer(question, more: OnlyForTypeCheckers = None): return question"


@pytest.mark.skipif(sys.version_info < (3, 14), reason="the definition itself fails")
def test_an_annotation_of_what_is_not_there_hides_no_parameter() -> None:
    names: dict[str, Any] = {}
    exec(compile(LAZY, "mine.py", "exec", dont_inherit=True), names)

    assert list(signature_of(names["answer"]).parameters) == ["question", "more"]
    assert _accepted_names(names["answer"], ARGUMENTS, "mine.py:answer") == ("question",)


def test_a_signature_has_the_parameters() -> None:
    def answer(question: str, depth: int = 1) -> str:
        return question * depth

    assert list(signature_of(answer).parameters) == ["question", "depth"]
