from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from replay.datasets.quac_coqa import CoqaReader
from replay.scorers.answer_text import DECLINING_PATTERNS, quac_references
from replay.scorers.leave_one_out import coqa_em, coqa_f1, heq_d, heq_q, human_f1, quac_f1
from replay.scorers.scorer import Unscored
from replay.testing import ScorerContract
from tests.datasets.files import json_file, only
from tests.scorers.turns import score_of, turn

PHRASES = st.lists(st.sampled_from(["cat", "dog", "sat", "on", "mat"]), min_size=1, max_size=5).map(" ".join)


class TestHeqDKeepsTheContract(ScorerContract):
    @pytest.fixture
    def scorer(self):
        return heq_d()

    @pytest.fixture
    def records(self):
        return [
            turn("Paris", gold, conversation=f"c{number // 2}", depth=1 + number % 2)
            for number, gold in enumerate(["Paris", "Paris", "Paris", "Rome", "Rome", "Paris", "Paris"])
        ]

    def cluster(self, record):
        """A dialog's turns are drawn together."""
        return record.conversation

    def test_an_observation_does_not_depend_on_system_or_policy(self, scorer, records):
        """It does name its conversation, since dialogs are what is counted."""
        others = [turn("Paris", "Paris", system="other", policy="gold")]

        assert scorer.observe(others) == scorer.observe([turn("Paris", "Paris")]) == [["c1", 1, 1]]


def test_the_worked_example():
    gold = ["in Paris", "Paris", "the city"]

    assert score_of(quac_f1(), "in Paris", gold) == pytest.approx((2 / 3 + 1 + 1) / 3)
    assert human_f1(gold) == pytest.approx((2 / 3 + 2 / 3 + 0) / 3)


@pytest.mark.parametrize(
    ("answer", "gold", "score", "people"),
    [
        ("Paris", ["Paris"], 1, 1),  # one reference: nothing to leave out
        ("CANNOTANSWER", ["CANNOTANSWER", "Paris"], 1, 1),  # as many decline as answer
        ("Paris", ["CANNOTANSWER", "Paris"], 0, 1),
        ("Paris", ["CANNOTANSWER", "Paris", "Paris"], 1, 1),
        ("I don't know", ["Paris", "London"], 0, 0),
    ],
)
def test_questions_without_an_answer_go_by_quacs_rule(answer, gold, score, people):
    assert score_of(quac_f1(min_human_f1=0), answer, gold) == score
    assert human_f1(quac_references(gold, DECLINING_PATTERNS)) == people


def by_hand(answer: str, gold: list[str]) -> tuple[float, float]:
    """The script's two numbers, written out."""

    def f1(one: str, other: str) -> float:
        left, shared = other.split(), 0
        for word in one.split():
            if word in left:
                left.remove(word)
                shared += 1
        precision, recall = shared / len(one.split()), shared / len(other.split())
        return 2 * precision * recall / (precision + recall) if shared else 0.0

    if len(gold) == 1:
        return f1(answer, gold[0]), 1.0
    system = people = 0.0
    for place in range(len(gold)):
        others = gold[:place] + gold[place + 1 :]
        system += max(f1(answer, other) for other in others)
        people += max(f1(gold[place], other) for other in others)
    return system / len(gold), people / len(gold)


@given(PHRASES, st.lists(PHRASES, min_size=1, max_size=4))
def test_is_the_scripts_for_answers_in_words(answer, gold):
    assert (score_of(quac_f1(min_human_f1=0), answer, gold), human_f1(gold)) == pytest.approx(
        by_hand(answer, gold)
    )


def test_a_chinese_phrase_is_a_word_as_in_the_script():
    assert score_of(quac_f1(), "北京大学", ["北京"]) == 0
    assert score_of(quac_f1(), "北京", ["北京", "北京"]) == 1


def test_questions_that_people_disagree_on_are_left_out():
    turns = [turn("in Paris", "in Paris", "Paris", "the city"), turn("x", "cat", "dog")]

    assert quac_f1().observe(turns) == [pytest.approx(8 / 9), Unscored(reason="human F1 below 0.4")]
    assert quac_f1(min_human_f1=0).observe(turns)[1] == 0
    assert heq_q().observe(turns) == [1.0, Unscored(reason="human F1 below 0.4")]
    assert heq_d(min_human_f1=0.5).observe(turns)[0] == Unscored(reason="human F1 below 0.5")


