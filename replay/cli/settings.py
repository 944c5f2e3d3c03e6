"""Plug-ins and data that a command line names, and ``--set KEY=VALUE`` for settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from replay.core.conversation import Conversation
from replay.core.errors import InputError
from replay.core.safety.consent import code_may_run
from replay.core.settings.plugins import Kind, make
from replay.core.settings.yaml_lines import parse
from replay.coreference.reading.resolver import Resolver
from replay.coreference.service.worker import ResolverChoice
from replay.datasets.loading import expand, read_conversations
from replay.datasets.reader import Reader
from replay.scenario.reading import read_choices

T = TypeVar("T")


@code_may_run()
def make_plugin(kind: Kind, name: str, given: Sequence[str], protocol: type[T]) -> T:
    """
    Return the plug-in *name* among *kind*, such as ``readers``, with the settings *given*.

    Raises:
        InputError: a setting is not KEY=VALUE, or not as the plug-in takes it.
        PluginError: there is none of that name, or it gives no *protocol*.
    """
    settings: dict[str, Any] = {}
    for one in given:
        key, equals, value = one.partition("=")
        if not equals:
            raise InputError(f'--set {one}: "KEY=VALUE" is expected')
        settings[key], _, faults = parse(value)
        if faults:
            raise InputError(f"--set {key}: {faults[0].message}")
    return make(kind, name, settings, protocol, folder=Path.cwd(), key_path="--set")


def choose_reader(name: str | None, given: Sequence[str]) -> Reader | None:
    """
    Return the reader *name* with the settings *given*; None where the format is to be found out.

    Raises:
        InputError, PluginError: as for ``make_plugin``, or settings are given and no reader.
    """
    if name is None:
        if given:
            raise InputError("--set needs --format, since settings belong to one reader")
        return None
    return make_plugin("readers", name, given, Reader)  # type: ignore[type-abstract]


def read_named(
    files: Sequence[str],
    format: str | None,
    setting: Sequence[str] | None,
    skipped: list[Exception] | None = None,
    limit: int | None = None,
) -> Iterator[Conversation]:
    """
    Yield the conversations of *files*, names or glob patterns, at most *limit* of them.

    What can't be read is added to *skipped*.

    Raises:
        InputError, PluginError: as for ``choose_reader``, or a file can't be read and *skipped* is None.
    """
    reader, on_bad = choose_reader(format, setting or ()), None if skipped is None else skipped.append
    return read_conversations(expand(files, Path.cwd()), reader=reader, on_bad=on_bad, limit=limit)


def build_resolver(text: str) -> Resolver:
    """
    Return the resolver that *text* names, as in a scenario.

    Raises:
        ScenarioError: it names none.
    """
    (choice,) = read_choices([text], "--resolver")
    return ResolverChoice(name=choice.name, settings=choice.settings, folder=Path.cwd()).build()
