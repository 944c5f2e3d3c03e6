"""
From what people said to the numbers that are shown of it, whatever the preset.

A turn's score by people is the mean over its raters; from there on it goes the way of any scorer's, into a
table by depth with intervals over conversations. Beside it stands how far raters agree, and how far people
and automatic scores do: turn by turn, in the order of systems, and passage by passage (Li et al., 2022,
section 5).

Agreement by field is that of each field that people choose in, over the screens that two or more of them have
answered. Where tasks are one person's, as talks are, screens of two tasks are the same if they show the same:
the same question after the same conversation, with the same answer and passages.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field as dataclass_field, replace
from statistics import fmean
from typing import Any

from replay.core.record import TurnRecord
from replay.scorers.scorer import SHARE
from replay.statistics.depth_table import DepthRow, DepthTable, depth_table
from replay.statistics.people import (
    HumanNumber,
    HumanScores,
    HumanTable,
    PeopleGroup,
    PeopleRow,
    PeopleScore,
    number_text,
)
from replay.statistics.rater_agreement import Level, RatedItem, disagreements
from replay.statistics.rater_table import AgreementRow, RaterAgreement, rater_agreement_of
from replay.statistics.score_column import ScoreColumn
from replay.study.preset import Field, JudgedTurnKey, Option, Results
from replay.study.running.judged_turns import (
    JudgedTurns,
    Scored,
    against_tables,
    automatic_columns,
    compare_with_run,
    compare_with_scores,
    judged_turns,
)
from replay.study.running.study_file import Study, StudyFile
from replay.study.running.task_screens import OWN_PREFIX, own_fields, steps_of
from replay.study.tasks import StudyState, Value


def study_numbers(
    file: StudyFile,
    state: StudyState,
    *,
    results: Results | None = None,
    runs: Iterable[Scored] = (),
    against: Mapping[str, Scored] | None = None,
    resamples: int = 1000,
) -> HumanScores:
    """
    Return the numbers of the study of *file* as it stands in *state*; with no judgement yet, nearly nothing.

    *results* are those of *state*, if they are at hand; *runs* those whose scores stand beside the people's,
    with systems called as in the results (``rename_systems``). *against* are runs of the same systems and
    conversations, by name, whose turns nobody judged. With ``resamples=0`` there are no intervals.

    Raises:
        InputError: one of *against* has nothing in common with what people judged.
    """
    results = file.preset.results(state) if results is None else results
    judged, seed = judged_turns(results), file.study.seed
    automatic = automatic_columns(judged.records, runs)
    columns = {**automatic, **judged.columns}
    columns = {name: columns[name] for name in (*judged.columns, *automatic)}
    agreement = _agreement(judged, results.rated, resamples, seed)
    held = compare_with_scores(judged, automatic, resamples=resamples, seed=seed)
    others = [
        one
        for name, run in (against or {}).items()
        for one in compare_with_run(judged, name, run, resamples=resamples, seed=seed)
    ]
    tables = [
        *([_agreement_table(agreement)] if agreement else []),
        *against_tables(held),
        *against_tables(others, item="conversation", where=", of other runs"),
        *results.tables,
        *([own] if (own := own_table(file.study, state)) is not None else []),
    ]
    return HumanScores(
        study=file.study.name,
        raters=len({one.rater for one in state.done}),
        scores={
            name: PeopleScore(unit=one.unit, signature=one.scorer.signature, by_people=name in judged.columns)
            for name, one in columns.items()
        },
        groups=_groups(judged.records, columns, resamples, seed),
        tables=tables,
        details={
            "agreement": {name: one.to_json() for name, one in agreement.items()},
            "against_scores": [{"policy": policy, **one.to_json()} for policy, one in [*held, *others]],
        },
    )


def _groups(
    records: Sequence[TurnRecord], columns: Mapping[str, ScoreColumn], resamples: int, seed: int
) -> list[PeopleGroup]:
    if not records:
        return []
    lengths: dict[str, int] = {}
    for record in records:
        lengths[record.conversation] = max(record.depth, lengths.get(record.conversation, 0))
    table = depth_table(records, columns, lengths, resamples=resamples, seed=seed)
    return [
        PeopleGroup(
            system=one.group.system,
            policy=one.group.policy,
            rows=[
                PeopleRow(depth=row.depth, turns=row.turns, scores=_scores(row, table))
                for row in one.rows
                if row.turns
            ],
        )
        for one in table.groups
    ]


def _scores(row: DepthRow, table: DepthTable) -> dict[str, HumanNumber]:
    return {
        name: HumanNumber(
            value=score.value,
            low=score.low,
            high=score.high,
            note=", ".join(score.unscored) if score.value is None else score.no_interval or "",
            unit=table.columns[name].unit,
        )
        for name, score in row.scores.items()
    }


def _agreement(
    judged: JudgedTurns, rated: Mapping[str, Sequence[RatedItem]], resamples: int, seed: int
) -> dict[str, RaterAgreement]:
    """By score; of the items that are *rated*, or else of what two raters gave to one turn."""
    about = {JudgedTurnKey.of(record): record.recorded_conversation for record in judged.records}
    found = {
        name: rater_agreement_of(
            rated.get(name)
            or [
                RatedItem(conversation=about[key], depth=key.depth, ratings=given)
                for key, given in by_turn.items()
            ],
            level="nominal" if judged.columns[name].unit == SHARE else "ordinal",
            resamples=resamples,
            seed=seed,
        )
        for name, by_turn in judged.ratings.items()
    }
    return {name: one for name, one in found.items() if one.total.shared}


def _agreement_table(agreement: Mapping[str, RaterAgreement]) -> HumanTable:
    def cells(name: str, row: AgreementRow) -> tuple[Any, ...]:
        numbers = (row.cohen, row.fleiss, row.alpha)
        shown = (number_text(row.agreement, SHARE), *map(number_text, numbers))
        return (name, row.depth or "all", row.shared, row.complete, row.raters, *shown)

    return HumanTable(
        title="Agreement among raters",
        columns=(
            *("score", "depth", "turns", "of them for Fleiss", "raters", "equal"),
            *("Cohen's kappa", "Fleiss' kappa", "Krippendorff's alpha"),
        ),
        rows=[
            cells(name, row)
            for name, one in agreement.items()
            for row in (*one.depths, one.total)
            if row.shared
        ],
        caption="On turns that two raters or more judged. Of more than two raters Cohen's kappa is the mean "
        "over pairs, Fleiss' kappa of the turns with as many ratings as most have; alpha takes points on a "
        "scale as ordered.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldAgreement:
    """How far raters agree in what they choose in one field."""

    kind: str
    field: str
    label: str
    items: int
    """Screens that two or more have answered."""
    equal: HumanNumber
    """The share of pairs of answers to one screen that are equal."""
    cohen: HumanNumber
    fleiss: HumanNumber
    alpha: HumanNumber


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDisagreement:
    """A screen that raters answered differently."""

    tasks: tuple[int, ...]
    """One, or several with the same screen."""
    label: str
    answers: Mapping[str, str]
    """By rater, as the options are called."""


@dataclass(slots=True)
class _Shared:
    """A field of a screen that several raters may have answered."""

    field: Field
    conversation: str
    tasks: list[int] = dataclass_field(default_factory=list)
    chosen: dict[str, Option] = dataclass_field(default_factory=dict)
    """By rater; of one who met the same screen twice, the first time."""

    @property
    def item(self) -> RatedItem:
        ratings = {
            rater: one.value if one.meaning is None else one.meaning for rater, one in self.chosen.items()
        }
        return RatedItem(conversation=self.conversation, ratings=ratings)


def field_agreement(
    file: StudyFile, state: StudyState, names: Mapping[int, str], resamples: int
) -> tuple[list[FieldAgreement], list[FieldDisagreement]]:
    """
    Return agreement by field, and the screens on which raters part, the worst of each field first.

    *names* are those of raters; with ``resamples=0`` there are no intervals.
    """
    # By kind of work and field: the screens, by what makes them the same.
    screens: dict[tuple[str, str], dict[object, _Shared]] = defaultdict(dict)
    shared = Counter(one.task for one in state.done)
    for one in state.done:
        task, answers = state.tasks[one.task], state.answers.get(one.id, {})
        for step in steps_of(file, state, one):
            same = (
                (task.id, step.id)
                if shared[task.id] > 1
                else (task.system, task.conversation, repr(step.blocks))
            )
            for field in step.fields:
                judged = answers[step.id].answer.get(field.name) if step.id in answers else None
                option = next((each for each in field.options if each.value == judged), None)
                if option is None:
                    continue
                found = screens[task.kind, field.name].setdefault(same, _Shared(field, task.conversation))
                found.chosen.setdefault(names[one.rater], option)
                if task.id not in found.tasks:
                    found.tasks.append(task.id)
    agreement, partings = [], []
    for (kind, name), by_screen in screens.items():
        several = [one for one in by_screen.values() if len(one.chosen) > 1]
        if not several:
            continue
        field = several[0].field
        numbers = all(isinstance(option.value, int) for option in field.options)
        level: Level = "ordinal" if numbers and len(field.options) > 2 else "nominal"
        items = [replace(one.item, id=str(place)) for place, one in enumerate(several)]
        total = rater_agreement_of(
            items, level=level, pairs=False, resamples=resamples, seed=file.study.seed
        ).total
        agreement.append(
            FieldAgreement(
                kind=kind,
                field=name,
                label=field.label,
                items=total.shared,
                equal=number_text(total.agreement, SHARE),
                cohen=number_text(total.cohen),
                fleiss=number_text(total.fleiss),
                alpha=number_text(total.alpha),
            )
        )
        for parting in disagreements(items):
            screen = several[int(parting.item.id or 0)]
            shown = {rater: _option_text(option) for rater, option in screen.chosen.items()}
            partings.append(FieldDisagreement(tasks=tuple(screen.tasks), label=field.label, answers=shown))
    return agreement, partings


def _option_text(option: Option) -> str:
    return option.label if option.meaning is None else f"{option.label} ({option.meaning})"


def own_table(study: Study, state: StudyState) -> HumanTable | None:
    """Return what was answered to the study's own questions, by system; None where nothing was."""
    given: dict[tuple[str, str], list[Value]] = defaultdict(list)
    fields = own_fields(study)
    for one in state.done:
        said = {
            name: v for judged in state.answers.get(one.id, {}).values() for name, v in judged.answer.items()
        }
        for field in fields:
            if field.name in said:
                given[field.name, state.tasks[one.task].system or "all"].append(said[field.name])
    rows = []
    for field in fields:
        for (name, system), values in sorted(given.items()):
            if name == field.name:
                numbers = [value for value in values if isinstance(value, int)]
                counted = Counter(values)
                chosen = [f"{option.label}: {counted[option.value]}" for option in field.options]
                mean = fmean(numbers) if numbers else None
                rows.append((name.removeprefix(OWN_PREFIX), system, len(values), mean, "; ".join(chosen)))
    if not rows:
        return None
    return HumanTable(
        title="The study's own questions",
        columns=("question", "system", "answers", "mean", "chosen"),
        rows=rows,
        caption="Texts are in judgements.csv alone.",
    )