DIALOGS = [
    turn("Paris", "Paris", conversation="good", depth=1),
    turn("1889", "1889", conversation="good", depth=2),
    turn("Paris", "Paris", conversation="bad", depth=1),
    turn("1889", "1890", conversation="bad", depth=2),
    turn("Rome", "Rome", conversation="short", depth=1),
]


def test_a_dialog_is_good_if_every_question_is():
    scorer = heq_d()
    observed = scorer.observe(DIALOGS)

    assert scorer.combine(observed) == pytest.approx(2 / 3)
    assert heq_q().combine(heq_q().observe(DIALOGS)) == pytest.approx(4 / 5)
    # Over one depth a dialog is what stands there: all three at depth 1, one of two at depth 2.
    assert scorer.combine([one for one in observed if one[1] == 1]) == 1
    assert scorer.combine([one for one in observed if one[1] == 2]) == 1 / 2


def test_a_dialog_that_is_drawn_twice_counts_twice():
    observed = heq_d().observe(DIALOGS)
    good, bad = observed[:2], observed[2:4]

    assert heq_d().combine(good * 2 + bad) == pytest.approx(2 / 3)
    assert heq_d().combine(good + bad * 3) == pytest.approx(1 / 4)


@pytest.mark.parametrize("scorer", [quac_f1, heq_q, heq_d])
def test_a_least_human_f1_that_is_no_share_is_refused(scorer):
    with pytest.raises(ValueError, match="min_human_f1"):
        scorer(min_human_f1=1.01)
    assert scorer(min_human_f1=1).signature.startswith(f"{scorer.__name__}:")
    assert "min-human:1|" in scorer(min_human_f1=1).signature


FOUR = ["white", "White.", "a white one", "pure white"]


@pytest.mark.parametrize(
    ("answer", "references", "em", "f1"),
    [
        ("the white", FOUR, 1, 1),  # another of the two stays when one is left out
        ("white one", FOUR, 3 / 4, (1 + 1 + 2 / 3 + 1) / 4),
        ("pure white", ["pure white", "white"], 1 / 2, (2 / 3 + 1) / 2),
        ("white", ["white"], 1, 1),  # nothing to leave out
        ("unknown", ["CANNOTANSWER", "CANNOTANSWER", "no"], 1, 1),
        ("CANNOTANSWER", ["CANNOTANSWER", "no", "no", "no"], 3 / 4, 3 / 4),
        ("no", ["CANNOTANSWER", "CANNOTANSWER", "no", "CANNOTANSWER"], 3 / 4, 3 / 4),
        ("I don't know.", ["CANNOTANSWER"], 0, 0),
        ("The", ["a", "no"], 1 / 2, 1 / 2),  # texts without words are equal
    ],
)
def test_by_hand(answer, references, em, f1):
    assert score_of(coqa_em(), answer, references) == pytest.approx(em)
    assert score_of(coqa_f1(), answer, references) == pytest.approx(f1)


def test_other_words_can_be_told_to_decline():
    free = {"declining": ("I don['’]t know\\.?",)}

    assert score_of(coqa_em(**free), "I don't know.", ["CANNOTANSWER"]) == 1
    assert score_of(coqa_f1(**free), "unknown", ["CANNOTANSWER"]) == 1


def test_a_file_of_coqas_is_read_and_scored_as_its_script_scores_it(tmp_path):
    """The reader says CANNOTANSWER for unknown; three of four people saying so leave the fourth's answer."""
    answers = ["unknown", "Unknown", "unknown", "at home"]
    said = [[{"input_text": text, "turn_id": 1}] for text in answers]
    story = {
        "id": "s",
        "source": "mctest",
        "story": "Cotton lived in a barn.",
        "questions": [{"input_text": "Where did she live?", "turn_id": 1}],
        "answers": said[0],
        "additional_answers": {str(n): one for n, one in enumerate(said[1:])},
    }
    path = json_file(tmp_path / "coqa.json", {"version": "1.0", "data": [story]})
    conversation = only(CoqaReader(), path)
    record = turn("at home", *conversation.turns[0].gold_answers)

    assert coqa_em().observe([record]) == [3 / 4]
    assert coqa_f1().observe([record]) == [3 / 4]
