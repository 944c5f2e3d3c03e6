"""What questions of logs lean on, counted."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

import replay
from replay import Conversation, Turn
from replay.core.errors import ScenarioError
from replay.statistics.interval import Interval

WRITER = Conversation(
    id="writer",
    turns=tuple(
        Turn(id=f"w{n}", question=question, gold_answers=(answer,))
        for n, (question, answer) in enumerate(
            [
                ("Who wrote Stone Garden?", "Mira Okafor wrote it."),
                ("When was she born?", "In 1961."),
                ("Do you sell garden lamps?", "We do."),
            ]
        )
    ),
)
PLAIN = Conversation(
    id="plain",
    turns=tuple(
        Turn(id=f"p{n}", question=question, gold_answers=("Yes.",))
        for n, question in enumerate(["Do you sell lamps?", "Do you sell beds?", "Do you deliver to Ghent?"])
    ),
)


def test_each_question_is_a_row_with_what_it_leans_on() -> None:
    found = replay.leaning([WRITER])
    assert [(row["depth"], row["leans_on"], row["words"], row["at_risk"]) for row in found.rows()] == [
        (1, "nothing", None, False), (2, "answer", "Mira Okafor", True), (3, "nothing", None, False),
    ]  # fmt: skip
    assert found.to_frame()["turns_back"].tolist()[1] == 1


def test_shares_are_of_the_judged_questions_with_intervals_over_conversations() -> None:
    german = replace(
        WRITER, id="german", turns=(replace(WRITER.turns[0], question="Wer hat denn das geschrieben?"),)
    )
    found = replay.leaning([WRITER, PLAIN, german])
    first, second, _, total = found.by_depth()
    assert (first.questions, first.judged, first.at_risk) == (3, 2, 0)
    assert (second.lean_on_answer, second.at_risk, second.at_risk_share.value) == (1, 1, 0.5)
    assert (total.depth, total.judged, total.at_risk) == (None, 6, 1)
    assert isinstance(second.at_risk_share.interval, Interval)
    assert list(found.count_unjudged().values()) == [1]


def test_the_summary_says_how_many_how_far_back_and_where_most() -> None:
    assert replay.leaning([WRITER, PLAIN]).summary() == (
        "1 of 6 questions (17 %) leans on an earlier answer, 1 of them on the one just before; 1 (17 %) "
        "would mean something else if it were wrong, most at depth 2 (1 of 2)."
    )
    assert replay.leaning([PLAIN]).summary() == "0 of 3 questions (0 %) lean on an earlier answer."


def test_each_conversation_is_told_once_it_is_read() -> None:
    told: list[tuple[int, int]] = []
    replay.leaning([WRITER, PLAIN], on_progress=lambda done, of: told.append((done, of)))
    assert told == [(1, 2), (2, 2)]


@pytest.mark.parametrize("setting", ["mode", "semantic"])
def test_settings_that_need_a_second_history_are_refused(setting) -> None:
    value = {"mode": "hard", "semantic": {}}[setting]
    with pytest.raises(ScenarioError, match=f"drift.{setting}"):
        replay.leaning([PLAIN], drift={setting: value})
