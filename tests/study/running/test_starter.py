"""What `replay study init` writes, and that each of it is a study that works."""

from __future__ import annotations

import asyncio

import pytest
import yaml

from replay.core.errors import InputError
from replay.study.running import start
from replay.study.running.start import begin_study, starters, write_starter
from replay.study.running.study_file import PRESETS, Study, read_study
from tests.study.serving import served


def test_each_preset_has_a_starter():
    assert set(PRESETS) <= set(starters())


@pytest.mark.parametrize("preset", PRESETS)
async def test_each_starter_is_a_study_with_which_a_rater_can_begin(preset, quick_run, tmp_path, monkeypatch):
    """Of those that judge a run one plays it, as all of them do."""
    folder = tmp_path / "new" / "study"
    run = quick_run if preset in ("compare", "drift") else None
    if preset == "rating":
        monkeypatch.setattr(start, "_DATA", start._DATA[:1])
    written = await asyncio.to_thread(write_starter, preset, folder, run)
    assert all(path.exists() for path in written)
    begin_study(read_study(folder / "study.yaml"), folder / "study.db")
    async with served(folder / "study.db") as study, study.browser(study.rater_link(1)) as browser:
        assert browser.heading == "Before you begin"
        await browser.send("/rate/consent")
        await browser.send("/rate/begin")
        assert browser.status == 200
        assert browser.heading not in ("Done", "What to do")
        assert ("Practice, 1 of" in browser.html) == (folder / "practice.jsonl").exists()


@pytest.mark.parametrize("preset", starters())
def test_what_a_starter_shows_as_a_comment_are_keys_of_a_study(preset, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.db").touch()
    judges_run = preset in ("rating", "compare", "drift")
    write_starter(preset, tmp_path / "study", tmp_path / "run" if judges_run else None)
    text = (tmp_path / "study" / "study.yaml").read_text("utf-8")
    for line in text.splitlines():
        assert len(line) <= 110
        if line.startswith("# ") and ":" in line and (key := line[2:].split(":")[0]).isidentifier():
            assert key in Study.model_fields, line


def test_a_run_of_ones_own_is_judged_where_it_lies(quick_run, tmp_path):
    folder = tmp_path / "a b"
    write_starter("rating", folder, quick_run)
    assert sorted(path.name for path in folder.iterdir()) == ["practice.jsonl", "study.yaml"]
    (path,) = yaml.safe_load((folder / "study.yaml").read_text("utf-8"))["runs"]
    assert (folder / path).resolve() == quick_run.resolve()
    begin_study(read_study(folder / "study.yaml"), folder / "study.db")


@pytest.mark.parametrize("name", ["study.yaml", "practice.jsonl", "scenario.yaml", "runs/small"])
def test_nothing_that_is_there_is_written_over(tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match=rf'{name}" is there already; choose another folder'):
        write_starter("rating", tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / name]
    assert (tmp_path / name).read_text() == "mine"


def test_what_is_wrong_is_told_with_the_next_step(quick_run, tmp_path):
    with pytest.raises(InputError, match=r'"ratin" is not a preset; did you mean "rating"'):
        write_starter("ratin", tmp_path / "s")
    with pytest.raises(InputError, match="is not the folder of a run; `replay run` prints"):
        write_starter("rating", tmp_path / "s", tmp_path)
    with pytest.raises(InputError, match="in mahueval people talk with systems"):
        write_starter("mahueval", tmp_path / "s", quick_run)
    assert not (tmp_path / "s").exists()
