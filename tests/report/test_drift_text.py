"""Why a question is invalid, in words."""

from __future__ import annotations

import pytest

from replay.core.drift_evidence import Drift, Mention, MentionDrift, Reading, SemanticSimilarity
from replay.report.drift_text import Candidate, mention_views, why_invalid

IT = Mention(start=0, end=2, text="it", kind="it")
LEFT_OUT = Mention(start=9, end=9, text="", kind="ellipsis")


def drift(*mentions, probability=0.4, valid=False, **more):
    return Drift(valid=valid, mentions=mentions, probability=probability, **{"mode": "strict", **more})


def mention(gold, own, state, probability=0.4, *, at=IT, gold_others=(), own_others=()):
    sides = [
        Reading(mention=at, antecedent=best, distribution=(((0.5, best),) if best else ()) + tuple(others))
        for best, others in ((gold, gold_others), (own, own_others))
    ]
    return MentionDrift(
        gold=sides[0], predicted=sides[1], state=state, overlap=float(gold == own), probability=probability
    )


MUSEUM = mention(
    "the museum",
    "the museum",
    "same",
    gold_others=((0.2, "one condition"), (0.1, "a port"), (0.06, "Ann"), (0.04, "Bo")),
    own_others=((0.15, "the keeper"), (0.09, "A port")),
)


def test_a_best_guess_that_is_the_same_says_what_else_was_lost():
    why = why_invalid(drift(MUSEUM, probability=0.39))

    assert why == (
        "39 % likely to mean something else; “it” could be “one condition” (20 %) in the gold history, "
        "and hardly in its own"
    )


def test_what_only_one_history_offers_stands_beside_its_best_guess():
    """Most probable first; neither what both offer, in any letter case, nor what nobody would think of."""
    (shown,) = mention_views(drift(MUSEUM))

    assert shown.lost == [Candidate("one condition", 0.2), Candidate("Ann", 0.06)]
    assert shown.came == [Candidate("the keeper", 0.15)]


def test_readings_that_do_not_differ_have_nothing_beside_them():
    (shown,) = mention_views(drift(mention("a", "a", "same", 0.0, gold_others=((0.3, "b"),)), valid=True))

    assert (shown.lost, shown.came) == ((), ())


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (mention("Ann", "Bo", "drifted"), "“it” is “Bo” in its own history, “Ann” in the gold one"),
        (mention("Ann", None, "lost"), "“it” is “Ann” in the gold history, and means nothing in its own"),
        (
            mention("Ann", None, "lost", at=LEFT_OUT),
            "what is left out is “Ann” in the gold history, and means nothing in its own",
        ),
        (
            mention(None, None, "open", own_others=((0.2, "Cy"),)),
            "“it” could be “Cy” (20 %) in its own history, and hardly in the gold one",
        ),
        (mention("Ann", "Ann", "same"), "“it” is read otherwise"),
    ],
)
def test_what_became_of_the_mention_that_weighs_most(one, said):
    calm = mention("x", "x", "same", 0.01)

    assert why_invalid(drift(calm, one)) == f"40 % likely to mean something else; {said}"


def test_other_mentions_that_add_to_it_are_counted():
    more = [mention("x", "y", "drifted", 0.2, at=LEFT_OUT)]
    assert why_invalid(drift(mention("a", "b", "drifted"), *more)).endswith("; 1 more mention adds to it")
    assert why_invalid(drift(mention("a", "b", "drifted"), *more * 2)).endswith("2 more mentions add to it")


def test_a_certain_verdict_needs_no_probability():
    one = mention("Ann", "Bo", "drifted", 1.0)
    assert why_invalid(drift(one, probability=1.0, mode="hard")).startswith("“it” is “Bo”")


def test_the_published_rule_fails_questions_whose_mentions_all_agree():
    one = mention("Ann", "Ann", "same", 0.0)
    why = why_invalid(drift(one, probability=0.0, mode="evalconvqa"))
    assert why == "the two histories don’t link the same mentions"


def test_unlike_answers_are_a_reason_too():
    semantic = SemanticSimilarity(answers=0.123, question_gold=None, question_predicted=None)
    why = why_invalid(drift(probability=0.0, mode="hard", semantic=semantic))
    assert why == "the answers before it have a likeness of 0.12"


@pytest.mark.parametrize("valid", [True, None])
def test_a_question_that_is_not_invalid_has_no_reason(valid):
    assert why_invalid(drift(MUSEUM, valid=valid)) == ""


def test_a_whole_sentence_is_cut():
    one = mention("Ann", "word " * 40, "drifted")
    assert " …”" in why_invalid(drift(one))
