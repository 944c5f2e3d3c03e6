"""Counts how often a run's rewritten questions agree with the data's standalone ones."""

from __future__ import annotations

from collections.abc import Iterable

from replay.coreference.reading.words import content_words
from replay.scorers.answer_text import words
from replay.statistics.group import Group, groups_in_order
from replay.statistics.wording import WordingAgreement


def wording_agreements(questions: Iterable[tuple[str, str, str, str]]) -> tuple[WordingAgreement, ...]:
    """
    Return the agreement of each group, in the order of the depth table.

    Args:
        questions: Of each rewritten question that has a standalone one: system, policy, the question as
            asked, and the standalone one.
    """
    pairs: dict[Group, list[tuple[str, str]]] = {}
    for system, policy, asked, standalone in questions:
        pairs.setdefault(Group(system, policy), []).append((asked, standalone))
    return tuple(_agreement(group, pairs[group]) for group in groups_in_order(pairs))


def _agreement(group: Group, pairs: list[tuple[str, str]]) -> WordingAgreement:
    things = [(set(content_words(asked)), set(content_words(standalone))) for asked, standalone in pairs]
    return WordingAgreement(
        group=group,
        questions=len(pairs),
        equal=sum(words(asked, "squad") == words(standalone, "squad") for asked, standalone in pairs),
        same_things=sum(ours == theirs for ours, theirs in things),
        nothing_else=sum(ours <= theirs for ours, theirs in things),
    )
