"""A study is found by its file, its folder and its database alike."""

from __future__ import annotations

import pytest

from replay.core.errors import InputError
from replay.study.running.start import find_study


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "study.yaml").write_text("name: x\n")
    (tmp_path / "study.db").write_bytes(b"SQLite format 3\0" + bytes(84))
    return tmp_path


def test_a_folder_its_file_and_its_database_are_one_study(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for path in (folder, folder / "study.yaml"):
        found = find_study(path)
        assert (found.file, found.database) == (folder / "study.yaml", folder / "study.db")
    assert find_study(folder / "study.db").database == folder / "study.db"
    assert find_study(folder / "study.db").file is None


def test_another_database_may_be_named_beside_a_study_file(folder):
    assert find_study(folder, folder / "b.db").database == folder / "b.db"
    assert find_study(folder / "study.yaml", folder / "b.db").database == folder / "b.db"


def test_a_folder_may_hold_its_database_alone(folder):
    (folder / "study.yaml").unlink()
    assert find_study(folder).file is None


@pytest.mark.parametrize(
    ("path", "db", "said"),
    [
        (".", None, "holds neither study.yaml nor study.db"),
        ("a.yaml", None, "`replay study init` writes a study file"),
        ("study.db", "b.db", "leave --db out"),
    ],
)
def test_what_is_no_study_is_told_with_the_next_step(folder, tmp_path_factory, path, db, said):
    where = tmp_path_factory.mktemp("empty") if path == "." else folder
    with pytest.raises(InputError, match=said):
        find_study(where / path, db and folder / db)
