"""
Builds what a scenario names: readers, systems, policies, scorers, the coreference service.

Everything is built before anything is asked, so that every fault of a scenario is known at once. Where code
that a scenario names may not run, the rest is built and checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from replay.core.adapter import Adapter
from replay.core.asking.limits import RateLimit
from replay.core.asking.retries import RetryPolicy
from replay.core.conversation import Conversation
from replay.core.errors import CodeNotRunError, DatasetError, Fault, ScenarioError
from replay.coreference.drift import DriftDetector
from replay.coreference.service.service import CoreferenceService
from replay.datasets.loading import playable_conversations, read_conversations
from replay.datasets.reader import Reader
from replay.play.load.level import Objective, parse_objectives
from replay.play.load.section import LoadSection
from replay.play.play import System
from replay.policies.policy import Policy, asking, most_turns
from replay.scenario.assertions.faults import assertion_faults, score_units
from replay.scenario.combinations import (
    check_answer_cache,
    check_cluster,
    check_history,
    check_in_memory,
    check_judge_names,
    check_recorded,
    check_repeats,
    check_telemetry,
    check_workers,
    is_pairwise,
)
from replay.scenario.part_builder import PartBuilder, Unread
from replay.scenario.reading import ScenarioFile, add_lines
from replay.scenario.sections import DriftSection, Scenario
from replay.scenario.tools_building import with_tools
from replay.scorers.scorer import Scorer

if TYPE_CHECKING:
    from replay.scorers.judges.panel import Panel

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """A scenario's parts, ready to play."""

    file: ScenarioFile
    reader: Reader | None
    """None where each file's format is to be found out."""
    paths: tuple[Path, ...]
    given: Sequence[Conversation] | None
    """The conversations, where they come from memory and no file."""
    systems: tuple[System, ...]
    resolving: CoreferenceService | None
    """None where the resolver is among the ``unread``."""
    policies: Mapping[str, Policy]
    """By label, in the scenario's order."""
    scorers: Mapping[str, Scorer[Any]]
    """By label, in the scenario's order."""
    judges: tuple[Panel, ...] = ()
    adapters: Mapping[str, Adapter]
    """All that are asked, by the key path of their settings, or that of the policy or resolver that asks."""
    unread: tuple[Unread, ...] = ()
    """The parts that are missing since they are code; none in what is played."""
    data_faults: tuple[Fault, ...] = ()
    """Why the data can't be read, where it was read before and need not be again."""

    @property
    def service(self) -> CoreferenceService:
        """The coreference service; only of an assembly that was built completely."""
        assert self.resolving is not None
        return self.resolving

    @property
    def load(self) -> LoadSection | None:
        return self.file.scenario.load

    @property
    def asking(self) -> dict[str, Policy]:
        """The policies as they ask, by label: without verdicts on which nothing asked depends."""
        return {label: asking(policy) for label, policy in self.policies.items()}

    @property
    def detector(self) -> DriftDetector | None:
        """The drift detector of the first policy that detects drift; None if no policy does."""
        for policy in self.policies.values():
            detector = getattr(policy, "detector", None)
            if isinstance(detector, DriftDetector) and getattr(policy, "detect", True):
                return detector
        return None

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """The objectives of a load run."""
        return parse_objectives(self.load.slo, scorers=self.scorers) if self.load else ()

    @property
    def limits(self) -> dict[str, RateLimit]:
        """All politeness limits of what is asked while it is played, by who has them."""
        rewriters = {label: _asked_by(policy) for label, policy in self.policies.items()}
        found = {
            **{f"system {system.name}": system.limit for system in self.systems},
            **{f"policy {label}": getattr(rewriter, "limit", None) for label, rewriter in rewriters.items()},
            "resolver": self.service.asked.model.limit if self.service.asked else None,
        }
        return {who: limit for who, limit in found.items() if isinstance(limit, RateLimit)}

    @property
    def patience(self) -> RetryPolicy:
        play = self.file.scenario.play
        return RetryPolicy(
            timeout_s=play.timeout_s,
            # Under load a retry would hide a failure and add to the load that made it.
            attempts=1 if self.load and "attempts" not in play.model_fields_set else play.attempts,
            backoff_s=play.backoff_s,
            retry_budget_s=play.retry_budget_s,
            stop_after=play.stop_after,
            fail_fast=play.fail_fast,
            seed=self.file.scenario.seed,
        )

    def conversations(self, on_bad: Callable[[DatasetError], None] | None) -> Iterator[Conversation]:
        """
        Yield the scenario's conversations, read as they are needed.

        Args:
            on_bad: Called with the error of each conversation that can't be read; None to raise it.

        Raises:
            ScenarioError: there are ``data_faults``, or a policy can't play a conversation, since that has
                a goal and no recorded questions, or no goal.
        """
        if self.data_faults:
            raise ScenarioError(self.file.source, add_lines(self.data_faults, self.file.lines))
        data = self.file.scenario.data
        if self.given is not None:
            found = playable_conversations(self.given, on_bad=on_bad, limit=data.limit)
        else:
            found = read_conversations(self.paths, reader=self.reader, on_bad=on_bad, limit=data.limit)
        if data.ask == "last":
            found = (replace(one, asked_from=len(one.turns)) for one in found)
        return map(self._with_turns, found)

    def _with_turns(self, conversation: Conversation) -> Conversation:
        """Return *conversation*, with room for a user's turns where it has a goal in their place."""
        most = {label: most_turns(policy) for label, policy in self.policies.items()}
        known = [turns for turns in most.values() if turns is not None]
        for index, (label, turns) in enumerate(most.items()):
            if (turns is None) != (conversation.goal is None):
                raise ScenarioError(
                    self.file.source,
                    add_lines([_unfit_policy(index, label, conversation)], self.file.lines),
                )
        return conversation.with_open_turns(max(known)) if conversation.goal and known else conversation


