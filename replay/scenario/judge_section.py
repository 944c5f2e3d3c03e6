"""
Builds a panel from an entry of a scenario's ``judges``: who is asked and how, and the judge's own settings.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from replay.core.adapter import Adapter
from replay.core.asking.patience import Patience
from replay.core.asking.politeness import PolitenessLimit
from replay.core.disk_cache import cache_path
from replay.core.errors import Fault, PluginError, ScenarioError
from replay.core.secret_signs import name_tells
from replay.core.settings.choice import Choice, LimitSection, Section
from replay.core.settings.faults import faults_of, nearest
from replay.core.settings.plugins import Factory, build, load, settings_model
from replay.core.settings.prices import NO_PRICES, Prices, PriceTable
from replay.scorers.judges.asking import Voter
from replay.scorers.judges.judge import Judge
from replay.scorers.judges.panel import Panel


class VoterSection(Section):
    """One of several voters."""

    adapter: str
    settings: dict[str, Any] = Field(default_factory=dict)
    name: str | None = Field(default=None, min_length=1)
    """Adapter and model when left out."""
    limit: LimitSection | None = None
    """The judge's own when left out, shared by all voters that have none."""
    prices: Prices | None = None


class JudgeSection(Section):
    """What every judge can be told, whatever it judges; the rest of an entry belongs to the judge."""

    name: str | None = Field(default=None, pattern=r"^[\w-]+(\([\w=.,-]*\))?$")
    """What its columns are called; the judge's own name when left out."""
    adapter: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    """The adapter's settings."""
    voters: tuple[VoterSection, ...] = ()
    """Several adapters, in the place of ``adapter`` and ``settings``."""
    limit: LimitSection | None = None
    prices: Prices | None = None
    concurrency: int = Field(default=4, ge=1)
    repeats: int = Field(default=1, ge=1, le=100)
    timeout_s: float = Field(default=60.0, gt=0)
    attempts: int = Field(default=4, ge=1)
    backoff_s: float = Field(default=0.5, ge=0)
    retry_budget_s: float = Field(default=60.0, ge=0)
    cache: bool | Path = True
    """Another file for the verdict cache, or false for none."""


def build_panel(
    choice: Choice, *, folder: Path, at: str, prices: PriceTable = NO_PRICES
) -> tuple[Panel | None, list[Fault]]:
    """
    The panel that *choice* describes, or what is wrong with it, located below *at*.

    *folder* is what relative paths start from.
    """
    return _Building(choice, folder, at, prices).panel()


