"""
Builds a panel from an entry of a scenario's ``judges``: who is asked and how, and the judge's own settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from replay.core.asking.cached import Model, identity
from replay.core.asking.costs import Prices
from replay.core.asking.limits import RateLimit
from replay.core.asking.retries import RetryPolicy
from replay.core.disk_cache import cache_path
from replay.core.errors import PluginError
from replay.core.settings.choice import (
    Attempts,
    Choice,
    LimitSection,
    PositiveSeconds,
    Seconds,
    Section,
    Together,
    at_most,
)
from replay.core.settings.faults import faults_of, nearest
from replay.core.settings.plugins import Factory, settings_model
from replay.scenario.part_builder import PartBuilder, politeness
from replay.scorers.judges.judge import Judge
from replay.scorers.judges.panel import Panel

_PROVIDED = "panel_name"
"""The parameter by which a judge is told its name in the scenario, if it has one."""


class VoterSection(Section):
    """One of several voters."""

    adapter: str
    """How its model is reached, as for a system."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """The adapter's settings."""
    name: str | None = Field(default=None, min_length=1)
    """Adapter and model when left out."""
    limit: LimitSection | None = None
    """The judge's own when left out, shared by all voters that have none."""
    prices: Prices | None = None
    """What it charges; as the scenario's table says for its model when left out."""


class JudgeSection(Section):
    """What every judge can be told, whatever it judges; the rest of an entry belongs to the judge."""

    name: str | None = Field(default=None, pattern=r"^[\w-]+(\([\w=.,-]*\))?$")
    """What its columns are called, unless the entry itself says so; the judge's own name when left out."""
    adapter: str | None = None
    """How its model is reached, as for a system."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """The adapter's settings."""
    voters: tuple[VoterSection, ...] = ()
    """Several adapters, in the place of ``adapter`` and ``settings``."""
    limit: LimitSection | None = None
    prices: Prices | None = None
    """What it charges; as the scenario's table says for its model when left out."""
    concurrency: Together = 4
    """Asks at a time."""
    repeats: Annotated[int, Field(ge=1), at_most(100, "the spread says no more after that")] = 1
    """How often each verdict is asked for, to see the spread."""
    timeout_s: PositiveSeconds = 60.0
    """For each attempt."""
    attempts: Attempts = 4
    """Attempts at most, after failures that may pass."""
    backoff_s: Seconds = 0.5
    """The longest pause before the second attempt, drawn from 0 on; doubled each time."""
    retry_budget_s: Seconds = 60.0
    """No attempt starts later than this after the first failure."""
    cache: bool | Path = True
    """Another file for the verdict cache, or false for none."""


def build_panels(builder: PartBuilder, choices: Sequence[Choice | None]) -> list[Panel | None]:
    """Build the panels of a scenario's ``judges``; None for one that can't be built."""
    return [
        None if choice is None else build_panel(builder, choice, f"judges[{index}]")
        for index, choice in enumerate(choices)
    ]


def build_panel(builder: PartBuilder, choice: Choice, name_at: str) -> Panel | None:
    """
    Build the panel that *choice* describes; None if it has faults, which are added to *builder*.

    Args:
        name_at: The key path of the choice.
    """
    at, faults_before = f"{name_at}.{choice.settings_key}", len(builder.faults)
    section = _section(builder, choice, at)
    name = choice.called or (section and section.name) or choice.name.rpartition(":")[2]
    judge = _judge(builder, choice, name, name_at, at)
    if section is None:
        return None
    voters = _voters(builder, section, at)
    if judge is not None:
        _check_parameters(builder, judge, voters, at)
    if len(builder.faults) > faults_before or judge is None:
        return None
    cache = cache_path("verdicts.db") if section.cache else None
    return Panel(
        name=name,
        judge=judge,
        voters=tuple(voters),
        repeats=section.repeats,
        concurrency=section.concurrency,
        patience=RetryPolicy(
            timeout_s=section.timeout_s,
            attempts=section.attempts,
            backoff_s=section.backoff_s,
            retry_budget_s=section.retry_budget_s,
        ),
        cache=builder.folder / section.cache.expanduser() if isinstance(section.cache, Path) else cache,
    )


