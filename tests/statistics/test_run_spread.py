from __future__ import annotations

from dataclasses import replace

from replay.scorers.word_overlap import em, f1
from replay.statistics.depth_table import depth_table
from replay.statistics.repeats import run_spread, same_answers
from replay.statistics.score_column import score_columns
from tests.scorers.turns import turn

RUNS = [
    [turn(answer, "Paris", depth=depth) for depth, answer in enumerate(answers, 1)]
    for answers in (["Paris", "Paris"], ["Paris", "Rome"], ["Paris", None])
]


def tables():
    return [
        depth_table(records, score_columns(records, {"f1": f1()}), {"c1": 2}, resamples=0) for records in RUNS
    ]


def test_by_depth_a_run_may_lack_a_number():
    first, second, total = run_spread(tables(), by_depth=True)

    assert (first.depth, first.values, first.deviation) == (1, (1.0, 1.0, 1.0), 0)
    assert (second.depth, second.values, second.mean) == (2, (1.0, 0.0, None), 0.5)
    assert total.depth is None


def test_answers_are_compared_where_every_run_has_one():
    (found,) = same_answers(RUNS)

    assert (found.turns, found.same) == (1, 1)
    (found,) = same_answers(RUNS[:2])
    assert (found.turns, found.same) == (2, 1)


def test_a_group_or_a_score_that_a_run_lacks_is_passed_over_and_the_others_are_not():
    def table(policies, scorers):
        records = [turn("Paris", "Paris", policy=policy) for policy in policies]
        return depth_table(records, score_columns(records, scorers), {"c1": 1}, resamples=0)

    both = {"em": em(), "f1": f1()}
    whole = table(["gold", "pred"], both)

    assert [row.group.policy for row in run_spread([whole, table(["pred"], both)])] == ["pred", "pred"]
    found = run_spread([whole, table(["gold", "pred"], {"f1": f1()})])
    assert [(row.group.policy, row.score, row.percent) for row in found] == [
        ("gold", "f1", True),
        ("pred", "f1", True),
    ]


def test_a_row_is_told_in_full():
    (row,) = run_spread(tables())
    group = {"system": "s", "policy": "pred"}

    assert row.to_json() == {
        **group,
        "score": "f1",
        "depth": None,
        "values": [1.0, 0.5, 1.0],
        "turns": [2, 2, 1],
        "mean": row.mean,
        "deviation": row.deviation,
        "least": 0.5,
        "most": 1.0,
    }
    none = replace(row, values=(None, None))
    assert (none.mean, none.deviation, none.to_json()["least"], none.to_json()["most"]) == (None,) * 4
    assert (replace(row, values=(0.5, None)).mean, replace(row, values=(0.5, None)).deviation) == (0.5, None)
    assert same_answers(RUNS)[0].to_json() == {**group, "turns": 1, "same": 1}


def test_answers_of_other_groups_and_turns_are_not_mixed():
    def run(*answers):
        return [
            turn(answer, policy=policy, conversation=conversation)
            for (policy, conversation), answer in zip(
                [("gold", "c1"), ("gold", "c2"), ("pred", "c1")], answers, strict=True
            )
        ]

    found = same_answers([run("a", "b", "c"), run("a", "x", "c")])
    assert [(one.group.policy, one.turns, one.same) for one in found] == [("gold", 2, 1), ("pred", 1, 1)]
    missing = same_answers([run("a", "b", "c"), run(None, None, "c")])
    assert [(one.group.policy, one.turns, one.same) for one in missing] == [("gold", 0, 0), ("pred", 1, 1)]
