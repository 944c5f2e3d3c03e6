"""Answers that came from the cache of ``play.cache``, and what was wrong with it: in words, for reports."""

from __future__ import annotations

from collections.abc import Iterable

from replay.play.play import System
from replay.store.store import RunStore

_PROBLEM = "cache-problem"
"""The event of a cache that could not be used."""


def cache_problems(systems: Iterable[System]) -> set[str]:
    """Why answers of *systems* could not be found or kept."""
    problems = {one.answers.disk.problem for one in systems if one.answers is not None}
    return {problem for problem in problems if problem is not None}


def keep_cache_problems(store: RunStore, problems: Iterable[str]) -> None:
    """Keep *problems* as ``cache_problems`` found them."""
    for problem in sorted(problems):
        store.add_event(_PROBLEM, {"message": problem})


def kept_answers_remarks(store: RunStore) -> list[str]:
    """Return how many answers of each system came from the cache, and what went wrong there."""
    counts = store.rows(
        "SELECT system, sum(cached), count(*) FROM turn WHERE outcome = 'answered' GROUP BY system"
    )
    problems = dict.fromkeys(event["message"] for event in store.events(_PROBLEM))
    return [
        *(
            f"{system}: {cached:,} of {answers:,} answers came from the cache: they were not asked for, "
            "have no times and cost nothing."
            for system, cached, answers in counts
            if cached
        ),
        *(f"Answers were not kept for the next run, or not found again: {problem}." for problem in problems),
    ]
