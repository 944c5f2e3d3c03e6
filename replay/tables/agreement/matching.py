"""Which score belongs to which rating."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from replay.core.errors import InputError
from replay.core.settings.faults import nearest
from replay.tables.agreement.items import KEYS, ItemSet, TableItem

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
                f"{scores.source} has several items with {_named(shared, key)}; add columns to "
                f"{human.source} that tell them apart ({', '.join(n for n in item.keys if n not in shared)})"
            )
        places[key] = item
    keys = [tuple(item.keys[name] for name in shared) for item in right]
    pairs = tuple((places[key], item) for key, item in zip(keys, right, strict=True) if key in places)
    if not pairs:
        raise InputError(
            f"no item of {human.source} is in {scores.source}: the first has {_named(shared, keys[0])}, "
            f"the first there {_named(shared, next(iter(places)))}"
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
    Which score is held against which criterion of the people.

    With *against* every score is held against it. Otherwise a score is held against the criterion of the
    same name, a judge's against that of its criterion (``geval.naturalness`` against ``naturalness``),
    and all others, such as a judge's ``mean``, against ``overall``, or against the only criterion there
    is. Where several have a criterion of their own and none is called ``mean`` or ``overall``, the mean
    of those is held against the people's ``overall``.

    Raises:
        InputError: a name isn't there, or it isn't clear what to hold the scores against.
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
    """What people's criterion of the same name is called in *known*."""
    plain = _plain(score)
    return next((name for name in (plain, plain.rpartition(".")[2]) if name in known), None)


def _unknown(name: str, known: Sequence[str], source: str) -> InputError:
    return InputError(f'{source} has no "{name}"{nearest(name, known)} (found: {", ".join(known)})')


def _plain(name: str) -> str:
    return name.lower().replace("_", " ").replace("-", " ").strip()


def _named(names: Sequence[str], values: Sequence[str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in zip(names, values, strict=True))
