"""One turn for a reader: its mentions, and what its question leaves out."""

from __future__ import annotations

from replay.core.drift_evidence import Drift, Mention, MentionDrift, Reading
from replay.viewer.turn_view import QuestionPart, TextLimits, turn_view
from tests.scorers.turns import turn

QUESTION = "What else did she do?"


def mention(start, end, kind, antecedent, state="same"):
    found = Mention(start=start, end=end, text=QUESTION[start:end], kind=kind)
    reading = Reading(mention=found, antecedent=antecedent)
    return MentionDrift(gold=reading, predicted=reading, state=state, overlap=0.0)


def marked(*mentions):
    record = turn(recorded=QUESTION, drift=Drift(valid=True, mentions=mentions, mode="strict"))
    return list(turn_view(record, (), (), {}, TextLimits()).marked)


SHE = mention(14, 17, "she", "Ann Lee")


def test_what_is_left_out_is_marked_where_it_could_be_put():
    assert marked(mention(20, 20, "ellipsis", "record an album", "drifted"), SHE) == [
        QuestionPart("What else did "),
        QuestionPart("she", "same"),
        QuestionPart(" do"),
        QuestionPart("", "drifted", "record an album"),
        QuestionPart("?"),
    ]
    assert marked(mention(20, 20, "ellipsis", None, "open"))[1] == QuestionPart("", "open", "")


def test_what_is_left_out_before_a_mention_is_marked_beside_it():
    assert marked(SHE, mention(14, 14, "ellipsis", "to her"))[1:4] == [
        QuestionPart("", "same", "to her"),
        QuestionPart(""),
        QuestionPart("she", "same"),
    ]


def test_a_long_clause_is_cut_in_the_question():
    (_, left_out, _) = marked(mention(20, 20, "ellipsis", "word " * 40))

    assert len(left_out.left_out) == 80
    assert left_out.left_out.endswith(" …")


def test_a_span_outside_the_question_or_an_empty_one_of_another_kind_is_no_mark():
    assert marked(mention(14, 14, "she", "Ann"), mention(99, 99, "ellipsis", "Ann")) == []


def test_a_cached_answer_and_a_cut_history_are_named():
    record = turn(cached=True, history_cut="exchanges 1 to 3", timing=None, cost_usd=0.0)

    assert list(turn_view(record, (), (), {}, TextLimits()).timings) == [
        ("not shown of the history", "exchanges 1 to 3"),
        ("answer", "from the cache, not asked for"),
    ]
