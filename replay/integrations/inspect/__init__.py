"""
Inspect (https://inspect.aisi.org.uk) plays scenarios: ``inspect eval replay/conversations -T scenario=FILE``.

The task ``replay/conversations`` is a scenario's conversations, or a data set's. A sample is a conversation
under a policy, an epoch one of its ``play.repeats``. Whom to ask, how long to wait, how often to ask again
and how many at a time is Inspect's to say; the scenario says what is asked and how it is scored.

Found by Inspect through the entry point ``inspect_ai``, whose name is the package's, as Inspect wants it. The
other way round, its models and agents as systems of a scenario, is the adapter ``inspect``.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig

from replay.core.errors import Fault, ScenarioError
from replay.integrations.inspect.playing import (
    POLICY,
    RECORDED,
    TURNS,
    Plays,
    conversation_player,
    registry_name,
)
from replay.integrations.inspect.scores import by_depth, check_score, depth_table, turn_score

if TYPE_CHECKING:
    from replay.core.conversation import Conversation
    from replay.runs.launch import AnyScenario
    from replay.scenario.assembly import Assembly
    from replay.scenario.reading import ScenarioFile


__all__ = ["by_depth", "conversations", "depth_table"]


NOT_DONE = ("judges", "assert")
"""Sections about a run as a whole, which there is none of here."""
PLAY = ("on_failure", "repeats", "seed_per_repeat")
"""What of ``play`` is not Inspect's to say."""
OF_A_MODEL = ("model", "base_url", "model_args", "config")
"""Settings of the adapter that a task has from Inspect."""


@task(name=registry_name("conversations"))
def conversations(
    scenario: AnyScenario | None = None,
    data: str | None = None,
    policies: str | list[Any] | None = None,
    scorers: str | list[Any] | None = None,
) -> Task:
    """
    Return the conversations of *scenario*, played with Inspect's model in the place of its systems.

    *scenario* is a file, a shipped scenario's name, or what it holds. Without one the conversations come from
    the *data* set (a file or pattern) and are played under ``pred``. *policies* and *scorers* stand in the
    place of the scenario's, written as there; on a command line with commas between them.

    The model is told and offered what the system is that has the adapter ``inspect``, or else the first one,
    if that is a model too (``openai``): system prompt, tools, generation settings.

    Raises:
        InputError, PluginError: the scenario or the data has faults.
    """
    from replay.core.safety.consent import code_may_run
    from replay.scenario.assembly import assemble

    file, config = _for_inspect(scenario, data, {"policies": policies, "scorers": scorers})
    with code_may_run():
        assembly = assemble(file)
        found = list(assembly.conversations((lambda _: None) if file.scenario.data.skip_bad else None))
    if not found:
        raise ScenarioError(file.source, [Fault(path="data", message="holds no conversation to play")])
    scores = [turn_score(choice, file.folder) for choice in file.scenario.scorers]
    if any(one.expect or any(turn.expect for turn in one.turns) for one in found):
        scores.append(check_score())
    repeats = file.scenario.play.repeats
    return Task(
        dataset=MemoryDataset(list(_samples(found, assembly)), name=file.scenario.name, location=file.source),
        solver=conversation_player(Plays(assembly, found)),
        scorer=scores,
        epochs=repeats if repeats > 1 else None,
        config=GenerateConfig(**config),
        metadata={"seed": file.scenario.seed, "only_last": file.scenario.data.ask == "last"},
    )


def _samples(found: list[Conversation], assembly: Assembly) -> Iterator[Sample]:
    """Conversation after conversation, so that a ``--limit`` has each under all policies."""
    for conversation in found:
        for label in assembly.policies:
            turns = conversation.turns
            yield Sample(
                id=conversation.id if len(assembly.policies) == 1 else f"{label}/{conversation.id}",
                input=conversation.goal.wants
                if conversation.goal
                else "\n".join(f"{depth}. {turn.question}" for depth, turn in enumerate(turns, 1)),
                target=[turn.gold_answer or "" for turn in turns],
                metadata={
                    **conversation.metadata,
                    RECORDED: conversation.id,
                    POLICY: label,
                    TURNS: 0 if conversation.goal else len(turns),  # which is known at its end
                },
            )


def _as_asked(system: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings and generation settings with which Inspect's model replaces *system*."""
    settings = dict(system.get("settings") or {})
    if system["adapter"] == "inspect":
        config = settings.get("config") or {}
        return {key: value for key, value in settings.items() if key not in OF_A_MODEL}, dict(config)
    if system["adapter"] != "openai":
        return {}, {}
    extra = settings.get("extra") or {}
    taken = {"system": settings.get("system"), "tools": extra.get("tools")}
    # A text in extra is a template there.
    config = {
        key: value
        for key, value in extra.items()
        if key in GenerateConfig.model_fields and isinstance(value, bool | int | float)
    }
    return {key: value for key, value in taken.items() if value}, config


def _for_inspect(
    scenario: AnyScenario | None, data: str | None, chosen: Mapping[str, Any]
) -> tuple[ScenarioFile, dict[str, Any]]:
    """
    Return the scenario with Inspect's model as its only system, and generation settings for that.

    Raises:
        ScenarioError: it has faults, or there is none.
    """
    from replay.runs.launch import load_scenario
    from replay.scenario.reading import with_content

    if (scenario is None) == (data is None):
        both = "-T scenario=FILE, or -T data=FILE; a scenario names its data itself"
        raise ScenarioError("replay/conversations", [Fault(path="", message=f"takes one of {both}")])
    model = {"name": "model", "adapter": "inspect"}
    if scenario is None:
        name = re.sub(r"[^\w.-]+", "-", Path(str(data)).stem).strip("-") or "data"
        scenario = {"name": name, "data": {"path": data}, "policies": ["pred"], "systems": [model]}
    file = load_scenario(scenario)
    content = dict(file.content)
    if file.scenario.load:
        message = "load is measured by replay run; a task plays each conversation once an epoch"
        raise ScenarioError(file.source, [Fault(path="load", message=message, line=file.lines.of("load"))])
    left = [key for key in NOT_DONE if content.pop(key, None)]
    if left:
        logging.getLogger(__name__).warning("%s: %s: left to replay run", file.source, ", ".join(left))
    own = [one for one in content["systems"] if one["adapter"] == "inspect"]
    if len(own) > 1:
        message = f"{len(own)} systems have the adapter inspect; leave the one to be asked"
        raise ScenarioError(file.source, [Fault(path="systems", message=message)])
    like = (own or content["systems"])[0]
    settings, config = _as_asked(like)
    tools = {"tools": like["tools"]} if "tools" in like else {}
    content["systems"] = [{**model, **tools, "settings": settings}]
    content["play"] = {key: value for key, value in (content.get("play") or {}).items() if key in PLAY}
    # In this process: its workers would begin anew whenever no sample is under way.
    content["drift"] = {"nlp_workers": 0, **(content.get("drift") or {})}
    for key, given in chosen.items():
        if given is not None:
            content[key] = [part.strip() for part in given.split(",")] if isinstance(given, str) else given
    return with_content(file, content, file.text), config
