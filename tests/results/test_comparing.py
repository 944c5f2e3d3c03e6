"""`replay.compare`, as a program writes it."""

from __future__ import annotations

import pandas as pd
import pytest

import replay
from replay.core.errors import InputError, RunError
from tests.cli.compared_runs import TALKS, TURNS, right_and_wrong


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return right_and_wrong(tmp_path_factory.mktemp("work"))


def test_the_frame_has_a_row_for_each_score_and_depth(folder):
    found = replay.compare(replay.Run(folder / "right"), folder / "wrong", by_depth=True, policy="pred")
    frame = found.to_frame()
    em = frame[frame["score"] == "em"]

    assert list(frame["score"].unique()) == ["em", "f1"]
    assert em["depth"].tolist() == [1, 2, 3, 4, pd.NA]
    assert em["difference"].tolist() == [0, -1, -1, -1, -0.75]
    assert em["turns"].tolist() == [TALKS] * TURNS + [TALKS * TURNS]
    assert em["p"].tolist() == [1, *[2 / 64] * 4]
    assert em["b"].tolist()[-1] == 0.25
    assert found.gate is None


def test_the_gate_names_what_is_worse(folder):
    found = replay.compare(folder / "right", folder / "wrong", policy="pred", metrics="em", fail_on="any")

    assert [(loss.score, str(loss.group)) for loss in found.gate.losses] == [("em", "s, pred")]
    assert not found.gate.holds


def test_two_policies_of_one_run(folder):
    frame = replay.compare(folder / "right", policies=("gold", "pred"), metrics=["f1"]).to_frame()

    assert frame[["policy_a", "policy_b", "difference"]].to_numpy().tolist() == [["gold", "pred", 0.0]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r'policies=\("gold", "pred"\)'),
        ({"policies": ("gold", "prde")}, 'no policy "prde"; did you mean "pred"'),
        ({"second": "right", "metrics": "f2"}, 'no score "f2"'),
        ({"second": "right", "alpha": 5}, "alpha 5: a number between 0 and 1"),
    ],
)
def test_what_cannot_be_compared_is_named(folder, monkeypatch, options, message):
    monkeypatch.chdir(folder)
    with pytest.raises(InputError, match=message):
        replay.compare("right", **options)


def test_a_folder_without_a_run_is_named(tmp_path):
    with pytest.raises(RunError, match="there is no run"):
        replay.compare(tmp_path / "nowhere", policies=("gold", "pred"))
