"""
What the learned resolver sees of a mention, and of each candidate beside it, as numbers.

Two blocks: one row that describes the mention in its question and scene, and one row for each
candidate, whose first columns don't depend on the mention. The points that the rules give
(``replay.coreference.embedded.rules``) are among the features: the model learns where to trust them.
Imports numpy, so that it is imported only when a resolver first reads.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from replay.coreference.embedded.candidate_features import Looks, common, fitting
from replay.coreference.embedded.mention_features import KINDS, asking, setting
from replay.coreference.embedded.rules import points
from replay.coreference.embedded.scene import Scene
from replay.coreference.words import tokens

Matrix = npt.NDArray[np.float32]


def describe(scene: Scene) -> list[tuple[Matrix, Matrix]]:
    """
    For each mention of *scene* its own row, and one row for each candidate; empty without candidates.

    A mention's first columns are its kind, in the order of ``KINDS``.
    """
    if not scene.candidates:
        return []
    looks = [Looks(scene, candidate) for candidate in scene.candidates]
    scenery = setting(scene)
    line = [token.normal for token in tokens(scene.document.question)]
    shared = np.asarray(common(scene, looks), np.float32)
    described = []
    for mention in scene.mentions:
        gained = [points(scene, mention, candidate) for candidate in scene.candidates]
        most = max(gained)
        rules = [most / 4, float(most <= 0), float(sum(g > 0 for g in gained) > 1)]
        kind = [float(mention.kind == kind) for kind in KINDS]
        about = [*kind, *scenery, *asking(mention, scene.mentions, line), *rules]
        own = np.asarray(fitting(scene, mention, looks, gained), np.float32)
        described.append((np.asarray(about, np.float32), np.concatenate([shared, own], axis=1)))
    return described
