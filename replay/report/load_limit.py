"""Where a system's limit is, in words: by the objectives of a sweep, and by its throughput."""

from __future__ import annotations

from replay.report.depth_cells import percent
from replay.report.load_tables import milliseconds, number
from replay.statistics.load.load_summary import Knee, LoadSummary
from replay.statistics.load.saturation import FEWEST_TURNS, LevelComparison, Saturation


def limit_sentences(summary: LoadSummary) -> list[str]:
    """What the levels of *summary* say of the limit; nothing where they say nothing."""
    said = []
    if summary.knee is not None:
        said.append(_knee(summary.knee))
    if summary.saturation is not None:
        said.append(saturation_sentence(summary.saturation))
    return said


def _knee(knee: Knee) -> str:
    if knee.level is None:
        return f"Not even {knee.missed} met the goals; the system's limit is below what was offered."
    if knee.missed is None:
        return (
            f"{knee.level} met the goals and nothing higher was offered: the system's limit may be beyond it."
        )
    return f"The highest level that met the goals is {knee.level}; {knee.missed} missed them."


def saturation_sentence(said: Saturation) -> str:
    """What throughput and response times say, objectives or not."""
    at, beyond = said.at, said.beyond
    if said.found == "growing":
        return f"Not saturated up to {at.level}: throughput still grew."
    if beyond is None:
        return (
            f"Throughput hardly grew beyond {at.level}; a level with at least half as much load again would "
            "show whether that is the limit."
        )
    if said.found == "few-turns":
        return (
            f"Throughput hardly grew beyond {at.level}, but {at.level} or {beyond.level} has fewer than "
            f"{FEWEST_TURNS} turns, too few to tell; measure for longer."
        )
    if said.found == "not-the-system":
        return (
            f"Throughput stopped growing at {at.level}, but {beyond.level} brought neither slower answers "
            "nor more failures, or the generator was late: so it may be the generator, think times or a "
            "limit in the scenario that held the load back, and not the system."
        )
    where = f"{at.level}, the lowest level, or below it" if said.is_lowest else at.level
    return f"Saturated at {where}: {number(at.throughput)} answers/s. {_further(at, beyond)}"


def _further(at: LevelComparison, beyond: LevelComparison) -> str:
    facts = [
        f"{number(beyond.throughput)} ({100 * (beyond.throughput / at.throughput - 1):+.0f} %)",
        f"a median response of {milliseconds(beyond.response_p50_s)} instead of "
        f"{milliseconds(at.response_p50_s)} ms",
    ]
    if beyond.error_share > at.error_share:
        facts.append(f"{percent(beyond.error_share)} instead of {percent(at.error_share)} % failures")
    brought = f"{', '.join(facts[:-1])} and {facts[-1]}"
    return f"{beyond.level}, {beyond.value / at.value:.2g} times the load, brought {brought}."
