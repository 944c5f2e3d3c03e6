"""Which score belongs to which rating."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean
from typing import Any

from replay.core.errors import InputError
from replay.core.settings.faults import nearest
from replay.statistics.estimate import NumberWithInterval
from replay.statistics.interval import METHOD_NAMES, IntervalMethod
from replay.statistics.model_agreement import (
    CorrelationName,
    PairwiseAgreement,
    RankingAgreement,
    correlations,
    pairwise_agreement,
    ranking_agreement,
)
from replay.statistics.rater_agreement import Level, RatedItem as OneCriterion
from replay.statistics.rater_table import RaterAgreement, rater_agreement_of
from replay.tables.items import KEYS, ItemSet, TableItem

MEAN = "mean"
"""The mean of the criteria that both files have; compared with the people's ``overall``."""
OVERALL = "overall"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedItems:
    """Items that are in both files, in the human file's order."""

    pairs: tuple[tuple[TableItem, TableItem], ...]
    """Score and rating."""
    joined_by: str
    """The keys, or ``row``."""
    only_scores: int
    only_human: int


def match_items(scores: ItemSet, human: ItemSet, level: str) -> MatchedItems:
    """
    Join the items of one *level* by the keys that all of both have, or by row where there is none.

    Raises:
        InputError: nothing matches, a key fits several scores, or files without a key have another
            number of items.
    """
    left = [item for item in scores.items if item.level == level] or list(scores.items)
    right = [item for item in human.items if item.level == level]
    if not right:
        raise InputError(f"{human.source} has no item of level {level}")
    if scores.source == human.source:  # one file with both
        return _by_row(scores, human, left, right)
    shared = [k for k in KEYS if all(k in item.keys for item in left) and all(k in i.keys for i in right)]
    shared = ["id"] if "id" in shared else shared
    if not set(shared) & {"id", "conversation"}:
        return _by_row(scores, human, left, right)
    places: dict[tuple[str, ...], TableItem] = {}
    for item in left:
        key = tuple(item.keys[name] for name in shared)
        if key in places:
            raise InputError(
                f"{scores.source} has several items with {_key_text(shared, key)}; add columns to "
                f"{human.source} that tell them apart ({', '.join(n for n in item.keys if n not in shared)})"
            )
        places[key] = item
    keys = [tuple(item.keys[name] for name in shared) for item in right]
    pairs = tuple((places[key], item) for key, item in zip(keys, right, strict=True) if key in places)
    if not pairs:
        raise InputError(
            f"no item of {human.source} is in {scores.source}: the first has {_key_text(shared, keys[0])}, "
            f"the first there {_key_text(shared, next(iter(places)))}"
        )
    return MatchedItems(
        pairs=pairs,
        joined_by=", ".join(shared),
        only_scores=len(places.keys() - set(keys)),
        only_human=len(right) - len(pairs),
    )


def _by_row(
    scores: ItemSet, human: ItemSet, left: Sequence[TableItem], right: Sequence[TableItem]
) -> MatchedItems:
    if len(left) != len(right):
        raise InputError(
            f"{scores.source} has {len(left)} items and {human.source} {len(right)}; without a common column "
            "id, or conversation and depth, they are joined by row and have to be equally many"
        )
    return MatchedItems(
        pairs=tuple(zip(left, right, strict=True)), joined_by="row", only_scores=0, only_human=0
    )


def criterion_pairs(
    scores: ItemSet, human: ItemSet, *, score: Sequence[str] = (), against: str | None = None
) -> list[tuple[str, str]]:
    """
    Return which score is compared with which criterion of the human ratings, as (score, criterion).

    With *against* every score is compared with that criterion. Otherwise a score is compared with the
    criterion of the same name, a judge's with that of its criterion (``geval.naturalness`` with
    ``naturalness``), and all others, such as a judge's ``mean``, with ``overall``, or with the only criterion
    there is. If several scores have a criterion of their own and none is called ``mean`` or ``overall``,
    their mean is compared with the people's ``overall``.

    Args:
        scores: The automatic scores.
        human: The ratings by people.
        score: Names of the scores to compare; empty for all.
        against: A criterion of *human*.

    Raises:
        InputError: a name isn't there, or it isn't clear what to compare the scores with.
    """
    names = list(score) or list(scores.criteria)
    for name in score:
        if name not in scores.criteria and name != MEAN:
            raise _unknown(name, scores.criteria, scores.source)
    known = {_plain(name): name for name in human.criteria}
    if against is not None:
        if _plain(against) not in known:
            raise _unknown(against, human.criteria, human.source)
        return [(name, known[_plain(against)]) for name in names]
    own = {name: known[key] for name in names if (key := _own_name(name, known))}
    target = known.get(OVERALL) or (human.criteria[0] if len(human.criteria) == 1 else None)
    if target is None and not own:
        raise InputError(
            f"no score of {scores.source} ({', '.join(scores.criteria)}) is called like a criterion of "
            f"{human.source} ({', '.join(human.criteria)}); say which one to compare with: --against NAME"
        )
    found = [(name, own.get(name, target)) for name in names]
    pairs = [(name, criterion) for name, criterion in found if criterion is not None]
    given = {_plain(name).rpartition(".")[2] for name in names}
    if OVERALL in known and len(own) > 1 and not score and not given & {MEAN, OVERALL}:
        pairs.append((MEAN, known[OVERALL]))
    return pairs


