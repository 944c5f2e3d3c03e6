"""How far automatic scores and people agree: turn by turn, in the order of systems, passage by passage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from replay.core.record import TurnRecord
from replay.scorers.scorer import SHARE
from replay.statistics.group import group_of, groups_in_order
from replay.statistics.interval import UndefinedNumber, value_or_none
from replay.statistics.people import HumanNumber, HumanTable, number_text
from replay.statistics.score_column import ScoreColumn
from replay.study.running.judged_turns import JudgedTurns
from replay.tables.agreement_study import ScoreAgreement, StudySettings, agreement_study
from replay.tables.rating_files import run_items

EVERY = "all"
"""In the place of a policy: the turns of all policies together."""

Held: TypeAlias = tuple[str, ScoreAgreement]
"""One score against one of people's, with the policy that it is about."""


def compare_with_scores(
    judged: JudgedTurns, automatic: Mapping[str, ScoreColumn], resamples: int, seed: int
) -> list[Held]:
    """
    Each automatic score against each of people's: over all turns, and under each of several policies.

    Less is better in some scores, which give no order of systems that people's could be like.
    """
    ranking = usable(automatic)
    policies = policies_of(judged.records)
    settings = StudySettings(resamples=resamples, seed=seed)
    found = []
    for policy in (EVERY, *(policies if len(policies) > 1 else ())):
        records = [record for record in judged.records if policy in (EVERY, record.policy)]
        places = [place for place, record in enumerate(judged.records) if policy in (EVERY, record.policy)]
        columns = {name: column.at(places) for name, column in ranking.items()}
        scores = run_items("scores", records, columns)
        people = run_items("people", records, {n: c.at(places) for n, c in judged.columns.items()})
        for name in judged.columns if ranking and records else ():
            study = agreement_study(scores, people, against=name, settings=settings)
            found += [(policy, one) for one in study.agreements if one.scores]
    return found


def usable(columns: Mapping[str, ScoreColumn]) -> dict[str, ScoreColumn]:
    """Those of *columns* that can rank systems as people do: means of which more is better."""
    return {name: one for name, one in columns.items() if one.is_mean and not one.lower_is_better}


def policies_of(records: Sequence[TurnRecord]) -> list[str]:
    """In the order of tables."""
    return list(dict.fromkeys(group.policy for group in groups_in_order(map(group_of, records))))


def against_tables(held: Sequence[Held], *, item: str = "turn", where: str = "") -> list[HumanTable]:
    """Tables of *held*, *item* by item; *where* stands behind their titles."""
    ranked = [(policy, one, one.ranking) for policy, one in held if one.ranking]
    paired = [(policy, one, pair) for policy, one in held for pair in one.pairwise]
    names = ("people", "score", "policy")
    tables = []
    if held:
        tables.append(
            HumanTable(
                title=f"People and scores, {item} by {item}{where}",
                columns=(*names, f"{item}s", "Pearson", "Spearman", "Kendall"),
                rows=[
                    (
                        *(one.criterion, one.score, policy, len(one.scores)),
                        *(number_text(found) for found in one.correlations.values()),
                    )
                    for policy, one in held
                ],
                caption="Correlations; intervals resample conversations.",
            )
        )
    if ranked:
        tables.append(
            HumanTable(
                title=f"Systems as people and as scores rank them{where}",
                columns=(*names, "by people", "by score", "same", "pairs", "agreeing", "Kendall"),
                rows=[
                    (
                        *(one.criterion, one.score, policy),
                        *(_order(ranking.by_humans), _order(ranking.by_metric)),
                        "yes" if ranking.same else "no",
                        *(ranking.pairs, ranking.agreeing, _defined(ranking.kendall)),
                    )
                    for policy, one, ranking in ranked
                ],
                caption="Best first. Pairs are those that people tell apart, agreeing those that the "
                "score puts in the same order.",
            )
        )
    if paired:
        tables.append(
            HumanTable(
                title=f"Pairs of systems, conversation by conversation{where}",
                columns=(*names, "first", "second", "conversations", "told apart", "same better one"),
                rows=[
                    (
                        *(one.criterion, one.score, policy, pair.first, pair.second, pair.passages),
                        pair.passages - pair.human_ties,
                        HumanNumber(
                            **{key: pair.to_json()[key] for key in ("low", "high")}, **_share(pair.share)
                        ),
                    )
                    for policy, one, pair in paired
                ],
                caption="The share of conversations on which the score names the same better system, of "
                "those on which people tell the two apart; with Wilson's interval.",
            )
        )
    return tables


def _order(places: Sequence[Sequence[str]]) -> str:
    return " > ".join(" = ".join(place) for place in places)


def _defined(value: float | UndefinedNumber) -> HumanNumber:
    return HumanNumber(
        value=value_or_none(value), note=value.reason if isinstance(value, UndefinedNumber) else ""
    )


def _share(value: float | UndefinedNumber) -> dict[str, Any]:
    return {"value": value_or_none(value), "unit": SHARE, "note": _defined(value).note}
