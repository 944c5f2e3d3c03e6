"""What is wrong with parts of a scenario that are fine by themselves and don't go together, or not here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from replay.core.disk_cache import DiskCache
from replay.core.expectation import ALL_CHECKS
from replay.core.settings.faults import nearest
from replay.core.settings.in_memory import PLACE, is_in_memory
from replay.play.play import System
from replay.policies.policy import Policy, ViewedPolicy
from replay.scenario.part_builder import PartBuilder
from replay.scenario.reading import ScenarioFile
from replay.scenario.sections import RecordedSection, Scenario, telemetry_addresses

if TYPE_CHECKING:
    from replay.scorers.judges.judge import Judge
    from replay.scorers.judges.panel import Panel


def check_in_memory(builder: PartBuilder, file: ScenarioFile) -> None:
    """Report objects of this process that another process would have to find."""
    drift, load = file.scenario.drift, file.scenario.load
    if is_in_memory(drift.resolver) and drift.nlp_workers:
        builder.fault("drift.nlp_workers", "a resolver from memory works in this process alone; give 0")
    if f"{PLACE}:" in file.text and load and load.workers > 1:
        builder.fault("load.workers", "what comes from memory is known to this process alone; give 1")
    played = file.scenario.model_dump(include={"systems", "policies", "drift", "tools"})
    if f"{PLACE}:" in str(played) and file.scenario.play.workers != 1:
        message = "what comes from memory is known to this process alone; give 1, or name it as file.py:name"
        builder.fault("play.workers", message)


def check_workers(builder: PartBuilder, file: ScenarioFile) -> None:
    """Report more worker processes than conversations that are played at a time, and any in a load run."""
    play = file.scenario.play
    if file.scenario.load and play.workers != 1:
        builder.fault("play.workers", "a load run has load.workers for that; leave this one out")
    elif play.workers != "auto" and play.workers > play.concurrency:
        message = f"each of {play.workers} processes needs a conversation to play, and play.concurrency is "
        builder.fault("play.workers", f"{message}{play.concurrency}; raise that, or give no more than it")


def check_cluster(builder: PartBuilder, file: ScenarioFile) -> None:
    """Report settings that need this machine's processes, memory or disk, if a cluster's nodes play."""
    scenario, here = file.scenario, 'or play it here (--on here, on="here")'
    if scenario.cluster is None:
        return
    for section, workers in (
        ("play", scenario.play.workers),
        ("load", scenario.load and scenario.load.workers),
    ):
        if workers not in (None, 1):
            message = "the nodes of the cluster play, cluster.per_node actors on each; leave it out, "
            builder.fault(f"{section}.workers", message + here)
    if scenario.play.cache is not None:
        message = "is a folder of this machine, which the nodes of a cluster don't have; leave it out, "
        builder.fault("play.cache", message + here)
    played = scenario.model_dump(include={"systems", "policies", "drift", "tools"})
    if f"{PLACE}:" in (file.text if scenario.load else str(played)):
        message = "what comes from memory is known to this process alone; name it as file.py:name, "
        builder.fault("cluster", message + here)


def check_repeats(builder: PartBuilder, file: ScenarioFile, systems: list[System | None]) -> None:
    """Report repeats under load, which repeats conversations itself, and a seed that no system takes."""
    play = file.scenario.play
    if file.scenario.load and (play.repeats > 1 or play.seed_per_repeat):
        key = "repeats" if play.repeats > 1 else "seed_per_repeat"
        message = "a load plays conversations again and again by itself; leave it out, or leave load out"
        builder.fault(f"play.{key}", message)
    if play.seed_per_repeat and all(systems) and not any(one.takes_seed for one in systems if one):
        builder.fault(
            "play.seed_per_repeat",
            "no system takes a seed; openai (api: chat) does by itself, http, websocket and command where a "
            "template uses {{ seed }}",
        )


def check_judge_names(
    builder: PartBuilder, judges: Sequence[Panel | None], scorers: Mapping[str, object]
) -> None:
    """Report names that several scorers, judges or checks share: results are stored by name."""
    if ALL_CHECKS in scorers:
        index = list(scorers).index(ALL_CHECKS)
        builder.fault(
            f"scorers[{index}]", f'"{ALL_CHECKS}" is the column of checks; call the scorer otherwise'
        )
    taken = {**dict.fromkeys(scorers, "a scorer"), ALL_CHECKS: "the column of checks"}
    for index, panel in enumerate(judges):
        for column in panel.columns if panel else ():
            if column in taken:
                message = f'"{column}" is what {taken[column]} is called as well; give the judge a name'
                builder.fault(f"judges[{index}]", message)
            taken[column] = "another judge"


def check_history(
    builder: PartBuilder,
    file: ScenarioFile,
    systems: list[System | None],
    policies: Mapping[str, Policy | None],
) -> None:
    """Report settings that would choose the history of a system that keeps its own."""
    keepers = [s.name for s in systems if s and s.adapter.history == "server"]
    if file.scenario.data.ask == "last":
        _check_recorded_history(builder, file, keepers, policies)
    for name in keepers:
        for index, choice in enumerate(file.scenario.policies):
            policy = policies.get(choice.label)
            if policy and policy.history == "gold":
                builder.fault(
                    f"policies[{index}]",
                    f'"{choice.label}" shows the system gold answers as its history, but "{name}" keeps its '
                    'own history; leave the policy out or use "augment", which puts the gold information '
                    "into the question",
                )
            if isinstance(policy, ViewedPolicy):
                builder.fault(
                    f"policies[{index}].{choice.settings_key}.history",
                    f'cuts what is sent to a system, but "{name}" keeps its own history; leave it out',
                )
        if file.scenario.play.on_failure == "gold":
            builder.fault(
                "play.on_failure",
                f'"gold" puts the gold answer in a failed one\'s place, but "{name}" keeps its own history; '
                'use "stop"',
            )


def _check_recorded_history(
    builder: PartBuilder, file: ScenarioFile, keepers: list[str], policies: Mapping[str, Policy | None]
) -> None:
    """Report systems and policies that need a history of their own where only the last turn is asked."""
    for name in keepers:
        builder.fault(
            "data.ask",
            f'"last" asks after the recorded history, but "{name}" keeps its own, which can\'t be given to '
            "it; ask all turns, or reach it by an adapter that sends the history along",
        )
    for index, choice in enumerate(file.scenario.policies):
        policy = policies.get(choice.label)
        if policy and policy.history == "own":
            builder.fault(
                f"policies[{index}]",
                f'"{choice.label}" shows the system its own answers, and with data.ask: last it has given '
                'none; use "gold", which shows the recorded ones',
            )


def check_answer_cache(
    scenario: Scenario, systems: Sequence[System | None], fault: Callable[[str, str], None], *, is_begun: bool
) -> None:
    """
    Report as a *fault* each place where answers can't be cached, or where a cached answer would mislead.

    Args:
        systems: The built systems, in the order of the scenario; None for one that could not be built.
        fault: Called with a key path and a message.
        is_begun: The run has begun: it goes on without a cache that can't be used.
    """
    cache = scenario.play.cache
    for index, section in enumerate(scenario.systems):
        if cache is None and section.cache:
            fault(f"systems[{index}].cache", "needs play.cache, the folder where answers are kept")
    if cache is None:
        return
    if scenario.load:
        fault("play.cache", "a load of kept answers measures nothing; leave one of them out")
    for index, (section, system) in enumerate(zip(scenario.systems, systems, strict=True)):
        if system is None or system.answers is None:
            continue
        if system.adapter.history == "server":
            fault(
                f"systems[{index}]",
                f'"{system.name}" keeps its own history, so its answers depend on a session and can\'t '
                "be kept by play.cache; give it cache: false",
            )
        elif f"{PLACE}:" in f"{section.adapter} {section.settings}":
            fault(
                f"systems[{index}]",
                f'"{system.name}" is an object of this process, which the next run can\'t tell from '
                "another of its name, so its answers can't be kept by play.cache; give it cache: false",
            )
        elif not is_begun and (problem := _unusable(system.answers.disk)):
            fault("play.cache", problem)
            return


def _unusable(disk: DiskCache) -> str | None:
    """Return why *disk* can't be used, if so; unreported, every answer would be asked again."""
    assert disk.path is not None
    folder = disk.path.parent
    if folder.exists() and not folder.is_dir():
        return f'"{folder}" is no folder; name one, which is made where there is none'
    disk.get(())
    remedy = "end the program that writes it, or wait for it" if disk.is_locked else "delete that file"
    return disk.problem and f"{disk.problem}; {remedy}, or name another folder"


