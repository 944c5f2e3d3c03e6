"""A turn as a row, and scores as columns beside it."""

from __future__ import annotations

import math

import pytest

from replay.core.record import ServerTimes, Timing, Usage
from replay.scorers.retrieval import hit_rate_scorer
from replay.scorers.scorer import Unscored
from replay.scorers.word_overlap import em
from replay.statistics import score_column
from replay.statistics.score_column import (
    TURN_COLUMNS,
    ScoreColumn,
    encodable,
    in_parts,
    score_columns,
    stored_column,
    survey_scorers,
    turn_columns,
    turn_rows,
    turns_frame,
)
from tests.scorers.turns import INVALID, NOT_JUDGED, turn
from tests.statistics.repeated import played
from tests.statistics.spread import LongestAnswer

TIMED = turn(
    "Paris",
    "Paris",
    drift=INVALID,
    usage=Usage(prompt_tokens=7, completion_tokens=2),
    timing=Timing(scheduled_s=0.5, sent_s=1.0, done_s=3.0, server=ServerTimes(queue_s=0.5, total_s=1.5)),
)
BARE = turn(None, depth=2, timing=None)


def rows(**options):
    scores = {
        "em": ScoreColumn(scorer=em(), observed=[1.0, Unscored(reason="not answered")]),
        "depth": ScoreColumn(scorer=LongestAnswer(), observed=[5, Unscored(reason="no answer")]),
    }
    return list(turn_rows([TIMED, BARE], scores, **options))


def test_a_row_says_what_is_known_and_nothing_where_nothing_is():
    timed, bare = rows(nested=True)

    assert list(timed) == list(bare) == [*TURN_COLUMNS, "em", "depth_score", "unscored"]
    assert (timed["valid"], timed["latency_s"], timed["sent_s"], timed["prompt_tokens"]) == (
        False,
        2.0,
        1.0,
        7,
    )
    assert (timed["em"], timed["depth_score"], timed["depth"], timed["unscored"]) == (1.0, 5, 1, {})
    nothing = ("valid", "latency_s", "sent_s", "prompt_tokens", "drift", "em", "depth_score", "answer")
    assert [bare[name] for name in nothing] == [None] * len(nothing)
    assert bare["unscored"] == {"em": "not answered", "depth": "no answer"}
    assert timed["gold_answers"] == ("Paris",)
    server = [f"server_{part}_s" for part in ("queue", "prefill", "decode", "total")]
    assert [timed[name] for name in server] == [0.5, None, None, 1.5]
    assert [bare[name] for name in server] == [None] * 4


def test_a_question_that_was_not_judged_is_neither_valid_nor_invalid():
    (row,) = turn_rows([turn(drift=NOT_JUDGED)], {}, nested=True)

    assert (row["valid"], row["drift"]["not_judged"]) == (None, NOT_JUDGED.not_judged)


def test_a_flat_row_holds_lists_as_json_and_numbers_as_they_are():
    timed, bare = rows(nested=False)

    assert (timed["gold_answers"], timed["depth_score"], timed["em"]) == ('["Paris"]', "5", 1.0)
    assert bare["unscored"] == '{"em": "not answered", "depth": "no answer"}'
    assert bare["drift"] is None
    (plain,) = turn_rows([turn("Ça", "Ça")], {}, nested=False)
    assert plain["gold_answers"] == '["Ça"]'
    assert "unscored" not in plain


def test_a_column_has_the_kind_of_what_it_holds():
    kinds = turn_columns(score_columns([], {"em": em(), "unscored": LongestAnswer()}))

    assert (kinds["em"], kinds["unscored_score"], kinds["unscored"]) == ("number", "json", "json")
    assert turn_columns({}) == TURN_COLUMNS


def test_half_a_surrogate_pair_is_written_out():
    assert encodable({"a": "\udc80☃", "b": 1}) == {"a": "\\udc80☃", "b": 1}


# Columns -------------------------------------------------------------------------------------------------


def test_the_value_of_no_turn_or_of_an_undefined_score_is_none():
    class Nowhere:
        def combine(self, observed):
            return math.nan

    assert ScoreColumn(scorer=em(), observed=[1.0, 0.0, 0.0]).value([0, 1]) == 0.5
    assert ScoreColumn(scorer=em(), observed=[1.0]).value([]) is None
    assert ScoreColumn(scorer=Nowhere(), observed=[1.0]).value([0]) is None


@pytest.mark.parametrize(("part", "sizes"), [(1, [2, 1, 2]), (2, [2, 3]), (3, [3, 2]), (4, [5]), (9, [5])])
def test_parts_are_as_long_as_said_and_never_end_inside_a_conversation(monkeypatch, part, sizes):
    monkeypatch.setattr(score_column, "PART", part)
    played = [turn(conversation="a"), turn(conversation="a", depth=2), turn(conversation="a", policy="gold")]
    played += [turn(conversation="b"), turn(conversation="b", depth=2)]

    assert [len(records) for records in in_parts(played)] == sizes
    assert list(in_parts([])) == []


def test_a_million_turns_without_a_score_share_their_reasons():
    column = stored_column(em(), 3, [(0, None, "skipped"), (2, None, "skipped")])

    assert column.observed[0] is column.observed[2]
    assert [column.is_scored(index) for index in range(3)] == [False] * 3


def test_only_a_scorer_that_must_see_all_is_shown_all():
    reads = []

    def read():
        reads.append(1)
        yield turn(system="retriever")

    same = em()
    assert survey_scorers({"em": same}, read)["em"] is same
    assert reads == []
    found = survey_scorers({"em": same, "hit_rate": hit_rate_scorer()}, read)
    assert found["em"] is same
    assert found["hit_rate"].reporting == frozenset()  # known now, and empty
    assert reads == [1]


def test_plays_of_a_conversation_can_be_told_apart_and_put_together():
    records, _ = played([[1], [0]])
    frame = turns_frame(records)
    assert list(frame["conversation"]) == ["c0", "c0~2"]
    assert list(frame["recorded_conversation"]) == ["c0", "c0"]
    assert list(frame["repeat"]) == [1, 2]
