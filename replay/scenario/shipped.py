"""The scenarios that come with the package, and the one that `replay init` writes."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

from replay.core.errors import InputError
from replay.core.settings.faults import nearest

_DATA_SUFFIXES = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".arrow", ".xlsx")
"""Names of files that hold no scenario. ``.json`` may: JSON is YAML."""


def shipped_folder() -> Path:
    """Return the folder of the shipped scenarios: in an installed wheel, or beside a checkout's package."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "_scenarios"
    return installed if installed.is_dir() else package.parent / "scenarios"


def _shipped_scenarios() -> dict[str, Path]:
    """Return the shipped scenarios by name: one file each, or a folder with all that it needs."""
    folder = shipped_folder()
    files = {path.stem: path for path in folder.glob("*.yaml")}
    return files | {path.parent.name: path for path in folder.glob("*/scenario.yaml")}


def shipped_names() -> list[str]:
    """Return the names of the shipped scenarios, sorted."""
    return sorted(_shipped_scenarios())


def find_scenario(name: str) -> Path:
    """
    Return the file of the scenario *name*: a file, a folder with ``scenario.yaml``, or a shipped scenario.

    Raises:
        InputError: there is none of them, or it is a file of data.
    """
    path = Path(name)
    for found in (path, path / "scenario.yaml"):
        if found.is_file() and found.suffix.lower() in _DATA_SUFFIXES:
            raise InputError(
                f'"{name}" is data, and a scenario is expected, which says what to do with it; '
                f"`replay init --data {shlex.quote(name)}` writes one"
            )
        if found.is_file():
            return found
    shipped = _shipped_scenarios()
    if name in shipped:
        return shipped[name]
    if path.is_dir():
        raise InputError(f'"{name}" is a folder without a scenario.yaml; name the scenario file in it')
    names = sorted(shipped)
    raise InputError(
        f'there is no scenario file "{name}"{nearest(name, names)} '
        f"(shipped scenarios: {', '.join(names) or 'none'}; `replay init` writes a new one)"
    )


def example_scenario(name: str, folder: Path) -> list[Path]:
    """
    Copy the shipped scenario *name*, with its data and programs, into *folder*.

    Returns the files written, the scenario first.

    Raises:
        InputError: no shipped scenario of that name has a folder of its own.
        OSError: a file can't be written.
    """
    folders = {
        path.parent.name: path.parent
        for path in _shipped_scenarios().values()
        if path.name == "scenario.yaml"
    }
    if name not in folders:
        raise InputError(
            f'there is no example "{name}"{nearest(name, folders)} (examples: {", ".join(sorted(folders))})'
        )
    files = sorted(path for path in folders[name].iterdir() if path.is_file())
    files.sort(key=lambda path: path.name != "scenario.yaml")
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        (folder / file.name).write_bytes(file.read_bytes())
    return [folder / file.name for file in files]


def starter_scenario(path: Path, data: Path | None = None) -> list[Path]:
    """
    Write a commented scenario to *path* that plays *data*, or else conversations put beside it unless
    some are there already.

    Returns the files written.

    Raises:
        OSError: a file can't be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    template = Path(__file__).resolve().parent / "starter" / "scenario.yaml"
    if data is not None:
        # From the scenario's folder, from which its paths start.
        named = json.dumps(os.path.relpath(data, path.parent), ensure_ascii=False)
        text = template.read_text("utf-8").replace("path: conversations.jsonl", f"path: {named}", 1)
        path.write_text(text, "utf-8")
        return [path]
    path.write_bytes(template.read_bytes())
    data = path.parent / "conversations.jsonl"
    if data.exists():
        return [path]
    data.write_bytes((shipped_folder() / "conversations" / "music.jsonl").read_bytes())
    return [path, data]
