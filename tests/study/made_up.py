"""Results of studies that nobody conducted, from tables of ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from replay.core.conversation import Conversation, Turn
from replay.study.preset import HumanScore, JudgedTurnKey, Results
from replay.study.running.study_file import StudyFile, parse_study
from replay.study.tasks import StudyState
from replay.testing.cases import turn

NOBODY = StudyState(raters=[], tasks={}, assignments=[])


def a_study() -> StudyFile:
    """A study file whose preset is asked nothing."""
    return parse_study("name: made up\npreset: rating\nruns: [nowhere]\n", source="study.yaml", folder=Path())


def rated(
    ratings: Mapping[tuple[str, str, str], Sequence[Mapping[str, float | None]]], name: str = "human_correct"
) -> Results:
    """*ratings* by system, policy and conversation: of each turn, depth 1 first, by rater."""
    records, scores = [], []
    for (system, policy, conversation), turns in ratings.items():
        for depth, given in enumerate(turns, 1):
            at = {"system": system, "policy": policy, "conversation": conversation}
            records.append(turn("Paris.", "Paris", depth=depth, **at))
            key = JudgedTurnKey(system, policy, conversation, depth)
            scores += [
                HumanScore(name=name, turn=key, rater=rater, value=value) for rater, value in given.items()
            ]
    lengths: dict[str, int] = {}
    for (_, _, conversation), turns in ratings.items():
        lengths[conversation] = max(len(turns), lengths.get(conversation, 0))
    conversations = [
        Conversation(
            id=id,
            turns=tuple(
                Turn(id=f"{id}#{n}", question="Why?", gold_answers=("Paris",)) for n in range(1, length + 1)
            ),
        )
        for id, length in lengths.items()
    ]
    return Results(records=records, conversations=conversations, scores=scores)
