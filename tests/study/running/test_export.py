"""A study's export, read by those who read runs, tables and conversations."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from zlib import crc32

import pandas as pd
import pytest

from replay.cli import app
from replay.core.errors import InputError
from replay.report.export import report_json
from replay.results.run import Run
from replay.study.running.export import export_study
from replay.study.store import StudyStore
from tests.study.presets.people import POLICIES, SYSTEMS, animal_run, work
from tests.study.serving import begun, served

RATERS = "raters: [Ann Lee, Ben Roy]\nconsent: {text: I agree., version: '7'}\n"
FILES = "README.txt judgements.csv lock raters.csv ratings.csv results.json run.db study.yaml"


def as_rater(rater):
    """What a rater says: one thing and another, as the screens differ."""

    def says(heading, text):
        return {"rating": str(crc32(f"{rater}{text}".encode()) % 2), "comment": 'She said: "no"'}

    return says


async def rate(database, raters=(1, 2)):
    async with served(database) as study:
        for rater in raters:
            async with study.browser(study.rater_link(rater)) as browser:
                await browser.send("/rate/consent")
            await work(study, rater, as_rater(rater))
        secrets = [study.pages.access.owner_token, study.store.fact("secret")]
        return [*secrets, *(study.pages.access.rater_token(rater) for rater in raters)]


@pytest.fixture(scope="module")
def rated(quick_run, tmp_path_factory):
    """The database of a study of one run that two people have finished, and what no file may hold."""
    folder = tmp_path_factory.mktemp("rated")
    shutil.copytree(quick_run, folder / "quick")
    text = f"name: Covers gold?\npreset: {{rating: {{answers: 12}}}}\nruns: [quick]\n{RATERS}"
    database = begun(text, folder)
    return database, asyncio.run(rate(database))


@pytest.fixture(scope="module")
def exported(rated, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exports") / "out"
    export_study(rated[0], folder, resamples=50)
    return folder


def numbers_in(folder):
    return json.loads((folder / "results.json").read_text())


def test_a_study_of_a_run_gives_that_run_with_peoples_scores_beside_its_own(exported, quick_run):
    run = Run(exported)
    before = Run(quick_run)

    assert run.records() == before.records()
    assert list(run.scorers()) == [*before.scorers(), "human_rating"]
    frame = run.depth_table(resamples=0)
    every = frame[frame.depth.isna()]
    assert every.human_rating_scored.sum() == 12
    assert every.f1.tolist() == before.depth_table(resamples=0).query("depth.isna()").f1.tolist()
    assert sorted(path.name for path in exported.iterdir()) == FILES.split()
    # The run that was judged stays as it was.
    assert "human_rating" not in before.scorers()


def test_peoples_numbers_go_the_whole_way_to_the_report(exported):
    """The mean of the run's column is that of the judgements as they were clicked."""
    judged = pd.read_csv(exported / "judgements.csv")
    by_turn = judged.groupby(["conversation", "policy", "depth"]).value.mean()
    frame = Run(exported).turns()
    scored = frame[frame.human_rating.notna()]

    assert by_turn.mean() == pytest.approx(scored.human_rating.mean())
    people = report_json(Run(exported).report(resamples=0))["people"]
    assert people == {
        k: v for k, v in json.loads((exported / "results.json").read_text()).items() if k in people
    }
    assert people["raters"] == 2


def test_tables_are_read_by_pandas_and_hold_what_was_said(exported):
    judged, raters = (pd.read_csv(exported / f"{name}.csv") for name in ("judgements", "raters"))

    assert len(judged) == 24
    assert set(judged.rater) == {"Ann Lee", "Ben Roy"}
    assert set(judged.comment) == {'She said: "no"'}
    assert judged.seconds.ge(0).all()
    assert pd.to_datetime(judged["at"], utc=True).notna().all()
    assert raters.consent_version.tolist() == [7, 7]
    assert raters.done.tolist() == [12, 12]


def test_replay_agree_reads_the_ratings_of_every_rater(exported, capsys):
    ratings = str(exported / "ratings.csv")
    with pytest.raises(SystemExit) as ended:
        app(["agree", str(exported), ratings, "--score", "f1", "--scale", "nominal", "--json"])

    found = json.loads(capsys.readouterr().out)
    assert ended.value.code == 0
    (agreement,) = found["agreement"]
    assert (agreement["score"], agreement["criterion"], agreement["items"]) == ("f1", "human_rating", 12)
    (theirs,) = found["raters"]["criteria"].values()
    ours = numbers_in(exported)["details"]["agreement"]["human_rating"]
    assert theirs["rows"][-1]["cohen_kappa"]["value"] == ours["rows"][-1]["cohen_kappa"]["value"] < 1


def test_what_reads_runs_reads_the_export(exported, tmp_path, capsys):
    for command in (
        ["report", str(exported), "--resamples", "0", "--html", str(tmp_path / "page.html")],
        ["compare", str(exported), str(exported)],
        ["export", str(exported), "--out", str(tmp_path / "turns.csv")],
        ["score", str(exported)],
    ):
        with pytest.raises(SystemExit) as ended:
            app(command)
        assert ended.value.code == 0, capsys.readouterr().err
    assert pd.read_csv(tmp_path / "turns.csv").human_rating.notna().sum() == 12


def test_no_file_opens_a_page_of_the_study(rated, exported):
    _, secrets = rated
    held = b"".join(path.read_bytes() for path in exported.iterdir())
    assert not [secret for secret in secrets if secret.encode() in held]


