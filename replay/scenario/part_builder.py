"""
Builds the parts that a scenario names, and collects faults instead of stopping at the first.

Where an entry of the scenario is faulty in itself, None stands in its place: so it does in what is built.

``history``, which every policy takes among its settings: how much of its history a system is shown.

Taken out before a policy sees its settings, so that it works for those of others as well.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import Field, ValidationError, model_validator

from replay.core.adapter import Adapter
from replay.core.asking.costs import NO_PRICES, PriceTable, read_price_table
from replay.core.asking.limits import RateLimit
from replay.core.conversation import Conversation
from replay.core.disk_cache import DiskCache
from replay.core.errors import CodeNotRunError, DatasetError, Fault, PluginError, ReplayError, ScenarioError
from replay.core.history import HistoryView
from replay.core.settings.choice import Choice, LimitSection, Section
from replay.core.settings.faults import faults_of
from replay.core.settings.in_memory import is_in_memory, lookup_object
from replay.core.settings.plugins import Factory, Kind, build, load, misfit
from replay.coreference.drift import DriftDetector
from replay.coreference.reading.resolver import Resolver
from replay.coreference.service.semantic import SemanticEncoder
from replay.coreference.service.service import CoreferenceService, ResolverChoice
from replay.datasets.loading import expand
from replay.datasets.reader import Reader
from replay.play.play import AnswerCache, System, open_answers
from replay.policies.policy import Policy, ViewedPolicy
from replay.scenario.sections import DataSection, DriftSection, SystemSection
from replay.scorers.observing import smoke_test
from replay.scorers.scorer import CheckedScorer, Scorer

HISTORY = "history"
_FORMS = "user-only, session, {last: 4}, or several as {last: 4, user-only: true}"
_WORDS = ("user-only", "session")


class HistorySection(Section):
    """``user-only`` stands for ``{user-only: true}``, and ``session`` for ``{session: true}``."""

    last: int | None = Field(default=None, ge=0)
    """Exchanges at most, the newest ones."""
    session: bool = False
    """The present session alone, where the data say which turns are of one session."""
    user_only: bool = Field(default=False, alias="user-only")
    """The questions alone, without any answer."""

    @model_validator(mode="before")
    @classmethod
    def _in_full(cls, value: Any) -> Any:
        if value in _WORDS:
            return {value: True}
        if not isinstance(value, Mapping) or not value:
            raise ValueError(f"{value!r:.60} says nothing that can be cut; expected {_FORMS}")
        return value


def with_views(
    policies: Mapping[str, Policy | None], choices: Sequence[Choice | None], faults: list[Fault]
) -> dict[str, Policy | None]:
    """Return *policies* by label, each with the history view that its choice sets; add faults to *faults*."""
    viewed = dict(policies)
    for index, choice in enumerate(choices):
        if choice is None or HISTORY not in choice.settings:
            continue
        value, policy = choice.settings[HISTORY], policies[choice.label]
        try:
            section = HistorySection.model_validate(value)
        except ValidationError as error:
            at = f"policies[{index}].{choice.settings_key}.{HISTORY}"
            faults += faults_of(error, HistorySection, value, at)
            continue
        view = HistoryView(last=section.last, session=section.session, user_only=section.user_only)
        viewed[choice.label] = policy and ViewedPolicy(policy=policy, view=view)
    return viewed


T = TypeVar("T")


class Unread(NamedTuple):
    """A part that is not built where code may not run."""

    at: str
    """Its key path."""
    target: str
    """The code that it needs."""


class PartBuilder:
    """Builds part after part; what went wrong is in ``faults``."""

    def __init__(self, folder: Path, prices: PriceTable = NO_PRICES) -> None:
        """*folder* is what relative paths start from."""
        self.folder = folder
        self.prices: PriceTable = prices
        """For the systems and judges that say nothing of theirs."""
        self.faults: list[Fault] = []
        self.unread: list[Unread] = []
        """The parts that are not built, since their code may not run here (``core.safety.consent``)."""
        self.adapters: dict[str, Adapter] = {}
        """Those of systems and judges, by the key path of their settings."""

    def fault(self, path: str, message: str) -> None:
        self.faults.append(Fault(path=path, message=message))

    def factory(self, kind: Kind, name: str, at: str) -> Factory | None:
        """Load the plug-in called *name*, and return what builds it; None, with a fault, if that fails."""
        try:
            return load(kind, name, self.folder)
        except CodeNotRunError as error:
            self.unread.append(Unread(at, error.target))
        except PluginError as error:
            self.fault(at, str(error))
        return None

    def build(
        self,
        factory: Factory,
        name: str,
        settings: Mapping[str, Any],
        protocol: type[T],
        *,
        name_at: str,
        settings_at: str,
        provided: Mapping[str, Any] | None = None,
    ) -> T | None:
        """
        Build a part from *settings*; note a fault and return None if that fails.

        Args:
            factory: Called with the settings.
            name: The plug-in's name, for messages.
            protocol: What the part has to implement.
            name_at: The key path of the name in the scenario.
            settings_at: The key path of the settings.
            provided: Arguments that are not settings, by parameter name.
        """
        try:
            made = build(factory, settings, provided=provided, folder=self.folder, key_path=settings_at)
        except ScenarioError as error:
            self.faults += error.faults
            return None
        except CodeNotRunError as error:
            self.unread.append(Unread(name_at, error.target))
            return None
        except PluginError as error:
            self.fault(name_at, f'"{name}": {error}')
            return None
        if why := misfit(made, protocol):
            self.fault(name_at, f'"{name}" gives no {protocol.__name__.lower()}: {why}{_another_kind(made)}')
            return None
        return typing.cast(T, made)

    def plugin(
        self, kind: Kind, name: str, settings: Mapping[str, Any], protocol: type[T], **where: Any
    ) -> T | None:
        """Load and build the plug-in called *name* with *settings*; *where* is passed on to ``build``."""
        factory = self.factory(kind, name, where["name_at"])
        return None if factory is None else self.build(factory, name, settings, protocol, **where)

    def choices(
        self,
        kind: Kind,
        choices: Sequence[Choice | None],
        protocol: type[T],
        *,
        not_theirs: str | None = None,
        **provided: Any,
    ) -> dict[str, T | None]:
        """
        Build the plug-ins of the section *kind*, and return them by label; None for one that can't be built.

        Args:
            not_theirs: A setting that is allowed for every plug-in and is not passed to any.
            provided: Arguments that are not settings, by parameter name.
        """
        self.check_unique([choice.label if choice else None for choice in choices], kind)
        return {
            choice.label: self.plugin(
                kind,
                choice.name,
                {name: value for name, value in choice.settings.items() if name != not_theirs},
                protocol,
                name_at=f"{kind}[{index}]",
                settings_at=f"{kind}[{index}].{choice.settings_key}",
                provided=provided,
            )
            for index, choice in enumerate(choices)
            if choice
        }

    def policies(
        self, choices: Sequence[Choice | None], *, detector: DriftDetector | None
    ) -> dict[str, Policy | None]:
        """Build the policies by label; without a *detector* this only serves to find faults."""
        protocol: type[Any] = Policy if detector else object  # a signature may name the detector's
        made: dict[str, Policy | None] = self.choices(
            "policies", choices, protocol, not_theirs=HISTORY, detector=detector, price_table=self.prices
        )
        return with_views(made, choices, self.faults)

    def scorers(self, choices: Sequence[Choice | None]) -> dict[str, Scorer[Any] | None]:
        """Build the scorers by label; what one needs and lacks is known before anything is asked."""
        scorers: dict[str, Scorer[Any] | None] = self.choices("scorers", choices, Scorer)  # type: ignore[type-abstract]
        for index, choice in enumerate(choices):
            scorer = choice and scorers[choice.label]
            if isinstance(scorer, CheckedScorer):
                try:
                    scorer.check_installed()
                except PluginError as error:
                    self.fault(f"scorers[{index}]", str(error))
                    continue
            if choice and scorer:
                try:
                    smoke_test(choice.label, scorer)
                except PluginError as error:
                    self.fault(f"scorers[{index}]", str(error))
        return scorers

    def read_prices(self, path: Path | None) -> None:
        """Take the table at *path* for the systems and judges that are built from now on."""
        if path is None:
            return
        try:
            self.prices = read_price_table(self.folder / path)
        except ScenarioError as error:
            for fault in error.faults:
                where = "".join(
                    f", {part}" for part in (fault.line and f"line {fault.line}", fault.path) if part
                )
                self.fault("prices", f'"{path}"{where}: {fault.message}')

    def systems(
        self, sections: Sequence[SystemSection | None], *, keep_raw: bool = False, cache: Path | None = None
    ) -> list[System | None]:
        """
        Build the systems; None for one that can't be built.

        Args:
            keep_raw: Whether to keep raw replies where a section doesn't say.
            cache: The folder for cached answers.
        """
        self.check_unique([section.name if section else None for section in sections], "systems")
        answers = open_answers(cache, self.folder)
        return [
            None if section is None else self._system(section, f"systems[{index}]", keep_raw, answers)
            for index, section in enumerate(sections)
        ]

    def _system(
        self, section: SystemSection, at: str, keep_raw: bool, answers: DiskCache | None
    ) -> System | None:
        adapter = self.adapter(section.adapter, section.settings, at)
        if adapter is None:
            return None
        kept = None
        if answers is not None and section.cache is not False:
            name, folder = section.adapter, self.folder
            kept = AnswerCache.of(section.name, name, section.settings, disk=answers, folder=folder)
        return System(
            name=section.name,
            adapter=adapter,
            limit=politeness(section.limit),
            keep_raw=keep_raw if section.keep_raw is None else section.keep_raw,
            prices=section.prices or self.prices.prices_of(section.settings.get("model")),
            answers=kept,
            one_session=section.sessions == "one",
        )

    def adapter(self, name: str, settings: Mapping[str, Any], at: str) -> Adapter | None:
        """Build the adapter of the entry *at*; None if that fails."""
        places = {"name_at": f"{at}.adapter", "settings_at": f"{at}.settings"}
        made = self.plugin("adapters", name, settings, Adapter, **places)  # type: ignore[type-abstract]
        if made is not None:
            self.adapters[places["settings_at"]] = made
        return made

    def service(self, drift: DriftSection) -> CoreferenceService | None:
        choice = ResolverChoice(
            name=drift.resolver, settings=drift.settings, folder=self.folder, prices=self.prices
        )
        encoder = None
        if drift.semantic:
            try:
                encoder = SemanticEncoder(model=drift.semantic.model, folder=self.folder)
            except ReplayError as error:
                self.fault("drift.semantic", str(error))
        try:
            return CoreferenceService(
                choice, workers=drift.nlp_workers, encoder=encoder, timeout_s=drift.timeout_s
            )
        except ScenarioError as error:
            self.faults += error.faults
        except CodeNotRunError as error:
            self.unread.append(Unread("drift.resolver", error.target))
        except ReplayError as error:
            self.fault("drift.resolver", str(error))
        return None

    def reader(self, data: DataSection) -> Reader | None:
        if data.format is None:
            if data.settings:
                self.fault("data.settings", "needs data.format, since settings belong to one reader")
            return None
        places = {"name_at": "data.format", "settings_at": "data.settings"}
        return self.plugin("readers", data.format, data.settings, Reader, **places)  # type: ignore[type-abstract]

    def in_memory_conversations(self, data: DataSection) -> Sequence[Conversation] | None:
        """Return the conversations if they come from memory, else None."""
        if not is_in_memory(data.path):
            return None
        for key in ("format", "settings"):
            if getattr(data, key):
                self.fault(f"data.{key}", "conversations from memory are in no format; leave it out")
        try:
            conversations = tuple(lookup_object(str(data.path)))
        except PluginError as error:
            self.fault("data.path", str(error))
            return None
        for index, conversation in enumerate(conversations):
            if conversation.asked_from != 1:
                self.fault(
                    f"data.path[{index}]", "has asked_from; a run asks the last turn alone by data.ask: last"
                )
        return conversations

    def paths(self, data: DataSection) -> tuple[Path, ...]:
        if is_in_memory(data.path):
            return ()
        try:
            return tuple(expand(data.paths, self.folder))
        except DatasetError as error:
            self.fault("data.path", str(error))
            return ()

    def check_unique(self, names: Sequence[str | None], at: str) -> None:
        for index, name in enumerate(names):
            if name is not None and name in names[:index]:
                self.fault(f"{at}[{index}]", f'"{name}" is there twice; results are kept by name')


def politeness(section: LimitSection | None) -> RateLimit | None:
    """Return the rate limit that *section* describes; None without *section*."""
    return RateLimit(section.asks, section.per_s) if section else None


def _another_kind(made: object) -> str:
    """Return the end of a message: which kind of plug-in *made* is, or where to read how one is made."""
    from replay.scorers.judges.judge import Judge

    known: Mapping[str, type] = {
        "an adapter, for systems": Adapter,
        "a judge, for judges": Judge,
        "a reader, for data.format": Reader,
        "a policy, for policies": Policy,
        "a resolver, for drift.resolver": Resolver,
        "a scorer, for scorers": Scorer,
    }
    kinds = [kind for kind, protocol in known.items() if not misfit(made, protocol)]
    return f"; it is {kinds[0]}" if kinds else "; docs/plugins.md shows a whole one"
