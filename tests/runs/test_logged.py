"""Logs without a scenario: whether questions drift, and what they lean on."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from msgspec.structs import replace

import replay
from replay import Conversation, Turn
from replay.core.errors import InputError, ReplayError, ScenarioError
from replay.policies.rewrite import RewritePolicy
from replay.statistics.interval import Interval
from tests.samples import SINGER, Fake, detector, play

ASTRAY = ("It is a song.", "I don't know.", "No idea.", "Nothing.")


def logged(*answers: str | None, asked: tuple[str, ...] = ()) -> Conversation:
    """SINGER as a log has it."""
    questions = asked or tuple(turn.question for turn in SINGER.turns)
    turns = tuple(
        Turn(id=f"log{n}", question=question, gold_answers=() if answer is None else (answer,))
        for n, (question, answer) in enumerate(zip(questions, answers, strict=False))
    )
    return Conversation(id=SINGER.id, turns=turns)


async def test_verdicts_and_wordings_are_those_of_a_run_that_heard_the_same_answers() -> None:
    async with detector(window=2) as drift:
        run = await play(Fake(*ASTRAY), RewritePolicy(detector=drift), SINGER)

    log = logged(*ASTRAY, asked=tuple(r.asked for r in run))
    told: list[tuple[int, int]] = []
    found = replay.drift(
        [SINGER], [log], drift={"window": 2}, on_progress=lambda done, of: told.append((done, of))
    )
    assert told == [(1, 1)]

    assert [(r.asked, r.drift) for r in found.records] == [(r.asked, r.drift) for r in run]
    assert "rewritten" in {r.edit for r in run}


def test_the_history_is_what_was_really_asked() -> None:
    """Once she is named in a question, "her" has somebody to refer to, whatever was answered."""
    recorded = tuple(turn.question for turn in SINGER.turns)
    named = (recorded[0], "Where was Alice Okafor born?", *recorded[2:])

    plain, helped = [replay.drift([SINGER], [logged(*ASTRAY, asked=asked)]) for asked in (recorded, named)]

    assert [row["valid"] for row in plain.rows()] != [row["valid"] for row in helped.rows()]
    assert [row["asked"] for row in helped.rows()] == list(named)
    assert [row["question"] for row in helped.rows()] == list(recorded)


def test_right_answers_drift_nowhere_and_a_log_may_end_early() -> None:
    found = replay.drift([SINGER, replace(SINGER, id="other")], [logged("Alice Okafor sang it.", None)])

    assert [(row["valid"], row["answer"]) for row in found.rows()] == [
        (True, "Alice Okafor sang it."),
        (True, None),
    ]
    assert found.left_out == 1
    assert [(row.depth, row.turns, row.invalid) for row in found.by_depth()] == [
        (1, 1, 0),
        (2, 1, 0),
        (None, 2, 0),
    ]


def frame(talk: Conversation) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "conversation": talk.id,
            "question": [turn.question for turn in talk.turns],
            "answer": [turn.gold_answer for turn in talk.turns],
            "title": talk.title or None,
        }
    )


def test_tables_in_and_out() -> None:
    own = logged(*ASTRAY[:2], None)
    found = replay.drift(frame(SINGER), frame(own))

    table = found.to_frame()
    assert list(table["valid"][:2]) == [True, False]
    assert table["valid"].dtype == "boolean"
    assert table["answer"].isna().tolist() == [False, False, True]
    assert list(table["rewritten"])[1] == "Where was Alice Okafor born?"
    by_depth = found.depth_table()
    assert by_depth["questions"].tolist() == [1, 1, 1, 3]
    assert by_depth["invalid"].tolist()[:2] == [0, 1]


async def test_it_works_where_an_event_loop_runs() -> None:
    assert asyncio.get_running_loop()
    assert len(replay.drift([SINGER], [logged(*ASTRAY)]).records) == 4


def test_a_section_of_drift_is_as_a_scenarios() -> None:
    assert "window:1" in replay.drift([SINGER], [logged("A song.")], drift={"window": 1}).signature
    with pytest.raises(ReplayError, match="windw"):
        replay.drift([SINGER], [logged("A song.")], drift={"windw": 1})


@pytest.mark.parametrize(
    ("gold", "own", "said"),
    [
        ([SINGER], [replace(logged("A."), id="x")], 'conversation "x" of the logs is not in the gold data'),
        (
            [replace(SINGER, turns=SINGER.turns[:1])],
            [logged("A.", "B.")],
            "has 2 turns in the logs and 1 in the gold data",
        ),
        ("nowhere.jsonl", [SINGER], "nowhere.jsonl"),
        (frame(SINGER).drop(columns="question"), [SINGER], 'the header has no column "question"'),
    ],
    ids=["unknown", "longer", "missing", "column"],
)
def test_what_does_not_go_together_says_where(gold: Any, own: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        replay.drift(gold, own)


def test_files_are_read_in_any_format(tmp_path: Path) -> None:
    turns = [{"question": turn.question, "gold_answer": turn.gold_answer} for turn in SINGER.turns]
    (tmp_path / "gold.jsonl").write_text(json.dumps({"id": SINGER.id, "turns": turns}) + "\n", "utf-8")
    frame(logged(*ASTRAY)).to_csv(tmp_path / "own.csv", index=False)

    found = replay.drift(tmp_path / "gold.jsonl", str(tmp_path / "own.csv"))

    assert [row["answer"] for row in found.rows()] == list(ASTRAY)


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
