"""What a resolver of this package chose for a mention, as a reading and as a cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from replay.core.drift_evidence import Mention, Reading
from replay.coreference.resolver import Cluster, Document, Span

if TYPE_CHECKING:  # candidates come with numpy, which is loaded by whoever reads
    from replay.coreference.embedded.candidates import Candidate


@dataclass(frozen=True, slots=True)
class Choice:
    """A reading, and where in the document's text its antecedent stands."""

    reading: Reading
    antecedent: Span | None


def choice(
    mention: Mention, candidate: Candidate | None, distribution: tuple[tuple[float, str], ...] = ()
) -> Choice:
    """The choice of *candidate*, or of none, for *mention*."""
    if candidate is None:
        return Choice(Reading(mention=mention, antecedent=None, distribution=distribution), None)
    reading = Reading(
        mention=mention, antecedent=candidate.text, source=candidate.kind, distribution=distribution
    )
    return Choice(reading, Span(start=candidate.first.start, end=candidate.first.end))


def clusters(document: Document, choices: Iterable[Choice]) -> list[Cluster]:
    """
    Each antecedent's span with the mentions that mean it in the order of *choices*; ordered by antecedent.

    Mentions that are left alone are in no cluster.
    """
    question_start = len(document.context())
    members: dict[Span, list[Span]] = {}
    for chosen in choices:
        if chosen.antecedent is not None:
            mention = chosen.reading.mention
            members.setdefault(chosen.antecedent, []).append(
                Span(start=question_start + mention.start, end=question_start + mention.end)
            )
    return [(antecedent, *mentions) for antecedent, mentions in sorted(members.items())]
