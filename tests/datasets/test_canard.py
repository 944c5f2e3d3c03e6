"""CANARD rows put together again as dialogs."""

from __future__ import annotations

import pytest

from replay.core.conversation import Conversation
from replay.core.errors import DatasetError
from replay.datasets.canard import CanardReader
from tests.datasets.files import contract, fault, json_file, only


def row(dialog, number, *said, rewrite="R"):
    """The row of question *number*; *said* is q1, a1, q2, a2, ... and the question."""
    return {
        "History": ["Title", "Section", *said[:-1]],
        "QuAC_dialog_id": dialog,
        "Question": said[-1],
        "Question_no": number,
        "Rewrite": rewrite,
    }


def dialog(name, *said):
    """The rows of a dialog whose questions and answers are *said*."""
    return [
        row(name, n, *said[: 2 * n - 1], rewrite=f"{said[2 * n - 2]}!") for n in range(1, len(said) // 2 + 2)
    ]


FIRST = dialog("D_0", "Who?", "Okafor", "When?", "I don't know.", "Why?")
SECOND = dialog("E_1", "Where?", "In Port Ellis.", "Was she born there?")


TestCanardReader = contract(
    CanardReader(),
    "good.json",
    [*FIRST, *SECOND],
    [FIRST[0], (FIRST[1] | {"Question_no": "2"}), FIRST[2], *SECOND],
)


def test_a_gold_answer_comes_from_the_next_history_and_the_last_one_is_unknown(tmp_path):
    found = only(CanardReader(), json_file(tmp_path / "a.json", FIRST))

    assert (found.id, found.title, found.section) == ("D_0", "Title", "Section")
    assert [turn.id for turn in found.turns] == ["D_0_q#0", "D_0_q#1", "D_0_q#2"]
    assert [turn.question for turn in found.turns] == ["Who?", "When?", "Why?"]
    assert [turn.standalone for turn in found.turns] == ["Who?!", "When?!", "Why?!"]
    assert [turn.gold_answers for turn in found.turns] == [("Okafor",), ("CANNOTANSWER",), ()]


def test_rows_may_come_in_any_order(tmp_path):
    mixed = json_file(tmp_path / "a.json", [FIRST[2], SECOND[1], FIRST[0], SECOND[0], FIRST[1]])
    sorted_ = json_file(tmp_path / "b.json", [*FIRST, *SECOND])

    assert list(CanardReader().read(mixed)) == list(CanardReader().read(sorted_))


def test_a_question_without_a_row_that_a_later_history_shows_is_a_turn(tmp_path):
    found = only(CanardReader(), json_file(tmp_path / "a.json", [FIRST[0], FIRST[2]]))

    assert [turn.question for turn in found.turns] == ["Who?", "When?", "Why?"]
    assert [turn.standalone for turn in found.turns] == ["Who?!", None, "Why?!"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [
                row("D", 1, "Who?"),
                row("D", 2, "Who?", "A", "When?"),
                row("D", 3, "Who?", "B", "When?", "C", "Why?"),
            ],
            'History[3]: is "A", but question 3 of "D" has "B" there; the rows of a dialog must agree',
        ),
        (
            [row("D", 1, "Whose?"), row("D", 2, "Who?", "A", "When?")],
            'Question: is "Whose?", but question 2 of "D" has "Who?" there; the rows of a dialog must agree',
        ),
        (
            [row("D", 2, "Who?")],
            "History: has 2 texts, expected 4 before question 2: title, section, and each earlier question "
            "with its answer",
        ),
        ([row("D", 1, "Who?"), row("D", 1, "Who?")], 'Question_no: "D" has a question 1 already'),
        ([row("D", 0, "Who?") | {"History": []}], "History: has 0 texts, expected 0 before question 0: "),
    ],
)
def test_rows_that_contradict_each_other_are_an_error(tmp_path, rows, message):
    assert message in fault(CanardReader(), json_file(tmp_path / "a.json", rows))


