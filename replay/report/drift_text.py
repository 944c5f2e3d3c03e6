"""
A drift verdict for a reader: what each mention could mean in either history, and why a question is invalid.

Best antecedents alone often don't show it. A mention whose two best ones are the same can have lost much else
that it could mean, and that is what the learned verdict weighs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from replay.core.drift_evidence import Drift, MentionDrift, Reading

LEAST = 0.05
"""Probability from which on something that a mention could mean is shown."""
MOST_SHOWN = 2
LONGEST = 80
"""Characters of an antecedent; a whole sentence can be one."""


class Candidate(NamedTuple):
    """Something that a mention could mean in one history, and hardly in the other."""

    text: str
    probability: float


class MentionView(NamedTuple):
    """One mention, and what set its two readings apart."""

    drift: MentionDrift
    lost: Sequence[Candidate]
    """Only the gold history offers it, most probable first."""
    came: Sequence[Candidate]
    """Only the own history offers it."""


def mention_views(drift: Drift) -> list[MentionView]:
    """
    Return each mention in the order of the record; what was lost and came only where readings may differ.
    """
    return [
        MentionView(one, _beside(one.gold, one.predicted), _beside(one.predicted, one.gold))
        if one.probability > 0 and one.state != "unread"
        else MentionView(one, (), ())
        for one in drift.mentions
    ]


def _beside(one: Reading, other: Reading) -> list[Candidate]:
    """Return meanings that are likely in *one*, not its best, and less than half as probable in *other*."""
    elsewhere = {text.casefold(): probability for probability, text in other.distribution}
    found = [
        Candidate(short(text), probability)
        for probability, text in one.distribution
        if probability >= LEAST
        and text != one.antecedent
        and elsewhere.get(text.casefold(), 0.0) < probability / 2
    ]
    return found[:MOST_SHOWN]


def why_invalid(drift: Drift) -> str:
    """Return why the question is invalid, in one sentence; empty if it is valid."""
    if not drift.invalid:
        return ""
    # What is read otherwise explains more than what only may be.
    changed = sorted(
        (one for one in mention_views(drift) if one.drift.probability > 0 or _is_apart(one.drift)),
        key=lambda one: (one.drift.probability, _is_apart(one.drift)),
        reverse=True,
    )
    said = []
    if 0 < drift.probability < 1:
        said.append(f"{100 * drift.probability:.0f} % likely to mean something else")
    if changed:
        said.append(_what_became_of(changed[0]))
    elif drift.mode == "evalconvqa":
        said.append("the two histories don’t link the same mentions")
    if more := sum(one.drift.probability >= LEAST for one in changed[1:]):
        said.append(f"{more} more mention{' adds' if more == 1 else 's add'} to it")
    if drift.semantic and drift.semantic.answers is not None:
        said.append(f"the answers before it have a likeness of {drift.semantic.answers:.2f}")
    return "; ".join(said)


def _is_apart(one: MentionDrift) -> bool:
    return one.state in ("drifted", "lost")


def _what_became_of(one: MentionView) -> str:
    gold, own = one.drift.gold.antecedent, one.drift.predicted.antecedent
    mention = one.drift.gold.mention
    name = "what is left out" if mention.kind == "ellipsis" else f"“{mention.text}”"
    if one.drift.state == "lost":
        return f"{name} is “{short(gold or '')}” in the gold history, and means nothing in its own"
    if gold and own and gold != own:
        return f"{name} is “{short(own)}” in its own history, “{short(gold)}” in the gold one"
    if one.lost:
        text, p = one.lost[0]
        return f"{name} could be “{text}” ({100 * p:.0f} %) in the gold history, and hardly in its own"
    if one.came:
        text, p = one.came[0]
        return f"{name} could be “{text}” ({100 * p:.0f} %) in its own history, and hardly in the gold one"
    return f"{name} is read otherwise"


def short(text: str) -> str:
    """Return *text*, cut to ``LONGEST`` characters."""
    return text if len(text) <= LONGEST else text[: LONGEST - 2] + " …"
