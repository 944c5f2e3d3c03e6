"""
A finished run scored once more, by scorers or by judges, whose verdicts are kept in its database and read
again as columns of scores.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from replay.core.asking.costs import NO_PRICES, AskTally, CostEstimate, read_price_table
from replay.core.errors import Fault, PluginError, RunStoppedError, ScenarioError
from replay.core.lifetimes import in_thread, stoppable
from replay.core.safety.consent import check_consent, code_may_run
from replay.core.settings.choice import Choice
from replay.core.settings.faults import nearest
from replay.results.checking import check_into
from replay.results.consent import actions_of_untrusted_run
from replay.results.recorded import compare_recorded_into
from replay.results.run import Run
from replay.results.scoring import score_into, stored_score
from replay.results.telemetry import send_scores
from replay.results.verdict_columns import JUDGED, judged_of, turn_cases
from replay.scenario.judge_section import build_panel
from replay.scenario.part_builder import PartBuilder
from replay.scenario.reading import read_choices, with_cluster
from replay.scenario.sections import RecordedSection
from replay.scorers.judges.judge import Value
from replay.scorers.judges.judging import ONCE_PER_DIALOGUE, estimate, judge_all, ready_cases
from replay.scorers.judges.panel import Panel, Verdict
from replay.scorers.judges.tally import FlagCount, JudgeSummary, spread_of
from replay.scorers.scorer import Unscored
from replay.store.rows import StoredVerdict
from replay.store.store import RunStore


def score(
    folder: str | Path,
    choices: Sequence[Choice] | None = None,
    *,
    allow_code: bool = False,
    on: str | None = None,
    recorded: RecordedSection | None = None,
) -> Run:
    """
    Score a run's records anew, without asking any system anything.

    With the scorers of its scenario, or with *choices* in their place. In a run that this user did not
    begin on this machine they run no code unless *allow_code* says that they may. Scorers that have a model
    observe on the nodes of the scenario's ``cluster``; *on* as for ``run_async``. *recorded*
    says how answers are held against the recorded ones; left out, as the scenario or an earlier time says.

    Raises:
        InputError: the cluster can't be reached.
        RunError: there is no such run, another process is writing it, or *allow_code* is missing.
        PluginError, ScenarioError: a scorer can't be built.
        RunStoppedError: the cluster has no room, or was lost.
    """
    run = Run(folder)
    scenario = with_cluster(run.scenario(), on).scenario
    if choices is None:
        choices = scenario.scorers
    check_consent(actions_of_untrusted_run(run.folder, scorers=choices), allow_code=allow_code)
    with closing(RunStore(run.folder, write=True)) as store, code_may_run():
        score_into(store, choices, cluster=scenario.cluster)
        check_into(store)
        compare_recorded_into(store, recorded or scenario.recorded)
    send_scores(run.folder, run.scenario())
    return run


def run_panels(
    run: Run,
    names: Sequence[str],
    *,
    repeats: int | None = None,
    cache: bool = True,
    allow_code: bool = False,
) -> list[Panel]:
    """
    Build the judges that *names* select for *run*.

    Args:
        names: The names of judges in *run*'s scenario, ``all`` for all of those, or new ones as they are
            written on the command line.
        repeats: Used instead of the judges' own setting, if given.
        cache: False to judge without the verdict cache.
        allow_code: Build judges that run code or send data, although this user did not begin the run on this
            machine.

    Raises:
        ScenarioError: there is no such judge, or one has faults.
        RunError: *allow_code* is missing.
    """
    file, choices = run.scenario(), chosen_judges(run, names)
    check_consent(actions_of_untrusted_run(run.folder, judges=choices), allow_code=allow_code)
    table = file.scenario.prices
    prices = read_price_table(file.folder / table) if table else NO_PRICES
    return built_panels(PartBuilder(file.folder, prices), choices, repeats=repeats, cache=cache)


def chosen_judges(run: Run, names: Sequence[str]) -> list[Choice]:
    """
    Return the judge entries that *names* select.

    Args:
        names: The names of judges in *run*'s scenario, ``all`` for all of those, or new ones as they are
            written on the command line.

    Raises:
        ScenarioError: there is no such judge.
    """
    file = run.scenario()
    own = {
        choice.called or str(choice.settings.get("name", choice.name)): choice
        for choice in file.scenario.judges
    }
    choices: list[Choice] = []
    for name in names:
        if name == "all":
            choices += own.values()
        elif name in own:
            choices.append(own[name])
        else:
            choices += _as_written(name, own, read_choices([name], "--judge"))
    return choices


@code_may_run()
def built_panels(
    builder: PartBuilder, choices: Sequence[Choice], *, repeats: int | None = None, cache: bool = True
) -> list[Panel]:
    """
    Build the panels of *choices*; *repeats* and *cache* override their own settings.

    Raises:
        ScenarioError: one has faults.
    """
    panels = []
    for choice in choices:
        if panel := build_panel(builder, choice, "--judge"):
            panel = replace(panel, repeats=repeats or panel.repeats)
            panels.append(panel if cache else replace(panel, cache=None))
    if builder.faults:
        raise ScenarioError("--judge", builder.faults)
    return panels


def _as_written(name: str, own: Mapping[str, Choice], choices: list[Choice]) -> list[Choice]:
    if any(choice.settings for choice in choices):
        return choices
    known = ", ".join(own) or "it has none"
    message = (
        f'"{name}" is not a judge of the run\'s scenario{nearest(name, own)} (its judges: {known}); '
        "a new one is written with its settings, as in '{correctness: {adapter: openai, settings: {...}}}'"
    )
    raise ScenarioError("--judge", [Fault(path=name, message=message)])


ProgressCallback = Callable[[str, int, int], None]
"""Learns how far a judge is: its name, cases done, cases in all; must return at once."""


async def judge_into(
    store: RunStore, panels: Sequence[Panel], *, told: ProgressCallback | None = None
) -> None:
    """
    Judge every record in *store* with *panels*, one after another.

    A judge's first verdicts are written as they come: cancelling keeps them. Where it has judged before, its
    earlier verdicts stay until the new ones are complete. What was replied is in the cache in any case.

    Raises:
        PluginError: a judge raised what is no error of ours.
        RunStoppedError: a voter refuses our key and has answered nothing yet.
    """
    judged = {one.name: one for one in judged_of(store)}
    for number, panel in enumerate(panels):
        try:
            await _judge_into(store, panel, judged, told)
        except (PluginError, RunStoppedError) as error:
            left = " ".join(f"--judge {shlex.quote(one.name)}" for one in panels[number:])
            raise type(error)(
                f"{error}\nwhat was answered and judged is kept; once that is mended, go on with: "
                f"replay score {store.folder} {left}"
            ) from error


async def _judge_into(
    store: RunStore, panel: Panel, judged: dict[str, JudgeSummary], told: ProgressCallback | None
) -> None:
    ready, settled = ready_cases(panel, turn_cases(store, panel.judge.level))
    tally = AskTally()
    values: list[list[Mapping[str, Value]]] = []
    numbers = {id(case): number for number, case in enumerate(ready)}
    flagged: dict[int, Verdict] = {}
    earlier = judged.get(panel.name)
    anew = earlier is not None

    def update_summaries() -> list[JudgeSummary]:
        judged[panel.name] = _judge_summary(panel, tally, values, _flags(flagged))
        return list(judged.values())

    def keep(verdict: Verdict) -> None:
        store.add_verdict(_stored_verdict(panel, verdict), anew=anew)
        _add_scores(store, panel, verdict, anew=anew)
        values.append([repeat.values for repeat in verdict.repeats])
        if verdict.flags:
            flagged[numbers[id(verdict.case)]] = verdict

    if anew:
        store.begin_staging()
    else:
        store.set_fact(JUDGED, update_summaries())
    for verdict in settled:
        _add_scores(store, panel, verdict, anew=anew)
    try:
        await judge_all(
            panel,
            ready,
            tally=tally,
            keep=keep,
            told=(lambda done: told(panel.name, done, len(ready))) if told else None,
        )
    finally:
        if not anew:
            store.set_fact(JUDGED, update_summaries())
    event = "judged", {"judge": panel.name, "signature": panel.signature, "tally": tally}
    if earlier:
        columns = {**earlier.units, **panel.columns}
        store.publish_staged(columns, judge=panel.name, facts={JUDGED: update_summaries()}, event=event)
    else:
        store.add_event(*event)


def _flags(flagged: Mapping[int, Verdict]) -> dict[str, FlagCount]:
    """Return the flags of verdicts by their number among the cases."""
    flags: dict[str, FlagCount] = {}
    for _, verdict in sorted(flagged.items()):
        record = verdict.case.record
        place = f'turn {record.depth} of "{record.conversation}" ({record.system}, {record.policy})'
        for flag, times in verdict.flags.items():
            found = flags.setdefault(flag, FlagCount(first=place))
            found.times += times
            found.turns += 1
    return flags


def _judge_summary(
    panel: Panel,
    tally: AskTally,
    values: Sequence[Sequence[Mapping[str, Value]]],
    flags: Mapping[str, FlagCount],
) -> JudgeSummary:
    spreads = {column: spread_of(_numbers(values, o.name)) for column, o in panel.columns.items()}
    return JudgeSummary(
        name=panel.name,
        signature=panel.signature,
        units={column: output.unit for column, output in panel.columns.items()},
        lower_is_better=tuple(c for c, output in panel.columns.items() if output.lower_is_better),
        tally=tally,
        spread={column: spread for column, spread in spreads.items() if spread},
        flags=flags,
    )


def _numbers(values: Sequence[Sequence[Mapping[str, Value]]], output: str) -> list[list[float | None]]:
    return [
        [None if isinstance(value := repeat[output], Unscored) else value for repeat in turn]
        for turn in values
    ]


def _add_scores(store: RunStore, panel: Panel, verdict: Verdict, *, anew: bool) -> None:
    for column, output in panel.columns.items():
        value = verdict.values[output.name]
        scores = [stored_score(verdict.case.record, value)]
        if panel.judge.level == "dialogue":
            scores += [stored_score(record, ONCE_PER_DIALOGUE) for record in verdict.case.records[:-1]]
        store.add_scores(column, scores, anew=anew)


def _stored_verdict(panel: Panel, verdict: Verdict) -> StoredVerdict:
    record, asks = verdict.case.record, verdict.asks
    costs = [ask.cost_usd for ask in asks if ask.cost_usd is not None and not ask.cached]
    return StoredVerdict(
        judge=panel.name,
        conversation=record.conversation,
        system=record.system,
        policy=record.policy,
        depth=record.depth,
        asks=sum(not ask.cached for ask in asks),
        cached=sum(ask.cached for ask in asks),
        cost_usd=sum(costs) if costs else None,
        data={
            "values": {column: verdict.values[o.name] for column, o in panel.columns.items()},
            "repeats": verdict.repeats,
            "prompts": verdict.prompts,
        },
    )


# Judging a run that has been played ----------------------------------------------------------------------


async def judge_run(
    folder: str | Path, panels: Sequence[Panel], *, told: ProgressCallback | None = None
) -> Run:
    """
    Judge the run in *folder* with *panels*.

    Raises:
        RunError: there is no such run, or another process is writing it.
        RunStoppedError: as for ``judge_into``.
    """
    store = RunStore(Path(folder), write=True)
    try:
        await judge_into(store, panels, told=told)
        await stoppable(partial(check_into, store))
        await stoppable(partial(compare_recorded_into, store, Run(folder).scenario().scenario.recorded))
    finally:
        await in_thread(store.close)
    run = Run(folder)
    await in_thread(send_scores, run.folder, run.scenario())
    return run


def estimate_run(folder: str | Path, panels: Sequence[Panel]) -> list[CostEstimate]:
    """
    Estimate what judging the run in *folder* would cost, one estimate per panel; ask and write nothing.

    Raises:
        RunError: there is no such run, or it can't be read.
    """
    estimates = []
    with closing(RunStore(Path(folder))) as store:
        for panel in panels:
            ready, settled = ready_cases(panel, turn_cases(store, panel.judge.level))
            estimates.append(estimate(panel, ready, settled=len(settled)))
    return estimates
