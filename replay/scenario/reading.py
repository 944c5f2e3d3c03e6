"""
Reads a scenario file and checks it as a whole: all its faults at once, each with its line and key path. What
a program writes in a scenario where a file has names (functions, objects, conversations) is brought into the
form of a file first.
"""

from __future__ import annotations

import inspect
import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path, PurePath
from typing import Any

import msgspec
from pydantic import ValidationError

from replay.core.conversation import Conversation
from replay.core.decoding import convert_to
from replay.core.errors import Fault, ScenarioError
from replay.core.safety.secret_detection import secret_faults
from replay.core.settings.choice import FORMS, Choice, read_choice
from replay.core.settings.faults import faults_of
from replay.core.settings.in_memory import object_name
from replay.core.settings.plugin_bugs import signature_of
from replay.core.settings.yaml_lines import Lines, parse
from replay.scenario.sections import Scenario, Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioFile:
    """A scenario with where it came from."""

    scenario: Scenario
    content: Mapping[str, Any]
    """The same, not yet checked: what YAML gives."""
    text: str
    """As written, with what a command line changed; kept in the run."""
    source: str
    """The file's path, for messages."""
    folder: Path
    """What relative paths start from."""
    lines: Lines
    """Those of the text before anything in it was changed."""


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
    Return the text of the UTF-8 file at *path*, without a byte order mark.

    Raises:
        ScenarioError: it can't be read, or isn't UTF-8.
    """
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ScenarioError(str(path), [Fault(path="", message=f"can't be read: {reason}")]) from error


def parse_scenario(text: str, *, source: str, folder: Path, only_read: bool = False) -> ScenarioFile:
    """
    Parse and check the scenario in *text*.

    Args:
        source: Names the text in messages.
        folder: The folder from which relative paths start.
        only_read: Don't check the settings of plug-ins, which needs building them.

    Raises:
        ScenarioError: it has faults; all of them at once.
    """
    value, lines, faults = parse(text)
    if not isinstance(value, Mapping) or (value and not value.keys() & Scenario.model_fields.keys()):
        message = (
            "a scenario is a mapping with name, data, systems and policies; where this is data, "
            f"`replay init --data {shlex.quote(source)}` writes a scenario for it"
        )
        raise ScenarioError(source, faults or [Fault(path="", message=message)])
    file = {"content": value, "text": text, "source": source, "folder": folder, "lines": lines}
    return _check_scenario(file, faults, only_read=only_read)


def _check_scenario(file: dict[str, Any], faults: list[Fault], *, only_read: bool = False) -> ScenarioFile:
    """
    Return the scenario of *file*, all of a ``ScenarioFile`` but that.

    Raises:
        ScenarioError: there are *faults*, or its content has some; all of them at once.
    """
    content, source = file["content"], file["source"]
    not_secret = content.get("not_secret")
    allowed = not_secret if isinstance(not_secret, list) else ()
    secrets, value = secret_faults(content, file["text"], allowed)
    faults = faults + secrets
    try:
        scenario = Scenario.model_validate(value)
    except ValidationError as error:
        faults += faults_of(error, Scenario, value, "")
        if not only_read:
            from replay.scenario.settings_check import settings_faults

            faults += settings_faults(value, file["folder"])
        raise ScenarioError(source, add_lines(faults, file["lines"])) from error
    if faults:
        raise ScenarioError(source, add_lines(faults, file["lines"]))
    return ScenarioFile(scenario=scenario, **file)


def add_lines(faults: Sequence[Fault], lines: Lines) -> list[Fault]:
    """Return *faults* with their lines, in file order."""
    with_lines = [replace(fault, line=fault.line or lines.of(fault.path)) for fault in faults]
    return sorted(with_lines, key=lambda fault: fault.line or 0)


def with_changes(
    file: ScenarioFile, changes: Mapping[str, Mapping[str, Any] | list[Any] | None]
) -> ScenarioFile:
    """
    Return *file* with *changes* to its sections, in the text as well, so that a run keeps what it was.

    Args:
        file: The scenario; its comments stay where they are, and faults are told by its own lines.
        changes: By section, the keys that get another value, or a list in place of it; None takes it out.

    Raises:
        ScenarioError: the changes don't fit.
    """
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = len(file.text) + 1000  # or long lines would be broken
    yaml.indent(mapping=2, sequence=4, offset=2)
    document, content = yaml.load(file.text), dict(file.content)
    for section, keys in changes.items():
        if keys is None:
            content.pop(section, None)
            document.pop(section, None)
            continue
        if isinstance(keys, list):
            content[section] = keys
            document[section] = yaml.load(json.dumps(keys))
            continue
        content[section] = {**(content.get(section) or {}), **keys}
        # As JSON, which quotes each text, and in front: behind a section's last key may stand the next
        # one's comment.
        written = {key: yaml.load(json.dumps(value)) for key, value in keys.items()}
        if not document.get(section):
            document[section] = written
            continue
        for index, (key, value) in enumerate(written.items()):
            if key in document[section]:
                document[section][key] = value
            else:
                document[section].insert(index, key, value)
    yaml.dump(document, text := StringIO())
    return with_content(file, content, text.getvalue())


def with_content(file: ScenarioFile, content: Mapping[str, Any], text: str) -> ScenarioFile:
    """
    Return *file* with another *content*, of which *text* is what is kept.

    Raises:
        ScenarioError: the content has faults, told by the lines of *file*.
    """
    place = {"source": file.source, "folder": file.folder, "lines": file.lines}
    return _check_scenario({"content": content, "text": text, **place}, [])


def with_workers(file: ScenarioFile, workers: Workers | None) -> ScenarioFile:
    """
    Return *file* to be played by so many *workers*, where that is said.

    Raises:
        ScenarioError: as for ``with_changes``.
    """
    return file if workers is None else with_changes(file, {"play": {"workers": workers}})


def with_cluster(file: ScenarioFile, on: str | None) -> ScenarioFile:
    """
    Return *file* to be played *on* the cluster at an address, where that is said; ``ray`` is the scenario's
    own cluster or else this machine's, ``here`` is no cluster.

    Raises:
        ScenarioError: as for ``with_changes``.
    """
    if on is None or (on == "here" and file.scenario.cluster is None):
        return file
    own = None if on == "here" else {} if on == "ray" else {"address": on}
    return with_changes(file, {"cluster": own})


def read_choices(texts: Sequence[str], option: str) -> list[Choice]:
    """
    Parse plug-in choices from a command line, each written as in a scenario: a name or a YAML mapping.

    Args:
        option: The option's name, for messages.

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


