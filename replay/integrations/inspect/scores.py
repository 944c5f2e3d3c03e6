"""
Scores of samples, a value for each depth, and what they come to over all samples.

A depth's number is made of turns as in our depth table, to the last digit: for a mean that of the turns, and
else what the scorer makes of them all. So the one of all depths is not the mean of the samples' numbers, in
which short conversations would weigh as much as long ones. Its standard error is Inspect's own, clustered by
conversation; the intervals of ``depth_table`` come from resampled conversations instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer, stderr

from replay.core.decoding import convert_to
from replay.core.settings.choice import Choice
from replay.core.settings.plugins import available
from replay.integrations.inspect.playing import CHECKS, POLICY, RECORDED, RECORDS, TURNS, registry_name

if TYPE_CHECKING:
    import pandas as pd
    from inspect_ai.solver import TaskState
    from inspect_ai.util import Store

    from replay.core.record import TurnRecord

NAN = float("nan")
ALL = "all"


def depth_key(depth: int | None) -> str:
    """Return the key of the value at *depth*; None is the value over all depths."""
    return ALL if depth is None else f"depth_{depth}"


@metric(name=registry_name("by_depth"), scores="unreduced")
def by_depth() -> Metric:
    """
    Return the number of each depth and, as ``stderr``, its standard error, clustered by conversation.

    First of all depths, then of each. Of several policies each has its own, with its label before it. A
    standard error needs two conversations and a scorer that is a mean.
    """

    def depths(scores: list[SampleScore]) -> Value:
        found: dict[str, float] = {}
        policies = dict.fromkeys(_metadata(one)["policy"] for one in scores)
        for policy in policies:
            own = [one for one in scores if _metadata(one)["policy"] == policy]
            before = f"{policy}_" if len(policies) > 1 else ""
            for depth in [None, *sorted({turn["depth"] for one in own for turn in _turns(one)})]:
                value, error = _number(own, depth)
                if value is not None:
                    found[before + depth_key(depth)] = value
                if error is not None:
                    found[before + ("stderr" if depth is None else f"{depth_key(depth)}_stderr")] = error
        return found

    return depths


def _metadata(one: SampleScore) -> Mapping[str, Any]:
    return one.score.metadata or {}


def _turns(one: SampleScore) -> list[Any]:
    turns: list[Any] = _metadata(one)["turns"]
    return turns


def _number(scores: Sequence[SampleScore], depth: int | None) -> tuple[float | None, float | None]:
    """Return the number over all turns at *depth*, and its standard error."""
    from replay.statistics.score_column import ScoreColumn

    turns = [
        ((_metadata(one)["play"], turn["depth"]), turn["observed"], _metadata(one)["conversation"])
        for one in scores
        for turn in _turns(one)
        if turn.get("observed") is not None and depth in (None, turn["depth"])
    ]
    turns.sort(key=lambda turn: turn[0])  # as the depth table adds them up
    column = ScoreColumn(
        scorer=_build_scorer(_metadata(scores[0])["scorer"]), observed=[observed for _, observed, _ in turns]
    )
    value = column.value(range(len(turns)))
    if not column.is_mean or len({conversation for *_, conversation in turns}) < 2:
        return value, None
    each = [
        SampleScore(score=Score(value=float(observed)), sample_metadata={RECORDED: conversation})
        for _, observed, conversation in turns
    ]
    return value, float(stderr(cluster=RECORDED)(each))


def _build_scorer(spec: Mapping[str, Any] | None) -> Any:
    """Return the scorer that *spec* describes; that of checks for None."""
    from replay.core.safety.consent import code_may_run
    from replay.results.scoring import build_scorers
    from replay.scorers.scorer import SHARE
    from replay.scorers.stored_scorer import StoredScorer

    if spec is None:
        return StoredScorer(signature="check", unit=SHARE, lower_is_better=False)
    choice = Choice(name=spec["name"], settings=spec["settings"], called="score")
    with code_may_run():
        return build_scorers([choice], Path(spec["folder"]))["score"]


def _known_as(label: str, name: str) -> Any:
    """Have Inspect know the scorer *name* as ``replay/LABEL``; returns what makes it."""

    @scorer(metrics=[by_depth()], name=registry_name(label))
    def turns(plugin: str = name, folder: str = "", **settings: Any) -> Scorer:
        return _turn_scorer({"name": plugin, "settings": settings, "folder": folder})

    return turns


for _name in available("scorers"):
    _known_as(_name, _name)


def turn_score(choice: Choice, folder: Path) -> Scorer:
    """Return an Inspect scorer that scores turns with *choice*, whose paths start from *folder*."""
    made: Scorer = _known_as(choice.label, choice.name)(choice.name, str(folder), **choice.settings)
    return made


def _turn_scorer(spec: Mapping[str, Any]) -> Scorer:
    built = _build_scorer(spec)

    async def score(state: TaskState, target: Target) -> Score:
        from replay.scorers.observing import observe

        records = stored_records(state.store)
        # In a thread, since a neural scorer takes long.
        observed = await asyncio.to_thread(observe, spec["name"], built, records)
        return _score(state, records, observed, built, spec)

    return score


def check_score() -> Scorer:
    """Return whether what the data expects of each turn holds: 1 where all of its checks do."""

    @scorer(metrics=[by_depth()], name=registry_name("check"))
    def checks() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score:

            from replay.core.expectation import CheckResult
            from replay.results.checking import check_value

            found = convert_to(state.store.get(CHECKS, []), list[CheckResult])
            records = stored_records(state.store)
            observed = [check_value(record, found) for record in records]
            made = _score(state, records, observed, _build_scorer(None), None)
            failed = [f"depth {one.depth}: {one.called}: {one.evidence}" for one in found if not one.passed]
            return made.model_copy(update={"explanation": "\n".join(failed) or None})

        return score

    return checks()


def _score(
    state: TaskState,
    records: Sequence[TurnRecord],
    observed: Sequence[Any],
    built: Any,
    spec: Mapping[str, Any] | None,
) -> Score:
    """Return the scores by *built* of each turn of a sample and of all, from what it *observed*."""
    from replay.scorers.scorer import Unscored
    from replay.statistics.score_column import ScoreColumn

    if not records:
        return Score.unscored(reason="no_response", explanation="no turn was asked")
    column = ScoreColumn(scorer=built, observed=observed)
    scored = [place for place in range(len(records)) if column.is_scored(place)]
    value = {depth_key(None): column.value(scored)}
    turns, lines = [], []
    for place, (record, one) in enumerate(zip(records, observed, strict=True)):
        why = one.reason if isinstance(one, Unscored) else None
        value[depth_key(record.depth)] = None if why else column.value([place])
        turns.append({"depth": record.depth, **({"unscored": why} if why else {"observed": one})})
        shown = why or f"{value[depth_key(record.depth)]:.3g}"
        lines.append(f"{record.depth}. {record.asked} | {record.answer or record.error or ''} | {shown}")
    metadata = {
        "play": records[0].conversation,
        "conversation": state.metadata[RECORDED],
        "policy": state.metadata[POLICY],
        "scorer": spec,
        "turns": turns,
    }
    if not scored:
        return Score.unscored(explanation="\n".join(lines), metadata=metadata)
    return Score(
        value={key: NAN if number is None else number for key, number in value.items()},
        answer=records[-1].answer,
        explanation="\n".join(lines),
        metadata=metadata,
    )


def stored_records(store: Store | Mapping[str, Any]) -> list[TurnRecord]:
    """Return the records in a sample's *store*, by depth."""

    from replay.core.record import TurnRecord

    return convert_to(store.get(RECORDS, []), list[TurnRecord])


