"""``replay plot`` as a user types it."""

from __future__ import annotations

from shutil import copytree

import pytest

from tests.cli.command import replay_cli
from tests.data_tables import from_table

MAGIC = {"pdf": b"%PDF", "svg": b"<?xml", "png": b"\x89PNG"}


@pytest.fixture(scope="module")
def folder(quick_run, tmp_path_factory):
    """The run, twice."""
    made = tmp_path_factory.mktemp("work")
    for name in ("one", "two"):
        copytree(quick_run, made / f"run-{name}")
    return made


@pytest.mark.parametrize(
    ("what", "kind"),
    [("depth", "pdf"), ("gap", "svg"), ("latency", "png"), ("agreement", "png")],
)
def test_every_picture_and_every_format_is_drawn(folder, what, kind):
    done = replay_cli(
        "plot",
        "run-one",
        "--what",
        what,
        "--resamples",
        "100",
        "--out",
        f"pictures/{what}.{kind}",
        cwd=folder,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"wrote pictures/{what}.{kind}\n"
    assert (folder / f"pictures/{what}.{kind}").read_bytes().startswith(MAGIC[kind])


def test_runs_policies_metrics_and_width_can_be_chosen(folder):
    chosen = ["--policy", "gold", "--policy", "pred", "--system", "extractive", "--metric", "em"]
    more = ["--metric", "rouge_l", "--width", "page", "--interval", "bca", "--resamples", "100"]
    done = replay_cli(
        "plot", "run-one", "run-two", "--what", "depth", *chosen, *more, "--out", "a.svg", cwd=folder
    )

    assert done.returncode == 0, done.stderr
    assert 'width="504' in (folder / "a.svg").read_text(), "7 inches of 72 points"


@from_table
def test_bad_usage_ends_with_2_and_a_message_and_no_traceback(folder, arguments, words):
    done = replay_cli("plot", *arguments, cwd=folder)

    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
