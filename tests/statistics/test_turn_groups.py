"""Scores by kind of question and by how far back their evidence is."""

from __future__ import annotations

from random import Random

from replay.scorers.word_overlap import em
from replay.statistics.run_numbers import turn_groups
from replay.statistics.score_column import score_columns
from tests.scorers.turns import skipped_turn, turn


def asked(conversation, answer, kind="", sessions=None, turns=None, **more):
    return turn(
        answer,
        "Paris",
        conversation=conversation,
        depth=2,
        kind=kind,
        sessions_back=sessions,
        turns_back=turns,
        **more,
    )


RECORDS = [
    turn("Rome", "Paris", conversation="a", depth=1),
    asked("a", "Paris", "when", 0, 1),
    asked("b", "Rome", "who", 1, 3),
    asked("c", "Paris", "who", 3, 12),
    asked("d", "Rome", "when", 2, 15),
    asked("e", None, "when", 2, 8, outcome="timed-out"),
    skipped_turn("Paris", conversation="f", depth=2, kind="who", sessions_back=1),
    asked("a", "Paris", "when", 0, 1, policy="gold"),
]


def rows(groups):
    return [
        (row.label, row.group.policy, row.turns, row.scores["em"].value, row.scores["em"].scored)
        for row in groups.rows
    ]


def test_groups_by_hand():
    records = Random(1).sample(RECORDS, len(RECORDS))
    kind, sessions, turns = turn_groups(records, score_columns(records, {"em": em()}))

    assert [one.by for one in (kind, sessions, turns)] == ["kind", "sessions back", "turns back"]
    assert rows(kind) == [
        ("when", "gold", 1, 1.0, 1),
        ("when", "pred", 3, 1 / 2, 2),
        ("who", "pred", 2, 1 / 2, 2),
    ]
    assert rows(sessions) == [
        ("0", "gold", 1, 1.0, 1),
        ("0", "pred", 1, 1.0, 1),
        ("1", "pred", 1, 0.0, 1),
        ("2 to 3", "pred", 3, 1 / 2, 2),
    ]
    assert [row[:3] for row in rows(turns)] == [
        ("1", "gold", 1),
        ("1", "pred", 1),
        ("2 to 3", "pred", 1),
        ("8 to 15", "pred", 3),
    ]


def test_data_that_say_nothing_of_questions_have_no_groups():
    records = RECORDS[:1]
    assert turn_groups(records, score_columns(records, {"em": em()})) == ()