def depth_table(
    log: EvalLog | str | Path, scorers: Sequence[Any] | None = None, *, resamples: int = 1000
) -> pd.DataFrame:
    """
    Return the depth table of an eval's *log*, or of the file that holds it: as ``Run.depth_table``.

    With the eval's own scorers, or with *scorers*, written as in a scenario. Samples that ended in an error
    or at a limit count as far as they were played.

    Raises:
        ScenarioError, PluginError: a scorer can't be built, or fails.
    """
    from msgspec.structs import replace

    from replay.core.safety.consent import code_may_run
    from replay.core.settings.choice import read_choice
    from replay.results.scoring import build_scorers
    from replay.statistics import depth_table as tables
    from replay.statistics.score_column import score_columns, survey_scorers

    found = log if isinstance(log, EvalLog) else read_eval_log(str(log))
    samples = found.samples or []
    records, lengths = [], dict[str, int]()
    for sample in samples:
        for record in stored_records(sample.store):
            longest = max(record.depth, lengths.get(record.conversation, 0))
            lengths[record.conversation] = sample.metadata[TURNS] or longest
            records.append(replace(record, system=found.eval.model))
    own = list(_choices(found))
    choices = [Choice.model_validate(read_choice(one)) for one in scorers or ()] or [one for one, _ in own]
    with code_may_run():
        built = build_scorers(choices, own[0][1] if own else Path())
        columns = score_columns(records, survey_scorers(built, lambda: iter(records)))
    told = found.eval.metadata or {}
    return tables.depth_table(
        records,
        columns,
        lengths,
        only_last=bool(told.get("only_last")),
        by_all=all(sample.metadata[TURNS] for sample in samples),
        resamples=resamples,
        seed=told.get("seed", 0),
    ).to_frame()


def _choices(log: EvalLog) -> Iterator[tuple[Choice, Path]]:
    """Yield the eval's own scorers, and where their paths start from; not that of the checks."""
    for one in log.eval.scorers or ():
        options = dict(one.options or {})
        if "plugin" in options:
            folder, name = Path(options.pop("folder", "")), options.pop("plugin")
            yield Choice(name=name, settings=options, called=one.name.rpartition("/")[2]), folder