def _unfit_policy(index: int, label: str, conversation: Conversation) -> Fault:
    if conversation.goal is None:
        message = (
            f'"{label}" plays conversations from a goal, and "{conversation.id}" has none, but recorded '
            'questions; give it one ("goal": {"wants": "..."}, docs/simulate.md), or take another policy'
        )
    else:
        message = (
            f'"{label}" asks recorded questions, and "{conversation.id}" has a goal and none; simulate plays '
            "it (docs/simulate.md)"
        )
    return Fault(path=f"policies[{index}]", message=message)


def assemble(file: ScenarioFile, *, data_is_read: bool = False) -> Assembly:
    """
    Build everything *file* names. Where its *data_is_read*, what is wrong with that is no fault by itself.

    Raises:
        ScenarioError: something can't be built, or two parts don't go together; all faults at once.
        CodeNotRunError: something is code, which may not run here (``core.safety.consent``).
    """
    assembly, faults = try_assemble(file, data_is_read=data_is_read)
    if faults:
        raise ScenarioError(file.source, faults)
    for _, target in assembly.unread:
        raise CodeNotRunError(target)
    return assembly


def try_assemble(file: ScenarioFile, *, data_is_read: bool = False) -> tuple[Assembly, list[Fault]]:
    """
    Build as much of *file* as needs no code that may not run here.

    Args:
        data_is_read: The conversations are stored already: data that can't be read is no fault, and is kept
            in ``Assembly.data_faults``.

    Returns:
        The parts that could be built, and all faults in the order of the file.
    """
    scenario = file.scenario
    builder = PartBuilder(file.folder)
    builder.read_prices(scenario.prices)
    play = scenario.play
    systems = builder.systems(scenario.systems, keep_raw=play.keep_raw, cache=play.cache)
    systems = with_tools(builder, scenario, systems)
    if scenario.load and any(system and system.keep_raw for system in systems):
        builder.fault("load", "replies can't be kept under load; leave keep_raw out of this scenario")
    service = builder.service(scenario.drift)
    policies = builder.policies(scenario.policies, detector=detector_of(builder, service, scenario.drift))
    scorers = builder.scorers(scenario.scorers)
    judges: list[Panel | None] = []
    if scenario.judges:
        from replay.scenario.judge_section import build_panels

        judges = build_panels(builder, scenario.judges)
    check_judge_names(builder, judges, scorers)
    if scenario.recorded and all(judges):
        pairwise = [panel.name for panel in judges if panel and is_pairwise(panel.judge)]
        check_recorded(scenario.recorded, pairwise, [p.name for p in judges if p], builder.fault)
    builder.faults += assertion_faults(
        scenario.assertions,
        systems=[s.name for s in scenario.systems],
        policies=[c.label for c in scenario.policies],
        metrics=score_units(scorers, judges, recorded=scenario.recorded is not None),
        folder=file.folder,
        repeats=scenario.play.repeats,
    )
    before_data = len(builder.faults)
    reader, paths = builder.reader(scenario.data), builder.paths(scenario.data)
    given = builder.in_memory_conversations(scenario.data)
    data_faults = tuple(builder.faults[before_data:]) if data_is_read else ()
    if data_faults:
        del builder.faults[before_data:]
    check_in_memory(builder, file)
    check_workers(builder, file)
    check_cluster(builder, file)
    check_history(builder, file, systems, policies)
    check_repeats(builder, file, systems)
    check_answer_cache(scenario, systems, builder.fault, is_begun=data_is_read)
    check_telemetry(scenario, file.folder, builder.fault)
    if scenario.load and all(scorers.values()):
        try:
            parse_objectives(scenario.load.slo, scorers=_all(scorers))
        except ValueError as error:
            builder.fault("load.slo", str(error))
    assembly = Assembly(
        file=file,
        reader=reader,
        paths=paths,
        given=given,
        systems=tuple(system for system in systems if system),
        resolving=service,
        policies=_all(policies),
        scorers=_all(scorers),
        judges=tuple(panel for panel in judges if panel),
        adapters={**builder.adapters, **dict(_plugin_endpoints(scenario, service, policies))},
        unread=tuple(builder.unread),
        data_faults=data_faults,
    )
    return assembly, add_lines(builder.faults, file.lines)


