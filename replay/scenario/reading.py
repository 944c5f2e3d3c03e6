"""Reads a scenario file and checks it as a whole: all its faults at once, each with its line and key path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from replay.core.errors import Fault, ScenarioError
from replay.core.settings.choice import FORMS, Choice, read_choice
from replay.core.settings.faults import faults_of
from replay.core.settings.yaml_lines import Lines, parse
from replay.scenario.secret_detection import secret_faults
from replay.scenario.sections import Scenario, Workers
from replay.scenario.settings_check import settings_faults


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioFile:
    """A scenario with where it came from."""

    scenario: Scenario
    text: str
    """As written; kept in the run."""
    source: str
    """The file's path, for messages."""
    folder: Path
    """What relative paths start from."""
    lines: Lines


def read_scenario(path: Path) -> ScenarioFile:
    """
    Read the scenario file at *path*.

    Raises:
        ScenarioError: it can't be read or has faults; all of them at once, those of plug-in settings
            included.
    """
    return parse_scenario(text_of(path), source=str(path), folder=path.resolve().parent)


def text_of(path: Path) -> str:
    """
    What stands in the file at *path*.

    Raises:
        ScenarioError: it can't be read.
    """
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ScenarioError(str(path), [Fault(path="", message=f"can't be read: {reason}")]) from error


def parse_scenario(text: str, *, source: str, folder: Path, only_read: bool = False) -> ScenarioFile:
    """
    The scenario in *text*; *source* names it in messages, *folder* is what its paths start from.

    With *only_read* the faults of plug-ins' settings are not looked for, which takes making the plug-ins.

    Raises:
        ScenarioError: it has faults; all of them at once.
    """
    value, lines, faults = parse(text)
    if not faults and not isinstance(value, Mapping):
        faults.append(Fault(path="", message="a scenario is a mapping with name, data, systems and policies"))
    if not isinstance(value, Mapping):
        raise ScenarioError(source, faults)
    not_secret = value.get("not_secret")
    secrets, value = secret_faults(value, text, not_secret if isinstance(not_secret, list) else ())
    faults += secrets
    try:
        scenario = Scenario.model_validate(value)
    except ValidationError as error:
        faults += faults_of(error, Scenario, value, "")
        faults += [] if only_read else settings_faults(value, folder)
        raise ScenarioError(source, located(faults, lines)) from error
    if faults:
        raise ScenarioError(source, located(faults, lines))
    return ScenarioFile(scenario=scenario, text=text, source=source, folder=folder, lines=lines)


def located(faults: Sequence[Fault], lines: Lines) -> list[Fault]:
    """*faults* with their lines, in file order."""
    with_lines = [replace(fault, line=fault.line or lines.of(fault.path)) for fault in faults]
    return sorted(with_lines, key=lambda fault: fault.line or 0)


def with_section(file: ScenarioFile, section: str, changes: Mapping[str, Any]) -> ScenarioFile:
    """
    *file* with *changes* to one of its sections, in the text as well, so that a run keeps what it was.

    Raises:
        ScenarioError: the changes don't fit.
    """
    content = _content(file)
    return _with_content(file, {**content, section: {**(content.get(section) or {}), **changes}})


def _content(file: ScenarioFile) -> dict[str, Any]:
    import yaml

    content: dict[str, Any] = yaml.safe_load(file.text)
    return content


def _with_content(file: ScenarioFile, content: Mapping[str, Any]) -> ScenarioFile:
    import yaml

    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    return parse_scenario(text, source=file.source, folder=file.folder)


def with_workers(file: ScenarioFile, workers: Workers | None) -> ScenarioFile:
    """
    *file* to be played by so many *workers*, where that is said.

    Raises:
        ScenarioError: as for ``with_section``.
    """
    return file if workers is None else with_section(file, "play", {"workers": workers})


def played_on(file: ScenarioFile, on: str | None) -> ScenarioFile:
    """
    *file* to be played *on* the cluster at an address, where that is said; ``ray`` is the scenario's own
    cluster or else this machine's, ``here`` is no cluster.

    Raises:
        ScenarioError: as for ``with_section``.
    """
    if on is None:
        return file
    if on == "here" and file.scenario.cluster is None:
        return file
    if on == "here":
        return _with_content(file, {key: value for key, value in _content(file).items() if key != "cluster"})
    return with_section(file, "cluster", {} if on == "ray" else {"address": on})


def read_choices(texts: Sequence[str], option: str) -> list[Choice]:
    """
    Plug-in choices from a command line, each written as in a scenario: a name or a YAML mapping.

    Raises:
        ScenarioError: a text is neither.
    """
    choices = []
    for text in texts:
        value, _, faults = parse(text)
        try:
            choices.append(Choice.model_validate(read_choice(value)))
        except ValueError as error:
            expected = f"{FORMS}, is expected" if isinstance(error, ValidationError) else str(error)
            faults = faults or [Fault(path=text, message=expected)]
        if faults:
            raise ScenarioError(option, faults)
    return choices