def test_pseudonyms_are_everywhere_and_stay_the_same(rated, tmp_path):
    for name in ("one", "two"):
        export_study(rated[0], tmp_path / name, with_pseudonyms=True, resamples=0)

    one, two = (pd.read_csv(tmp_path / name / "ratings.csv") for name in ("one", "two"))
    assert set(one.rater) == set(two.rater)
    assert len(set(one.rater)) == 2
    held = b"".join(path.read_bytes() for path in (tmp_path / "one").iterdir())
    assert b"Ann Lee" not in held
    assert b"Ben Roy" not in held


def test_a_setting_that_names_a_rater_names_none_in_the_export(quick_run, tmp_path):
    shutil.copytree(quick_run, tmp_path / "quick")
    adjudicating = "raters: 1, adjudicate: true, adjudicator: Ann Lee"
    text = f"name: x\npreset: {{rating: {{answers: 2, {adjudicating}}}}}\nruns: [quick]\n{RATERS}"
    database = begun(text, tmp_path)
    asyncio.run(rate(database, raters=(2,)))

    export_study(database, tmp_path / "out", with_pseudonyms=True, resamples=0)

    held = b"".join(path.read_bytes() for path in (tmp_path / "out").iterdir())
    assert b"Ann Lee" not in held
    assert b"adjudicator: 1" in held


def test_who_withdrew_is_nowhere(rated, tmp_path):
    shutil.copytree(rated[0].parent, tmp_path / "study")
    database = tmp_path / "study" / "study.db"
    store = StudyStore(database, write=True)
    store.erase_rater(1)
    store.close()

    export_study(database, tmp_path / "out", resamples=0)

    assert set(pd.read_csv(tmp_path / "out" / "judgements.csv").rater) == {"Ben Roy"}
    assert pd.read_csv(tmp_path / "out" / "raters.csv").rater.tolist() == ["Ben Roy"]
    held = b"".join(path.read_bytes() for path in (tmp_path / "out").iterdir())
    assert b"Ann Lee" not in held
    assert b"withdrawn-1" not in held


def test_several_runs_become_one_with_all_their_scores(tmp_path):
    """Both systems are called alike, so that the study calls them by their runs."""
    small = {"policies": POLICIES[:2], "conversations": 1}
    first = animal_run(tmp_path, systems=SYSTEMS[:1], name="before", **small)
    second = [{**SYSTEMS[1], "name": "zebra"}]
    animal_run(tmp_path, systems=second, name="after", **small)
    text = f"name: two\npreset: {{rating: {{answers: 8}}}}\nruns: [before, after]\n{RATERS}"
    database = begun(text, tmp_path)
    asyncio.run(rate(database))

    export_study(database, tmp_path / "out", resamples=0)

    run = Run(tmp_path / "out")
    frame = run.depth_table(resamples=0).query("depth.isna()").set_index(["system", "policy"])
    whole = Run(first).depth_table(resamples=0).query("depth.isna()").set_index(["system", "policy"])
    assert sorted(frame.index.unique("system")) == ["zebra (after)", "zebra (before)"]
    assert frame.f1["zebra (before)", "ferret"] == whole.f1["zebra", "ferret"]
    assert frame.turns["zebra (before)", "ferret"] == whole.turns["zebra", "ferret"]
    assert frame.human_rating_scored.sum() == 8
    titles = [table.title for table in run.report(resamples=0).people.tables]
    assert "Systems as people and as scores rank them" in titles
    assert [one.name for one in run.scenario().scenario.systems] == ["zebra (before)", "zebra (after)"]


def test_judgements_outlive_their_run(rated, tmp_path):
    shutil.copytree(rated[0].parent, tmp_path / "moved")
    database = tmp_path / "moved" / "study.db"
    with sqlite3.connect(database) as connection:
        (kept,) = connection.execute("SELECT value FROM study WHERE key = 'file'").fetchone()
        gone = json.dumps({**json.loads(kept), "folder": str(tmp_path)})
        connection.execute("UPDATE study SET value = ? WHERE key = 'file'", [gone])

    exported = export_study(database, tmp_path / "out", resamples=0)

    assert len(pd.read_csv(tmp_path / "out" / "judgements.csv")) == 24
    assert not (tmp_path / "out" / "run.db").exists()
    assert any("quick" in remark for remark in exported.remarks)


def test_a_folder_that_is_there_stays_as_it_is_and_a_failure_leaves_nothing_behind(
    rated, tmp_path, monkeypatch
):
    (tmp_path / "kept.txt").write_text("mine")
    with pytest.raises(InputError, match="is there already"):
        export_study(rated[0], tmp_path)
    monkeypatch.setattr("replay.study.running.export.write_csv", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        export_study(rated[0], tmp_path / "out", resamples=0)
    assert [path.name for path in tmp_path.iterdir()] == ["kept.txt"]


def test_a_scale_of_points_is_no_share_though_its_lowest_alone_were_chosen(quick_run, tmp_path):
    shutil.copytree(quick_run, tmp_path / "quick")
    scale = "criteria: {rating: {question: How good is it, scale: {0: bad, 1: fair, 2: good}}}"
    text = f"name: x\npreset: {{rating: {{answers: 2, {scale}}}}}\nruns: [quick]\n{RATERS}"
    database = begun(text, tmp_path)
    asyncio.run(rate(database))

    export_study(database, tmp_path / "out", resamples=0)

    assert numbers_in(tmp_path / "out")["scores"]["human_rating"]["unit"] == ""