def _own_name(score: str, known: Collection[str]) -> str | None:
    """Return the name in *known* of the human criterion called like *score*; None if there is none."""
    plain = _plain(score)
    return next((name for name in (plain, plain.rpartition(".")[2]) if name in known), None)


def _unknown(name: str, known: Sequence[str], source: str) -> InputError:
    return InputError(f'{source} has no "{name}"{nearest(name, known)} (found: {", ".join(known)})')


def _plain(name: str) -> str:
    return name.lower().replace("_", " ").replace("-", " ").strip()


def _key_text(names: Sequence[str], values: Sequence[str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in zip(names, values, strict=True))


Range = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySettings:
    """How agreement is measured."""

    level: str = "turn"
    scale: Level = "ordinal"
    """What Krippendorff's alpha takes the ratings for."""
    score_range: Range | None = None
    """With *human_range*: scores are mapped from the one onto the other before differences are taken."""
    human_range: Range | None = None
    resamples: int = 1000
    seed: int = 0
    confidence: float = 0.95
    method: IntervalMethod = "t"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreAgreement:
    """One score against one criterion."""

    score: str
    criterion: str
    scores: tuple[float, ...]
    """Of the items that have both; mapped onto the people's range if ranges were given."""
    ratings: tuple[float, ...]
    """The mean over the raters."""
    lower_is_better: bool
    """Of the score; systems are ranked, and compared on passages, by what is better."""
    correlations: Mapping[CorrelationName, NumberWithInterval]
    ranking: RankingAgreement | None
    """Where there are two systems or more."""
    pairwise: tuple[PairwiseAgreement, ...]
    """Where the same groups were answered by two systems or more."""

    @property
    def label(self) -> str:
        """``f1 / overall``, or one name where both are called the same."""
        return self.score if self.score == self.criterion else f"{self.score} / {self.criterion}"

    @property
    def differences(self) -> tuple[float, ...]:
        """Absolute differences, item by item."""
        return tuple(abs(a - b) for a, b in zip(self.scores, self.ratings, strict=True))

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "score": self.score,
            "criterion": self.criterion,
            "items": len(self.scores),
            "lower_is_better": self.lower_is_better,
            "mean_score": mean(self.scores) if self.scores else None,
            "mean_rating": mean(self.ratings) if self.ratings else None,
            "mean_absolute_difference": mean(self.differences) if self.scores else None,
            "correlations": {name: one.to_json() for name, one in self.correlations.items()},
            "ranking": self.ranking and self.ranking.to_json(),
            "pairwise": [pair.to_json() for pair in self.pairwise],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementStudy:
    """Everything."""

    scores: ItemSet
    human: ItemSet
    matched: MatchedItems
    agreements: tuple[ScoreAgreement, ...]
    raters: Mapping[str, RaterAgreement]
    """By criterion; those by which an item has two ratings."""
    settings: StudySettings

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "schema": 1,
            "scores": self.scores.source,
            "human": self.human.source,
            "joined_by": self.matched.joined_by,
            "items": len(self.matched.pairs),
            "only_scores": self.matched.only_scores,
            "only_human": self.matched.only_human,
            "interval": {
                "method": METHOD_NAMES[self.settings.method],
                "resamples": self.settings.resamples,
                "seed": self.settings.seed,
                "confidence": self.settings.confidence,
            },
            "agreement": [one.to_json() for one in self.agreements],
            "raters": {
                "scale": self.settings.scale,
                "criteria": {name: one.to_json() for name, one in self.raters.items()},
            },
            "notes": [*self.scores.notes, *self.human.notes],
        }


