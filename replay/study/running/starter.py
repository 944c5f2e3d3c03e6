"""Studies to start from: a commented study file, and small data with which it works at once."""

from __future__ import annotations

import json
import os
from pathlib import Path

from replay.core.errors import InputError, writing
from replay.core.settings.faults import nearest
from replay.runs.launch import run as play
from replay.scenario.reading import read_scenario
from replay.scenario.shipped import shipped_folder

FOLDER = Path(__file__).resolve().parents[1] / "starter"
STUDY = "study.yaml"
_MADE_RUN = "runs/small"
_DATA = ("museum", "music")


def starters() -> list[str]:
    """Return the presets that a study can be started with, sorted."""
    parts = ("common", "scenario", "talks", "wording_scenario")
    return sorted(path.stem for path in FOLDER.glob("*.yaml") if path.stem not in parts)


def write_starter(preset: str, folder: Path, run: Path | None = None) -> list[Path]:
    """
    Write a study of *preset* into *folder*; returns what was written.

    A preset that judges runs gets *run*, a run's folder; without one, a small run is played with the
    embedded system.

    Raises:
        InputError: there is no such preset, a file is there already, *run* is no run's folder or of no use,
            or nothing can be written.
    """
    known = starters()
    if preset not in known:
        raise InputError(f'"{preset}" is not a preset{nearest(preset, known)} (there are {", ".join(known)})')
    text = (FOLDER / f"{preset}.yaml").read_text("utf-8")
    judges_run = _MADE_RUN in text
    if run is not None:
        if not judges_run:
            raise InputError(f"--run: has no use; in {preset} people talk with systems, and judge no run")
        if not (run / "run.db").is_file():
            raise InputError(
                f'--run: "{run}" is not the folder of a run; `replay run` prints its runs\' folders'
            )
        relative = Path(os.path.relpath(run.resolve(), folder.resolve())).as_posix()
        text = text.replace(_MADE_RUN, json.dumps(relative))
    own_scenario = FOLDER / f"{preset}_scenario.yaml"
    parts = ["common"] if judges_run or own_scenario.exists() else ["talks", "common"]
    files = {STUDY: text + "".join((FOLDER / f"{part}.yaml").read_text("utf-8") for part in parts)}
    if own_scenario.exists():
        files["scenario.yaml"] = own_scenario.read_text("utf-8")
    practice = FOLDER / f"{preset}.jsonl"
    if practice.exists():
        files["practice.jsonl"] = practice.read_text("utf-8")
    if run is None:
        conversations = shipped_folder() / "conversations"
        files["conversations.jsonl"] = "".join(
            (conversations / f"{name}.jsonl").read_text("utf-8") for name in _DATA
        )
    plays = judges_run and run is None
    if plays:
        files["scenario.yaml"] = (FOLDER / "scenario.yaml").read_text("utf-8")
    there = next(
        (name for name in [*files, *(["runs/small"] if plays else [])] if (folder / name).exists()), None
    )
    if there is not None:
        raise InputError(f'"{folder / there}" is there already; choose another folder')
    written = [folder / name for name in files]
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content.encode())
        if plays:
            done = play(read_scenario(folder / "scenario.yaml"), runs=folder / "runs")
            written.append(done.folder.rename(folder / _MADE_RUN))
    return written
