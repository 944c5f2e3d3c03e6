"""
What the learned resolver sees of a mention, and of each candidate beside it, as numbers.

Two blocks: one row that describes the mention in its question and scene, and one row for each
candidate, whose first columns don't depend on the mention. The points that the rules give
(``replay.coreference.embedded.rule_points``) are among the features: the model learns where to trust them.
Imports numpy, so that it is imported only when a resolver first reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from replay.core.drift_evidence import Mention
from replay.coreference.embedded.candidate_features import Looks, common, fitting
from replay.coreference.embedded.candidates import Candidate, Topic, gather
from replay.coreference.embedded.mention_features import KINDS, asking, setting
from replay.coreference.embedded.rule_points import points
from replay.coreference.embedded.scene import look_at
from replay.coreference.mentions import find_mentions
from replay.coreference.resolver import Document
from replay.coreference.words import tokens

Matrix = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Described:
    """A question's mentions and candidates in numbers."""

    mentions: tuple[Mention, ...]
    topic: Topic
    candidates: Sequence[Candidate]
    """Where there are none, there are no features either."""
    about_mentions: Matrix
    """One row for each mention; its first columns are the mention's kind, in the order of ``KINDS``."""
    about_candidates: tuple[Matrix, ...]
    """For each mention one row for each candidate."""


def describe(document: Document) -> Described:
    """The features of *document*; empty where its question has no mention."""
    mentions = find_mentions(document.question)
    nothing = np.zeros((0, 0), np.float32)
    if not mentions:
        return Described((), Topic("", ()), (), nothing, ())
    topic, candidates = gather(document)
    if not candidates:
        return Described(mentions, topic, (), nothing, ())
    scene = look_at(document, topic, candidates, mentions)
    looks = [Looks(scene, candidate) for candidate in candidates]
    scenery = setting(document, scene)
    line = [token.normal for token in tokens(document.question)]
    shared = np.asarray(common(document, scene, candidates, looks), np.float32)
    about_mentions: list[list[float]] = []
    about_candidates: list[Matrix] = []
    for mention in mentions:
        gained = [points(scene, mention, candidate) for candidate in candidates]
        most = max(gained)
        rules = [most / 4, float(most <= 0), float(sum(g > 0 for g in gained) > 1)]
        kind = [float(mention.kind == kind) for kind in KINDS]
        about_mentions.append([*kind, *scenery, *asking(mention, mentions, line), *rules])
        own = np.asarray(fitting(document, scene, mention, candidates, looks, gained), np.float32)
        about_candidates.append(np.concatenate([shared, own], axis=1))
    about = np.asarray(about_mentions, np.float32)
    return Described(mentions, topic, candidates, about, tuple(about_candidates))
