"""The shipped scenarios that talk to a program or a server, played against the ones shipped with them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from replay.runs.launch import run_async
from replay.scenario.shipped import find_scenario, shipped_folder

BOTS = shipped_folder() / "bots"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """``channels.py``, started as the scenarios say; its port."""
    process = subprocess.Popen(
        [sys.executable, "-B", str(BOTS / "channels.py"), "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip().rpartition(":")[2]
    finally:
        process.kill()
        process.communicate()


def _beside(name: str, folder: Path, **replaced: str) -> Path:
    """The shipped scenario *name* in *folder*, with two conversations and other words replaced."""
    text = find_scenario(name).read_text(encoding="utf-8")
    shutil.copy(shipped_folder() / "conversations" / "museum.jsonl", folder)
    text = text.replace("conversations/*.jsonl", "museum.jsonl\n  limit: 2")
    for old, new in replaced.items():
        assert old in text
        text = text.replace(old, new)
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


async def test_the_three_channels_are_the_same_bot_and_answer_every_question(
    server: str, tmp_path: Path
) -> None:
    answers = []
    for name in ("websocket", "rasa", "botframework"):
        run = await run_async(_beside(name, tmp_path, **{"8080": server}), runs=tmp_path / name)
        records = run.records()
        assert {record.policy for record in records} == {"pred", "rewrite", "augment"}
        assert {record.outcome for record in records} == {"answered"}
        answers.append({(r.policy, r.conversation, r.depth): (r.answer or "").strip() for r in records})

    assert answers[0] == answers[1] == answers[2]
    assert len(set(answers[0].values())) > 5


async def test_the_line_bot_answers_every_question(tmp_path: Path) -> None:
    scenario = _beside("command", tmp_path, **{"bots/line_bot.py": str(BOTS / "line_bot.py")})
    run = await run_async(scenario, runs=tmp_path / "runs")

    assert {record.outcome for record in run.records()} == {"answered"}
    assert run.depth_table(resamples=0)["f1"].max() > 0.3


def test_the_bots_start_nothing_and_reach_nothing_when_imported(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import line_bot, channels; print(line_bot.answer('Who?', [], []))"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(BOTS), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "CANNOTANSWER\n"