ASKED_BY = frozenset({"question", "request"})
"""A function with such a parameter answers questions; one without makes an adapter."""


def in_plain_form(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return *scenario* in the form that a file has, with names in place of objects.

    ``data: [Conversation, ...]`` becomes ``data: {path: ...}``; a function as ``adapter`` the ``target`` of
    ``python``; an object among policies or scorers is called by its class.

    Raises:
        ScenarioError: an item among the conversations is none.
    """
    plain = dict(scenario)
    data = plain.get("data")
    if data is not None and not isinstance(data, str | Mapping):
        plain["data"] = data = {"path": data}
    if isinstance(data, Mapping) and not _is_path(data.get("path")):
        plain["data"] = {**data, "path": _given_conversations(data["path"])}
    for key in ("policies", "scorers"):
        if isinstance(plain.get(key), list | tuple):
            plain[key] = [_choice(one) for one in plain[key]]
    if isinstance(plain.get("systems"), list | tuple):
        plain["systems"] = [_system(one) for one in plain["systems"]]
    return plain


def _is_path(path: Any) -> bool:
    if isinstance(path, list | tuple):
        return bool(path) and all(isinstance(one, str | PurePath) for one in path)
    return path is None or isinstance(path, str | PurePath)


def _given_conversations(given: Any) -> list[Conversation]:
    """
    Raises:
        ScenarioError: one of them is none, or there is none.
    """
    conversations = list(given) if isinstance(given, Iterable) else [given]
    faults = [
        Fault(path=f"data[{index}]", message=wrong)
        for index, one in enumerate(conversations)
        if (wrong := _unplayable(one)) is not None
    ]
    if not conversations:
        faults = [Fault(path="data", message="is empty; there is no conversation to play")]
    if faults:
        raise ScenarioError("scenario", faults[:20])
    return conversations


def _unplayable(given: Any) -> str | None:
    """Return why *given* is no conversation that can be stored and played; None if it is one."""
    if not isinstance(given, Conversation):
        return f"is a {type(given).__name__}, not a replay.Conversation"
    try:
        convert_to(msgspec.to_builtins(given), Conversation)
    except (msgspec.ValidationError, TypeError) as error:
        return f'conversation "{given.id}": {error}'
    return None


def _choice(one: Any) -> Any:
    return one if isinstance(one, str | Mapping) else {object_name(one): one}


def _system(one: Any) -> Any:
    adapter = one.get("adapter") if isinstance(one, Mapping) else None
    if not (inspect.isfunction(adapter) or inspect.ismethod(adapter)):
        return one
    if not ASKED_BY & signature_of(adapter).parameters.keys():
        return one
    return {**one, "adapter": "python", "settings": {**(one.get("settings") or {}), "target": adapter}}