def _judge(builder: PartBuilder, choice: Choice, name: str, name_at: str, at: str) -> Judge | None:
    factory = builder.factory("judges", choice.name, name_at)
    if factory is None:
        return None
    try:
        settings = _own_settings(builder, choice, factory, at)
    except PluginError as error:
        builder.fault(name_at, f'"{choice.name}": {error}')
        return None
    places = {"name_at": name_at, "settings_at": at, "provided": {_PROVIDED: name}}
    return builder.build(factory, choice.name, settings, Judge, **places)  # type: ignore[type-abstract,arg-type]


def _own_settings(builder: PartBuilder, choice: Choice, factory: Factory, at: str) -> dict[str, Any]:
    """Return the judge's own settings; those that neither it nor every judge has are faults."""
    settings = {k: v for k, v in choice.settings.items() if k not in JudgeSection.model_fields}
    model = settings_model(factory, ("folder", _PROVIDED))
    if model.model_config.get("extra") == "allow":
        return settings
    allowed = (*model.model_fields, *JudgeSection.model_fields)
    for name in settings:
        if name not in allowed:
            hint = f"{nearest(str(name), allowed)} (allowed: {', '.join(allowed)})"
            builder.fault(f"{at}.{name}", f'"{name}" is not a setting here{hint}')
    return {name: value for name, value in settings.items() if name in allowed}


def _section(builder: PartBuilder, choice: Choice, at: str) -> JudgeSection | None:
    common = {k: v for k, v in choice.settings.items() if k in JudgeSection.model_fields}
    try:
        section = JudgeSection.model_validate(common)
    except ValidationError as error:
        builder.faults += faults_of(error, JudgeSection, common, at)
        return None
    if bool(section.adapter) == bool(section.voters):
        which = "both are there" if section.adapter else "neither is there"
        builder.fault(at, f"a judge needs an adapter, or voters with one each; {which}")
        return None
    return section


def _voters(builder: PartBuilder, section: JudgeSection, at: str) -> list[Model]:
    limit = politeness(section.limit)
    if section.adapter is not None:
        alone = VoterSection(adapter=section.adapter, settings=section.settings, prices=section.prices)
        one = _voter(builder, alone, limit, None, at)
        return [one] if one else []
    if section.settings:
        builder.fault(f"{at}.settings", "belongs to adapter; each voter has settings of its own")
    found = [
        _voter(builder, voter, politeness(voter.limit) or limit, section.prices, f"{at}.voters[{number}]")
        for number, voter in enumerate(section.voters)
    ]
    voters = [voter for voter in found if voter]
    names = [voter.name for voter in voters]
    for number, name in enumerate(names):
        if name in names[:number]:
            builder.fault(f"{at}.voters[{number}]", f'"{name}" is there twice; give it a name')
    return voters


def _voter(
    builder: PartBuilder,
    section: VoterSection,
    limit: RateLimit | None,
    prices: Prices | None,
    at: str,
) -> Model | None:
    adapter = builder.adapter(section.adapter, section.settings, at)
    if adapter is None:
        return None
    model = section.settings.get("model")
    return Model(
        name=section.name or (f"{section.adapter}/{model}" if model else section.adapter),
        adapter=adapter,
        identity=identity(section.adapter, section.settings, builder.folder),
        limit=limit,
        prices=section.prices or prices or builder.prices.prices_of(model),
    )


def _check_parameters(builder: PartBuilder, judge: Judge, voters: list[Model], at: str) -> None:
    needed = ", ".join(judge.needed_parameters)
    for voter in voters:
        if needed and not voter.takes_parameters:
            mode = getattr(judge, "mode", None)
            how = f' (mode "{mode}")' if mode else ""
            builder.fault(
                at,
                f'"{voter.name}" can\'t pass parameters on to its model, and this judge{how} sends '
                f"{needed}; use an adapter that can (openai), or settings that need none",
            )