class _Building:
    """Builds the parts and collects faults instead of stopping at the first."""

    def __init__(self, choice: Choice, folder: Path, at: str, prices: PriceTable) -> None:
        self._prices = prices
        self.choice = choice
        self.folder = folder
        self.at = f"{at}.{choice.name}"
        self.name_at = at
        self.faults: list[Fault] = []

    def panel(self) -> tuple[Panel | None, list[Fault]]:
        judge = self._judge()
        section = self._section()
        if section is None:
            return None, self.faults
        voters = self._voters(section)
        if judge is not None:
            self._check_parameters(judge, voters)
        cache = self._cache(section)
        if self.faults or judge is None:
            return None, self.faults
        patience = Patience(
            timeout_s=section.timeout_s,
            attempts=section.attempts,
            backoff_s=section.backoff_s,
            retry_budget_s=section.retry_budget_s,
        )
        return Panel(
            name=section.name or self.choice.name.rpartition(":")[2],
            judge=judge,
            voters=tuple(voters),
            repeats=section.repeats,
            concurrency=section.concurrency,
            patience=patience,
            cache=cache,
        ), []

    def _fault(self, path: str, message: str) -> None:
        self.faults.append(Fault(path=path, message=message))

    def _judge(self) -> Judge | None:
        settings = {k: v for k, v in self.choice.settings.items() if k not in JudgeSection.model_fields}
        try:
            factory = load("judges", self.choice.name, self.folder)
            settings = self._known(settings, factory)
            made = build(factory, settings, folder=self.folder, key_path=self.at)
        except ScenarioError as error:
            self.faults += error.faults
            return None
        except PluginError as error:
            self._fault(self.name_at, str(error))
            return None
        if isinstance(made, Judge):
            return made
        members = sorted(n for n in dir(Judge) if not n.startswith("_"))
        missing = ", ".join(n for n in members if not hasattr(made, n))
        self._fault(self.name_at, f'"{self.choice.name}" gives no judge: it lacks {missing}')
        return None

    def _known(self, settings: Mapping[str, Any], factory: Factory) -> dict[str, Any]:
        """*settings* without those that neither the judge nor every judge has, which are faults."""
        model = settings_model(factory, ("folder",))
        if model.model_config.get("extra") == "allow":
            return dict(settings)
        allowed = (*model.model_fields, *JudgeSection.model_fields)
        for name in settings:
            if name not in allowed:
                known = ", ".join(allowed)
                message = f'"{name}" is not a setting here{nearest(str(name), allowed)} (allowed: {known})'
                self._fault(f"{self.at}.{name}", message)
        return {name: value for name, value in settings.items() if name in allowed}

    def _section(self) -> JudgeSection | None:
        common = {k: v for k, v in self.choice.settings.items() if k in JudgeSection.model_fields}
        try:
            section = JudgeSection.model_validate(common)
        except ValidationError as error:
            self.faults += faults_of(error, JudgeSection, common, self.at)
            return None
        if bool(section.adapter) == bool(section.voters):
            which = "both are there" if section.adapter else "neither is there"
            self._fault(self.at, f"a judge needs an adapter, or voters with one each; {which}")
            return None
        return section

    def _voters(self, section: JudgeSection) -> list[Voter]:
        limit = _limit(section.limit)
        if section.adapter is not None:
            alone = VoterSection(adapter=section.adapter, settings=section.settings, prices=section.prices)
            one = self._voter(alone, limit, None, self.at)
            return [one] if one else []
        if section.settings:
            self._fault(f"{self.at}.settings", "belongs to adapter; each voter has settings of its own")
        found = [
            self._voter(voter, _limit(voter.limit) or limit, section.prices, f"{self.at}.voters[{number}]")
            for number, voter in enumerate(section.voters)
        ]
        voters = [voter for voter in found if voter]
        names = [voter.name for voter in voters]
        for number, name in enumerate(names):
            if name in names[:number]:
                self._fault(f"{self.at}.voters[{number}]", f'"{name}" is there twice; give it a name')
        return voters

    def _voter(
        self, section: VoterSection, limit: PolitenessLimit | None, prices: Prices | None, at: str
    ) -> Voter | None:
        try:
            factory = load("adapters", section.adapter, self.folder)
            adapter = build(factory, section.settings, folder=self.folder, key_path=f"{at}.settings")
        except ScenarioError as error:
            self.faults += error.faults
            return None
        except PluginError as error:
            self._fault(f"{at}.adapter", str(error))
            return None
        if not isinstance(adapter, Adapter):
            self._fault(f"{at}.adapter", f'"{section.adapter}" gives no adapter')
            return None
        model = section.settings.get("model")
        return Voter(
            name=section.name or (f"{section.adapter}/{model}" if model else section.adapter),
            adapter=adapter,
            identity=identity(section.adapter, section.settings, self.folder),
            limit=limit,
            prices=section.prices or prices or self._prices.prices_of(model),
        )

    def _check_parameters(self, judge: Judge, voters: list[Voter]) -> None:
        needed = ", ".join(judge.needed_parameters)
        for voter in voters:
            if needed and not voter.takes_parameters:
                mode = getattr(judge, "mode", None)
                how = f' (mode "{mode}")' if mode else ""
                self._fault(
                    self.at,
                    f'"{voter.name}" can\'t pass parameters on to its model, and this judge{how} sends '
                    f"{needed}; use an adapter that can (openai), or settings that need none",
                )

    def _cache(self, section: JudgeSection) -> Path | None:
        if isinstance(section.cache, Path):
            return self.folder / section.cache.expanduser()
        return cache_path("verdicts.db") if section.cache else None


def _limit(section: LimitSection | None) -> PolitenessLimit | None:
    return PolitenessLimit(section.asks, section.per_s) if section else None


def identity(adapter: str, settings: Mapping[str, Any], folder: Path) -> str:
    """
    What an adapter's replies depend on, as JSON: its name, its settings and the files they name.

    Secrets, headers and names of environment variables are left out: they decide whether there is a
    reply, not which.
    """
    files: dict[str, str] = {}
    kept = _without_secrets(settings)
    for text in (adapter, *_texts(kept)):
        path = folder / re.sub(r"(?<=\.py):.*", "", text)
        # A local script or list of answers can change under the same name.
        if len(text) < 1000 and "\n" not in text and path.suffix and path.is_file():
            files[text] = hashlib.sha256(path.read_bytes()).hexdigest()
    return json.dumps({"adapter": adapter, "settings": kept, "files": files}, sort_keys=True, default=str)


def _without_secrets(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _without_secrets(v) for k, v in value.items() if not _is_secret(str(k))}
    if isinstance(value, list | tuple):
        return [_without_secrets(item) for item in value]
    return value


def _is_secret(name: str) -> bool:
    return name.lower() in ("headers", "token") or name_tells(name) in ("key", "variable")


def _texts(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [text for item in value.values() for text in _texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [str(value)] if isinstance(value, str | Path) else []
