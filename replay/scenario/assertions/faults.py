"""
What is wrong with a scenario's assertions, as far as that can be known before anything is asked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from replay.core.errors import Fault
from replay.core.record import RECORDED_BETTER, RECORDED_WORSE
from replay.core.settings.faults import nearest
from replay.scenario.assertions.operational_metrics import UNITS
from replay.scenario.assertions.section import (
    ALL_DEPTHS,
    WAYS,
    Assertion,
    PassMetric,
    is_pass_metric,
    pass_metric,
)
from replay.scorers.checks.kinds import is_column
from replay.scorers.scorer import SHARE, unit_of
from replay.store.reader import DATABASE

if TYPE_CHECKING:
    from replay.scorers.judges.panel import Panel


def assertion_faults(
    assertions: Sequence[Assertion | None],
    *,
    systems: Collection[str] | None,
    policies: Collection[str] | None,
    metrics: Mapping[str, str] | None,
    folder: Path,
    repeats: int | None = None,
) -> list[Fault]:
    """
    Return the faults of *assertions*: unknown names, bounds that no number can pass, runs that don't exist.

    An argument is None if it isn't known, since that part of the scenario has faults itself. Which columns of
    checks there are is known only once the data is read.

    Args:
        assertions: None for an entry that has faults itself.
        metrics: As from ``score_units``.
        folder: The folder from which paths of runs start.
        repeats: How often each conversation is played.
    """
    faults: list[Fault] = []
    for index, one in enumerate(assertions):
        if one is None:
            continue
        at = f"assert[{index}]"
        known = (
            None if metrics is None else {**metrics, **{n: u for n, u in UNITS.items() if n not in metrics}}
        )
        names_of_metric: Mapping[str, str] | None = known
        if is_pass_metric(one.metric):
            asked = pass_metric(one.metric)
            faults += _pass_faults(one, asked, at, repeats)
            names_of_metric = metrics if asked else None
        for key, name, names in (
            ("metric", one.score, names_of_metric),
            ("policy", one.policy, policies),
            ("system", one.system, systems),
        ):
            of_checks = key == "metric" and name is not None and is_column(name)
            if name is not None and names is not None and name not in names and not of_checks:
                faults.append(Fault(path=f"{at}.{key}", message=_unknown(key, name, names)))
        if one.max_unchecked and not is_column(one.score):
            message = f"{one.score} is no column of checks (check, check.NAME), so nothing of it is unchecked"
            faults.append(Fault(path=f"{at}.max_unchecked", message=message))
        if known is not None and (is_column(one.score) or known.get(one.score) == SHARE):
            faults += _beyond_a_share(one, at)
        if one.compare is not None and not (folder / one.compare / DATABASE).is_file():
            message = (
                f'there is no run in "{folder / one.compare}"; name the folder of a run, relative to '
                "the scenario's"
            )
            faults.append(Fault(path=f"{at}.compare", message=message))
    return faults


def _pass_faults(one: Assertion, asked: PassMetric | None, at: str, repeats: int | None) -> Iterator[Fault]:
    """Yield the faults of an assertion on pass^k or pass@k, those of its score aside."""
    if asked is None:
        yield Fault(path=f"{at}.metric", message=f'"{one.metric}" means nothing; write {WAYS}')
        return
    if repeats is not None and asked.k > repeats:
        message = (
            f"{one.metric} takes {asked.k} plays of each conversation, and play.repeats is {repeats}; "
            f"set it to {asked.k} or more"
        )
        yield Fault(path=f"{at}.metric", message=message)
    if one.compare is not None:
        message = f"{one.metric} can't be compared with another run; compare {asked.score}, or give min"
        yield Fault(path=f"{at}.compare", message=message)
    if asked.whole and one.depth != ALL_DEPTHS:
        yield Fault(path=f"{at}.depth", message="whole conversations have no depth; leave it out")


def score_units(
    scorers: Mapping[str, object], judges: Sequence[Panel | None], *, recorded: bool = False
) -> dict[str, str] | None:
    """
    Return the units of the scores of *scorers* and *judges* by name; None if one could not be built.

    With *recorded* answers are compared with the recorded ones, too.
    """
    if any(one is None for one in (*scorers.values(), *judges)):
        return None
    units = {label: unit_of(scorer) for label, scorer in scorers.items()}
    for panel in judges:
        units |= {name: output.unit for name, output in panel.columns.items()} if panel else {}
    return units | (dict.fromkeys((RECORDED_WORSE, RECORDED_BETTER), SHARE) if recorded else {})


def _unknown(kind: str, name: str, names: Collection[str]) -> str:
    listed = ", ".join(names)
    hint = nearest(name, names)
    article = "no metric" if kind == "metric" else f"no {kind}"
    return f'"{name}" is {article} of this scenario{hint} (known: {listed})'


def _beyond_a_share(one: Assertion, at: str) -> Iterator[Fault]:
    for key in ("min", "max", "max_drop", "max_rise"):
        bound: float | None = getattr(one, key)
        if bound is not None and not 0 <= bound <= 1:
            hint = f"; {bound:g} % is {bound / 100:g}" if 1 < bound <= 100 else ""
            message = f"{bound:g} is no share; {one.metric} is kept as a share from 0 to 1{hint}"
            yield Fault(path=f"{at}.{key}", message=message)
