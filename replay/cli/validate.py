"""``replay validate``: everything that can be known about a scenario before anything is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from replay.cli.arguments import ScenarioArgument
from replay.cli.output import echo
from replay.core.message import instructions
from replay.datasets.turn_metadata import LEFT_OUT, OmissionCounts

if TYPE_CHECKING:
    from replay.core.adapter import Adapter
    from replay.core.conversation import Conversation
    from replay.coreference.drift import DriftDetector
    from replay.scenario.assembly import Assembly


def validate(
    scenario: ScenarioArgument,
    data: Annotated[bool, typer.Option("--data/--no-data", help="Read all of the data as well.")] = True,
) -> None:
    """
    Check a scenario and its data; list every fault, and what it would run, ask and send.

    Asks no system anything, and runs no code that the scenario names.
    """
    from replay.core.errors import DatasetError, InputError, ScenarioError
    from replay.report.numbers import count_text
    from replay.runs.launch import load_scenario
    from replay.scenario.assembly import try_assemble
    from replay.scenario.expected_checks import ExpectedChecks

    file = load_scenario(scenario)
    assembly, wrong = try_assemble(file)
    if wrong:
        _show_what_it_does(assembly)
        echo("            (as far as faulty parts can be read)")
        raise ScenarioError(file.source, wrong)
    faults: list[DatasetError] = []
    found, expected = _Data(assembly.detector), ExpectedChecks(assembly)
    data = data and not any(at == "data.format" for at, _ in assembly.unread)
    if data:
        for conversation in assembly.conversations(faults.append):
            found.add(conversation)
            expected.add(conversation)
    skip_bad = file.scenario.data.skip_bad
    if faults and not skip_bad:
        listed = "\n".join(f"  {fault}" for fault in faults[:20])
        more = f"\n  ... and {len(faults) - 20} more" if len(faults) > 20 else ""
        raise InputError(
            f"{file.source}: {count_text(len(faults), 'conversation')} can't be read (--skip-bad goes on "
            "without them)\n"
            f"{listed}{more}"
        )
    if data:
        expected.validate()
    within_s = _recorded_s(assembly) if data else None
    echo(f"{file.source}: fine")
    if data:
        bad = f", {len(faults)} can't be read and will be skipped" if faults else ""
        counted = count_text(found.conversations, "conversation") + (" with goals" if found.has_goals else "")
        if found.turns or not found.has_goals:  # a policy that is code alone knows how many turns it takes
            counted += f", {'at most ' if found.has_goals else ''}{count_text(found.turns, 'turn')}"
        echo(f"  data      {counted}{bad}")
        for remark in (*found.remarks(), *expected.remarks()):
            echo(f"            {remark}")
    for system in assembly.systems:
        echo(f"  system    {system.name}: history kept by the {system.adapter.history}")
        if system.tools:
            echo(f"            tools: {system.tools.signature}")
        if found.prompted:
            echo(f"            {_prompts_sent(system.adapter, found.prompted)}")
    for path in dict.fromkeys(system.answers.disk.path for system in assembly.systems if system.answers):
        echo(f"  cache     {path}: answers are kept there and taken from there")
    for label, policy in assembly.policies.items():
        # Without its resolver a policy can't say which it is.
        signature = policy.signature if assembly.resolving else "known when it runs"
        echo(f"  policy    {label}: {signature}")
        if data and not found.sessions and getattr(getattr(policy, "view", None), "session", False):
            echo("            history: session shows all: no turn says which session it is of")
    for scorer in assembly.scorers.values():
        echo(f"  scorer    {scorer.signature}")
    for panel in assembly.judges:
        echo(f"  judge     {panel.name}: {panel.signature}")
    if assembly.load:
        _show_load(assembly, within_s)
    for assertion in file.scenario.assertions:
        echo(f"  assert    {assertion.title}")
    for number, (at, _) in enumerate(assembly.unread):
        later = "; the data is not read" if at == "data.format" else ""
        echo(f"  {'' if number else 'unread':9} {at}: is code{later}")
    if assembly.unread:
        echo("            checked when it runs, and by `replay run --dry-run`")
    _show_what_it_does(assembly)


def _show_what_it_does(assembly: Assembly) -> None:
    from replay.scenario.side_effects import side_effects

    for label, text in side_effects(assembly).lines():
        echo(f"  {label:9} {text}")


class _Data:
    """What the conversations hold, added up."""

    def __init__(self, detector: DriftDetector | None) -> None:
        self._detector = detector
        self.conversations = self.turns = self.prompted = self.sessions = 0
        self.has_goals = False
        self._recorded = self._unanswered = self._calls = 0
        self._left_out = OmissionCounts()
        self._not_judged: Counter[str] = Counter()

    def add(self, conversation: Conversation) -> None:
        recorded = conversation.turns[: conversation.asked_from - 1]
        self.conversations += 1
        self.has_goals = conversation.goal is not None  # all have, or none
        self.turns += len(conversation.asked_depths[self.has_goals :])
        self.prompted += any(instructions(turn.asked_with) for turn in conversation.turns)
        self._recorded += len(recorded)
        self.sessions += len({turn.session for turn in conversation.turns if turn.session})
        self._unanswered += sum(turn.gold_answer is None for turn in recorded)
        self._calls += sum(len(step.tool_calls) for turn in conversation.turns for step in turn.steps)
        self._left_out.add(conversation.metadata.get(LEFT_OUT))
        if self._detector is not None:
            self._not_judged.update(_not_judged(self._detector, conversation))

    def remarks(self) -> Iterator[str]:
        if self._recorded:
            lost = f", {self._unanswered} of them left out for want of an answer" if self._unanswered else ""
            from replay.report.numbers import count_text

            turns = count_text(self._recorded, "turn", ("that is", "that are"))
            yield f"after {turns} shown as recorded{lost}"
        if self.sessions:
            yield f"in {self.sessions:,} sessions"
        if self._calls:
            yield f"{self._calls:,} call{'s' * (self._calls != 1)} of tools recorded"
        yield from self._left_out.remarks()
        for reason, count in self._not_judged.most_common():
            yield f"{count} won't be judged: {reason}"


def _prompts_sent(adapter: Adapter, conversations: int) -> str:
    """Return words on what the adapter does with the system prompts of so many *conversations*."""
    of = f"the system prompts of {conversations} conversation{'s' * (conversations != 1)}"
    unknown = f"adapter {type(adapter).__name__} finds them in request.messages and may not send them"
    why = getattr(adapter, "unsent_system_prompts", unknown)
    return f"sends {of}" if why is None else f"leaves out {of}: {why}"


def _not_judged(detector: DriftDetector, conversation: Conversation) -> Iterator[str]:
    """Yield for each question of *conversation* that will have no drift verdict the reason."""
    for depth in conversation.asked_depths:
        if unread := detector.not_judged(conversation, depth):
            yield unread.not_judged or ""


def _recorded_s(assembly: Assembly) -> float | None:
    """Return how long the data's own arrivals take, where the load is made of them."""
    from replay.play.load.arrivals import recorded_arrivals

    if assembly.load is None or assembly.load.profile != "recorded":
        return None
    arrivals = recorded_arrivals(assembly.conversations(lambda _: None))  # who can't be read has been told
    return arrivals[-1].at_s / assembly.load.speed if arrivals else None


def _show_load(assembly: Assembly, within_s: float | None) -> None:
    """Print how the system would be put under load, and which hosts have to be confirmed."""
    from replay.load.levels import hosts_under_load
    from replay.report.numbers import duration

    load = assembly.load
    assert load is not None
    offered = {"closed": f"{load.concurrency} users", "trace": f"arrivals of {load.trace}"}
    within = "" if within_s is None else f", within {duration(within_s)}"
    offered["recorded"] = f"the data's own arrivals{within}"
    rate = "a sweep" if load.rate is None else f"{load.rate:g} conversations/s"
    how = "a sweep" if load.sweep else offered.get(load.profile, rate)
    echo(f"  load      {load.profile}: {how}, {load.workers} process{'es' * (load.workers > 1)}")
    for objective in assembly.objectives:
        echo(f"            objective: {objective}")
    for host in hosts_under_load(assembly):
        echo(f"            to be confirmed: --allow-host {host}")