def test_a_row_without_a_dialog_spoils_only_itself(tmp_path):
    bad, good = CanardReader().read(json_file(tmp_path / "a.json", [{"Question": "Q"}, *FIRST]))

    assert "item 1, History: is required but missing" in str(bad)
    assert good.id == "D_0"


class TestAnswersAsPassages:
    def test_a_dialogs_answers_are_its_passages(self, tmp_path):
        found = only(CanardReader(passages="answers"), json_file(tmp_path / "a.json", FIRST))

        assert [(p.id, p.text) for p in found.passages] == [("D_0_q#0", "Okafor")]
        assert [turn.gold_passages for turn in found.turns] == [("D_0_q#0",), (), ()]

    def test_an_answer_given_twice_is_one_passage(self, tmp_path):
        rows = dialog("D", "Who?", "Okafor", "And then?", "okafor", "Why?")

        found = only(CanardReader(passages="answers"), json_file(tmp_path / "a.json", rows))

        assert [p.id for p in found.passages] == ["D_q#0"]
        assert [turn.gold_passages for turn in found.turns] == [("D_q#0",), ("D_q#0",), ()]

    def test_distractors_are_never_an_own_answer(self, tmp_path):
        rows = [*FIRST, *dialog("E", "Who?", "OKAFOR", "Where?", "Here.", "Why?")]

        first, _ = CanardReader(passages="answers", distractors=1).read(json_file(tmp_path / "a.json", rows))

        assert sorted(p.text for p in first.passages) == ["Here.", "Okafor"]

    def test_too_few_other_answers_are_an_error(self, tmp_path):
        reader = CanardReader(passages="answers", distractors=2)
        bad, _ = reader.read(json_file(tmp_path / "a.json", [*FIRST, *SECOND]))

        assert "distractors: found 1 different answers in the other dialogs of the file, expected 2" in str(
            bad
        )

    @pytest.mark.parametrize(
        ("settings", "message"),
        [({"distractors": 1}, "need passages"), ({"passages": "answers", "distractors": -1}, "0 or more")],
    )
    def test_settings_that_make_no_sense_are_refused(self, settings, message):
        with pytest.raises(ValueError, match=message):
            CanardReader(**settings)

    def test_the_choice_is_always_the_same(self, tmp_path):
        rows = [r for i in range(9) for r in dialog(f"D_{i}", "Who?", f"A{i}", "When?", f"B{i}", "Why?")]
        path = json_file(tmp_path / "a.json", rows)
        first, *_ = CanardReader(passages="answers", distractors=5).read(path)

        # Written down, so that neither a change in the code nor this process's seed can choose others.
        chosen = "D_6_q#1 D_1_q#0 D_3_q#0 D_2_q#1 D_0_q#0 D_4_q#1 D_0_q#1"
        assert [passage.id for passage in first.passages] == chosen.split()

    def test_a_position_says_nothing_about_a_passage(self, shared_data):
        found = CanardReader(passages="answers", distractors=10).read(
            shared_data / "canard" / "canard_dev_a.json"
        )
        firsts = [c.passages[0].id.startswith(c.id) for c in found if len(c.passages) > 12]

        assert 0.2 < sum(firsts) / len(firsts) < 0.6


def test_the_published_half_of_the_dev_split_is_read(shared_data):
    found = list(CanardReader().read(shared_data / "canard" / "canard_dev_a.json"))

    assert not [item for item in found if isinstance(item, DatasetError)]
    conversations = [item for item in found if isinstance(item, Conversation)]
    turns = [turn for conversation in conversations for turn in conversation.turns]
    assert (len(conversations), len(turns)) == (245, 1695)
    assert all(turn.standalone for turn in turns)
    assert sum(not turn.gold_answers for turn in turns) == 245
    assert sum(turn.gold_answers == ("CANNOTANSWER",) for turn in turns) > 100