def check_recorded(
    section: RecordedSection | None,
    pairwise: Sequence[str],
    judges: Collection[str],
    fault: Callable[[str, str], None],
) -> None:
    """
    Tell *fault* where *section* doesn't say which judge is meant.

    Args:
        section: None without one.
        pairwise: The names of the judges of that type.
        judges: The names of all.
        fault: Takes a key path and a message.
    """
    if section is None:
        return
    if section.judge is None and len(pairwise) > 1:
        fault("recorded.judge", f"say which of the pairwise judges counts ({', '.join(pairwise)})")
    elif section.judge is not None and section.judge not in pairwise:
        known = f"the scenario's: {', '.join(pairwise) or 'none'}"
        kind = "no judge of the type pairwise" if section.judge in judges else "no judge"
        fault("recorded.judge", f'"{section.judge}" is {kind}{nearest(section.judge, pairwise)} ({known})')


def is_pairwise(judge: Judge) -> bool:
    """Return whether *judge* compares two answers."""
    from replay.scorers.judges.pairwise import PairwiseJudge

    return isinstance(judge, PairwiseJudge)


OTEL_NEEDED = 'sending spans takes OpenTelemetry\'s SDK: pip install "convreplay[otel]"'


def check_telemetry(scenario: Scenario, folder: Path, fault: Callable[[str, str], None]) -> None:
    """Tell *fault* where what *scenario* says of telemetry can't be done here."""
    section = scenario.telemetry
    if section is None or not (section.file or telemetry_addresses(scenario)):
        return
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.exporter") is None:
        fault("telemetry", f"{OTEL_NEEDED}; without endpoint and file, asks are traced all the same")
    if section.file is not None and not (folder / section.file).parent.is_dir():
        fault("telemetry.file", f'there is no folder "{section.file.parent}"; make it, or name another one')
