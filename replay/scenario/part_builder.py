"""
Builds the parts that a scenario names, and collects faults instead of stopping at the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from replay.core.adapter import Adapter
from replay.core.asking.politeness import PolitenessLimit
from replay.core.errors import DatasetError, Fault, PluginError, ReplayError, ScenarioError
from replay.core.settings.choice import Choice
from replay.core.settings.plugins import Kind, build, load
from replay.core.settings.prices import NO_PRICES, read_price_table
from replay.coreference.semantic import SemanticEncoder
from replay.coreference.service import CoreferenceService, ResolverChoice
from replay.datasets.loading import expand
from replay.datasets.reader import Reader
from replay.play.player import System
from replay.scenario.judge_section import build_panel
from replay.scenario.sections import DataSection, DriftSection, SemanticSection, SystemSection
from replay.scorers.judges.panel import Panel
from replay.scorers.scorer import CheckedScorer

T = TypeVar("T")


class PartBuilder:
    """Builds part after part; what went wrong is in ``faults``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.faults: list[Fault] = []
        self._prices = NO_PRICES

    def fault(self, path: str, message: str) -> None:
        self.faults.append(Fault(path=path, message=message))

    def plugin(
        self,
        kind: Kind,
        name: str,
        settings: Mapping[str, Any],
        protocol: type[T],
        *,
        name_at: str,
        settings_at: str,
        provided: Mapping[str, Any] | None = None,
    ) -> T | None:
        at = name_at
        try:
            factory = load(kind, name, self.folder)
            at = settings_at
            made = build(factory, settings, provided=provided, folder=self.folder, key_path=settings_at)
        except ScenarioError as error:
            self.faults += error.faults
            return None
        except PluginError as error:
            self.fault(at, str(error))
            return None
        if not isinstance(made, protocol):
            missing = ", ".join(n for n in _members(protocol) if not hasattr(made, n))
            self.fault(name_at, f'"{name}" gives no {protocol.__name__.lower()}: it lacks {missing}')
            return None
        return made

    def prices(self, path: Path | None) -> None:
        """Take the table at *path* for the systems and judges that are built from now on."""
        if path is None:
            return
        try:
            self._prices = read_price_table(self.folder / path)
        except ScenarioError as error:
            for fault in error.faults:
                where = "".join(
                    f", {part}" for part in (fault.line and f"line {fault.line}", fault.path) if part
                )
                self.fault("prices", f'"{path}"{where}: {fault.message}')

    def system(self, section: SystemSection, at: str, *, keep_raw: bool = False) -> System | None:
        """*keep_raw* is what holds where *section* says nothing of it."""
        adapter = self.plugin(
            "adapters",
            section.adapter,
            section.settings,
            Adapter,  # type: ignore[type-abstract]
            name_at=f"{at}.adapter",
            settings_at=f"{at}.settings",
        )
        if adapter is None:
            return None
        limit = PolitenessLimit(section.limit.asks, section.limit.per_s) if section.limit else None
        keep = keep_raw if section.keep_raw is None else section.keep_raw
        prices = section.prices or self._prices.prices_of(section.settings.get("model"))
        return System(name=section.name, adapter=adapter, limit=limit, keep_raw=keep, prices=prices)

    def service(self, drift: DriftSection) -> CoreferenceService | None:
        choice = ResolverChoice(name=drift.resolver, settings=drift.settings, folder=self.folder)
        try:
            encoder = self.encoder(drift.semantic)
            service = CoreferenceService(choice, workers=drift.nlp_workers, encoder=encoder)
        except ScenarioError as error:
            self.faults += error.faults
            return None
        except ReplayError as error:
            self.fault("drift.resolver", str(error))
            return None
        return service

    def encoder(self, semantic: SemanticSection | None) -> SemanticEncoder | None:
        if semantic is None:
            return None
        try:
            return SemanticEncoder(model=semantic.model, folder=self.folder)
        except ReplayError as error:
            self.fault("drift.semantic", str(error))
            return None

    def choice(self, kind: Kind, choice: Choice, protocol: type[T], at: str, **provided: Any) -> T | None:
        return self.plugin(
            kind,
            choice.name,
            choice.settings,
            protocol,
            name_at=at,
            settings_at=f"{at}.{choice.name}",
            provided=provided,
        )

    def judge(self, choice: Choice, at: str) -> Panel | None:
        panel, faults = build_panel(choice, folder=self.folder, at=at, prices=self._prices)
        self.faults += faults
        return panel

    def reader(self, data: DataSection) -> Reader | None:
        if data.format is None:
            if data.settings:
                self.fault("data.settings", "needs data.format, since settings belong to one reader")
            return None
        return self.plugin(
            "readers",
            data.format,
            data.settings,
            Reader,  # type: ignore[type-abstract]
            name_at="data.format",
            settings_at="data.settings",
        )

    def paths(self, data: DataSection) -> tuple[Path, ...]:
        try:
            return tuple(expand(data.paths, self.folder))
        except DatasetError as error:
            self.fault("data.path", str(error))
            return ()

    def installed(self, scorer: object, at: str) -> None:
        """What a scorer will need is best missed before anything was asked."""
        if isinstance(scorer, CheckedScorer):
            try:
                scorer.check_installed()
            except PluginError as error:
                self.fault(at, str(error))

    def unlike(self, names: list[str], at: str) -> None:
        for index, name in enumerate(names):
            if name in names[:index]:
                self.fault(f"{at}[{index}]", f'"{name}" is there twice; results are kept by name')


def _members(protocol: type) -> list[str]:
    return sorted(n for n in dir(protocol) if not n.startswith("_"))
