"""Which files it takes to play a scenario elsewhere."""

from __future__ import annotations

import os
import sys

import pytest

from replay.core.errors import ScenarioError
from replay.workers.cluster.job_files import named_files
from tests.data_tables import from_table
from tests.scenario.keys import scenario


def written(folder, *empty, **modules):
    """Files of these paths that are *empty*; *modules* by name, with the code in them."""
    code = {f"{name}.py": text for name, text in modules.items()}
    for name, text in {**dict.fromkeys(empty, ""), **code}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def names(folder, **changes) -> list[str]:
    """The files that a scenario in *folder* needs, seen from there."""
    return [os.path.relpath(path, folder) for path in named_files(scenario(folder, **changes)).files]


def python(target: str):
    return {"adapter": "python", "settings": {"target": target}}


def test_a_scenario_of_installed_plug_ins_needs_no_file(tmp_path):
    (tmp_path / "scripted").write_text("called as an adapter is, which nobody means")
    assert names(tmp_path) == ["scripted"], "a file more does no harm"
    (tmp_path / "scripted").unlink()
    assert names(tmp_path) == []


def test_conversations_answers_kept_and_files_of_judges_stay(tmp_path):
    written(tmp_path, "length.py", "prices.txt", "ask.txt")
    more = {
        "scorers": ["length.py:Length"],
        "judges": [{"geval": {"prompt": "ask.txt", "adapter": "scripted"}}],
    }
    assert names(tmp_path, **more) == []
    assert names(tmp_path, load={"turns": 1}, **more) == [], "nor does a load's"


@from_table
def test_what_settings_name_is_needed(tmp_path, changes, expected):
    folder = tmp_path / "here"
    written(
        folder,
        "bot.py",
        "code/bot.py",
        "own.py",
        "answers.txt",
        "ask.txt",
        "prices.txt",
        "model/a/w.txt",
    )
    written(tmp_path, "shared/answers.txt")
    (folder / "model" / ".git").mkdir()
    (folder / "model" / ".git" / "config").write_text("")
    (folder / "model" / "runs").mkdir()
    (folder / "model" / "runs" / "run.db").write_text("")
    assert names(folder, **changes) == expected


def test_an_absolute_path_is_each_machine_s_own(tmp_path):
    written(tmp_path, "bot.py")
    assert names(tmp_path, system=python(f"{tmp_path}/bot.py:answer")) == []


def test_code_brings_what_it_imports(tmp_path, monkeypatch):
    """One through another, however it is written; nothing that is installed, and nothing that is ours."""
    lib = tmp_path / "lib"
    monkeypatch.setattr(sys, "path", [str(lib), *sys.path])
    here = tmp_path / "here"
    written(
        here,
        "unused.py",
        bot="import json, pytest, replay\nfrom helpers.words import word as w\nimport plain",
    )
    written(lib, "helpers/__init__.py", "helpers/more.py", "helpers/unused.py", "helpers/deep/__init__.py")
    written(lib, "helpers/other.py", "late.py", plain="import bot_of_nobody, plain")
    written(
        lib / "helpers", words="from . import more\nfrom .deep.down import x\n\ndef f():\n    import late"
    )
    written(lib / "helpers" / "deep", down="from ..other import y")
    found = named_files(scenario(here, system=python("bot.py:answer")))
    assert [os.path.relpath(path, tmp_path) for path in found.files] == [
        "here/bot.py",
        "lib/helpers/__init__.py",
        "lib/helpers/deep/__init__.py",
        "lib/helpers/deep/down.py",
        "lib/helpers/more.py",
        "lib/helpers/other.py",
        "lib/helpers/words.py",
        "lib/late.py",
        "lib/plain.py",
    ]
    assert found.search == (lib,)
    again = named_files(scenario(here, system=python("helpers.words:word")))
    assert lib / "helpers" / "words.py" in again.files
    assert here / "bot.py" not in again.files


def test_a_program_s_neighbours_are_found_without_a_search_path(tmp_path):
    written(tmp_path, "beside.py", bot="import beside")
    found = names(tmp_path, system={"adapter": "command", "settings": {"command": ["python", "bot.py"]}})
    assert found == ["beside.py", "bot.py"]


def test_code_that_is_no_python_is_left_to_whoever_runs_it(tmp_path):
    written(tmp_path, bot="def (")
    assert names(tmp_path, system=python("bot.py:answer")) == ["bot.py"]


def test_what_isn_t_there_is_said_where_it_is_asked_for(tmp_path):
    written(tmp_path, "a.txt")
    with pytest.raises(ScenarioError, match=r'cluster\.files\[1\] +"\*\.csv" names no file in'):
        names(tmp_path, cluster={"files": ["*.txt", "*.csv"]})
