"""``play.cache``: where the answers of systems are kept, and where they can't be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from replay.core.asking.cached import identity
from replay.core.disk_cache import DiskCache
from replay.core.settings.in_memory import PLACE
from replay.core.settings.plugins import available
from replay.play.answer_cache import FILE, AnswerCache
from replay.play.play import System
from replay.scenario.sections import Scenario, SystemSection


def open_disk_cache(cache: Path | None, folder: Path) -> DiskCache | None:
    """Return the answer cache in the folder *cache*, relative to *folder*, or None if *cache* is None."""
    return None if cache is None else DiskCache(folder / cache.expanduser() / FILE)


def answer_cache(section: SystemSection, disk: DiskCache | None, folder: Path) -> AnswerCache | None:
    """
    Return the cache of *section*'s system on *disk*; None if the system is to be asked every time.

    Its key includes the system's name, so that a system that is listed twice can be compared with itself.
    """
    if disk is None or section.cache is False:
        return None
    entry = available("adapters").get(section.adapter)
    package = entry.dist.version if entry and entry.dist else ""
    whole = identity(section.adapter, section.settings, folder, whole=True)
    return AnswerCache(disk=disk, identity=(section.name, whole, package))


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