def _plugin_endpoints(
    scenario: Scenario, service: CoreferenceService | None, policies: Mapping[str, Policy | None]
) -> Iterator[tuple[str, Adapter]]:
    """
    Yield the adapters that the resolver and the policies' rewriters and users ask, by key path of their
    entry.
    """
    if service is not None and service.asked is not None:
        yield "drift.resolver", service.asked.model.adapter
    for index, choice in enumerate(scenario.policies):
        adapter = getattr(_asked_by(policies.get(choice.label)), "adapter", None)
        if adapter is not None:
            yield f"policies[{index}]", adapter


def _asked_by(policy: Policy | None) -> object:
    """Return what *policy* may ask while it plans: its rewriter, or its user."""
    return getattr(policy, "rewriter", None) or getattr(policy, "user", None)


def _all(parts: Mapping[str, T | None]) -> dict[str, T]:
    """Return *parts*, none of which failed."""
    return {label: part for label, part in parts.items() if part is not None}


def detector_of(
    builder: PartBuilder, service: CoreferenceService | None, drift: DriftSection
) -> DriftDetector | None:
    """
    Return a drift detector with the settings of *drift*; None without *service*.

    Faults, such as settings that contradict each other, are added to *builder*.
    """
    if drift.mode != "evalconvqa":
        for key, chosen in (("match", drift.match != "f1"), ("skip_entity", not drift.skip_entity)):
            if chosen:
                builder.fault(f"drift.{key}", "needs mode: evalconvqa, whose setting it is")
    if service is None:
        return None
    for key in ("mode", "threshold", "match", "skip_entity"):
        if service.asked is not None and key in drift.model_fields_set:
            builder.fault(
                f"drift.{key}", f'resolver "{drift.resolver}" gives the verdict itself; leave it out'
            )
    return DriftDetector(
        service=service,
        window=drift.window,
        background=drift.background,
        mode=drift.mode,
        threshold=drift.threshold,
        min_similarity=drift.semantic.min_similarity if drift.semantic else None,
        match=drift.match,
        skip_entity=drift.skip_entity,
    )
