"""The scenarios that come with the package, and the one that `replay init` writes."""

from __future__ import annotations

from pathlib import Path

from replay.core.errors import InputError
from replay.core.settings.faults import nearest


def shipped_folder() -> Path:
    """Where the shipped scenarios lie: inside an installed wheel, or beside a checkout's package."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "_scenarios"
    return installed if installed.is_dir() else package.parent / "scenarios"


def shipped_names() -> list[str]:
    """Names of the shipped scenarios, sorted."""
    return sorted(path.stem for path in shipped_folder().glob("*.yaml"))


def find_scenario(name: str) -> Path:
    """
    The scenario file that *name* means: a path, or the name of a shipped scenario.

    Raises:
        InputError: there is neither.
    """
    path = Path(name)
    if path.is_file():
        return path
    shipped = shipped_folder() / f"{name}.yaml"
    if path.name == name and shipped.is_file():
        return shipped
    names = shipped_names()
    raise InputError(
        f'there is no scenario file "{name}"{nearest(name, names)} '
        f"(shipped scenarios: {', '.join(names) or 'none'}; `replay init` writes a new one)"
    )


def starter_scenario(path: Path) -> list[Path]:
    """
    Write a commented scenario to *path*, and conversations beside it unless some are there already.

    Returns the files written.

    Raises:
        OSError: a file can't be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    template = Path(__file__).resolve().parent / "starter" / "scenario.yaml"
    path.write_bytes(template.read_bytes())
    data = path.parent / "conversations.jsonl"
    if data.exists():
        return [path]
    data.write_bytes((shipped_folder() / "conversations" / "music.jsonl").read_bytes())
    return [path, data]