def agreement_study(
    scores: ItemSet,
    human: ItemSet,
    *,
    score: Sequence[str] = (),
    against: str | None = None,
    settings: StudySettings,
) -> AgreementStudy:
    """
    Hold *scores* against *human*; see ``criterion_pairs`` for what is held against what.

    Raises:
        InputError: items or criteria can't be matched.
    """
    matched = match_items(scores, human, settings.level)
    names = criterion_pairs(scores, human, score=score, against=against)
    means = [name for name, criterion in names if criterion.lower() != OVERALL]
    return AgreementStudy(
        scores=scores,
        human=human,
        matched=matched,
        agreements=tuple(
            _agreement(matched, one, other, means, settings, one in scores.lower_is_better)
            for one, other in names
        ),
        raters=_raters(human, settings),
        settings=settings,
    )


def _agreement(
    matched: MatchedItems,
    score: str,
    criterion: str,
    criteria: Sequence[str],
    settings: StudySettings,
    lower_is_better: bool,
) -> ScoreAgreement:
    known = [
        (item, _map_score(value, settings), rating)
        for item, rated in matched.pairs
        if (value := _score(item, score, criteria)) is not None
        and (rating := rated.mean(criterion)) is not None
        # The system and the group may be what only the human file knows.
        for item in [
            replace(
                item,
                keys={**rated.keys, **item.keys},
                group=rated.group if item.group is None else item.group,
            )
        ]
    ]
    groups: list[Hashable] = [
        (place if item.group is None else item.group) for place, (item, _, _) in enumerate(known)
    ]
    values, ratings = [value for _, value, _ in known], [rating for _, _, rating in known]
    by_system: dict[str, tuple[list[float], list[float]]] = {}
    by_passage: dict[tuple[str, str], tuple[list[float], list[float]]] = {}
    for item, value, rating in known:
        if item.system:
            cells = [by_system.setdefault(item.system, ([], []))]
            if item.group is not None:
                cells.append(by_passage.setdefault((item.system, item.group), ([], [])))
            for cell in cells:
                cell[0].append(-value if lower_is_better else value)
                cell[1].append(rating)
    passages = {key: (mean(a), mean(b)) for key, (a, b) in by_passage.items()}
    return ScoreAgreement(
        score=score,
        criterion=criterion,
        scores=tuple(values),
        ratings=tuple(ratings),
        lower_is_better=lower_is_better,
        correlations=correlations(
            values,
            ratings,
            clusters=groups,
            resamples=settings.resamples,
            seed=settings.seed,
            confidence=settings.confidence,
            method=settings.method,
        ),
        ranking=ranking_agreement(
            {name: mean(a) for name, (a, _) in by_system.items()},
            {name: mean(b) for name, (_, b) in by_system.items()},
        )
        if len(by_system) > 1
        else None,
        pairwise=tuple(p for p in pairwise_agreement(passages, settings.confidence) if p.passages),
    )


def _score(item: TableItem, name: str, criteria: Sequence[str]) -> float | None:
    if name != MEAN or MEAN in item.ratings:
        return item.mean(name)
    values = [item.mean(criterion) for criterion in criteria]
    return mean(v for v in values if v is not None) if values and None not in values else None


def _map_score(value: float, settings: StudySettings) -> float:
    if settings.score_range is None or settings.human_range is None:
        return value
    (low, high), (to_low, to_high) = settings.score_range, settings.human_range
    return to_low + (value - low) * (to_high - to_low) / (high - low)


def _raters(human: ItemSet, settings: StudySettings) -> dict[str, RaterAgreement]:
    items = [item for item in human.items if item.level == settings.level]
    found = {
        criterion: rater_agreement_of(
            [_by_rater(item, criterion, place) for place, item in enumerate(items)],
            level=settings.scale,
            same_raters=human.named_raters,
            resamples=settings.resamples,
            seed=settings.seed,
            confidence=settings.confidence,
            method=settings.method,
        )
        for criterion in human.criteria
    }
    return {criterion: one for criterion, one in found.items() if one.total.shared}


def _by_rater(item: TableItem, criterion: str, place: int) -> OneCriterion:
    depth = item.keys.get("depth", "")
    return OneCriterion(
        conversation=f"item {place}" if item.group is None else f"group {item.group}",
        depth=int(depth) if depth.isdecimal() else None,
        ratings={str(rater): rating for rater, rating in enumerate(item.ratings.get(criterion, ()), 1)},
    )
