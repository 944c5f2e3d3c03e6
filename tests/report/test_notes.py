"""Why a question is invalid, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replay.core.drift_evidence import Drift, Mention, MentionDrift, Reading, SemanticSimilarity
from replay.report.findings import Candidate, mention_views, why_invalid
from replay.report.notes import notes
from replay.report.numbers import duration, number
from replay.scorers.word_overlap import em, f1
from replay.statistics.depth_table import depth_table
from replay.statistics.run_numbers import Report
from replay.statistics.score_column import score_columns
from tests.data_tables import from_table
from tests.scorers.turns import INVALID, NOT_JUDGED, skipped_turn, turn


def said(records, lengths=None, **lags_s):
    scores = score_columns(records, {"em": em(), "f1": f1()})
    conversations = lengths or {r.conversation: max(x.depth for x in records) for r in records}
    table = depth_table(records, scores, conversations, resamples=0)
    return notes(Report(table=table, loop_lag_s=lags_s))


def enough(depth=1, **changes):
    """Turns of as many conversations as nobody warns about."""
    return [turn("x", "x", depth=depth, conversation=f"c{n}", **changes) for n in range(5)]


def test_a_run_without_anything_odd_needs_no_notes():
    assert said(enough(), s=0.001) == []


def test_unscored_turns_are_counted_with_their_reasons():
    records = [*enough(), turn("x", conversation="c5"), turn("x", conversation="c6")]

    assert said(records) == ["pred: 2 turns without em, f1 (no gold answer)."]


def test_failures_are_counted_by_outcome():
    failed = [turn(None, "x", conversation=f"d{n}", outcome="refused") for n in range(2)]
    found = said([*enough(), *failed, turn(None, "x", conversation="e")])

    assert found[0] == "pred: 3 turns failed (2 refused, 1 timed-out)."
    assert found[1] == "pred: 3 turns without em, f1 (2 not answered: refused, 1 not answered: timed-out)."


def test_filtered_and_missing_questions_are_counted():
    records = [
        *enough(),
        turn("x", "x", conversation="c5", edit="not-found", drift=INVALID),
        skipped_turn("x", conversation="c6"),
    ]

    assert said(records)[:2] == [
        "pred: 1 turn filtered out: the question was invalid and was not asked.",
        "pred: 1 invalid question was asked as recorded: the data has no standalone form.",
    ]


def test_questions_that_were_not_judged_are_counted_by_language():
    german = turn("x", "x", conversation="c5", drift=NOT_JUDGED)
    french = replace(NOT_JUDGED, not_judged="the question is not English (French)")
    other = [turn("x", "x", conversation=f"c{n}", drift=drift) for n, drift in ((6, NOT_JUDGED), (7, french))]

    assert said([*enough(), german]) == ["pred: 1 question not judged: not English (German)."]
    assert said([*enough(), german, *other]) == [
        "pred: 3 questions not judged: 2 not English (German), 1 not English (French)."
    ]


def test_questions_that_a_model_gave_no_reading_of_are_counted_together():
    """Whatever was wrong with each reply: that stands after the colon."""
    wrong = [f"the model gave no usable reading: {why}" for why in ("no JSON", '"Bob" is nowhere')]
    reasons = ["the question is not English (German)", *wrong]
    unread = [
        turn("x", "x", conversation=f"c{n}", drift=replace(NOT_JUDGED, not_judged=reason))
        for n, reason in enumerate(reasons, 5)
    ]

    assert said([*enough(), *unread]) == [
        "pred: 3 questions not judged: 2 the model gave no usable reading, 1 not English (German)."
    ]


def test_questions_after_texts_that_were_too_long_are_counted():
    cut = enough(drift=Drift(valid=True, mentions=(), mode="strict", shortened=2))[:1]

    assert said([*cut, *enough()[1:]]) == [
        "pred: 1 question judged after texts too long to be read whole; beginnings and ends were read."
    ]


def test_turns_that_were_never_asked_are_counted():
    found = said(enough(), {f"c{n}": 1 for n in range(5)} | {"c9": 3})

    assert found == ["pred: 3 turns never asked: the conversation or the run stopped before."]


def test_depths_with_few_conversations_are_named_as_ranges():
    deep = [turn("x", "x", depth=depth, conversation="c0") for depth in (2, 4, 5, 6)]

    assert said([*enough(), *enough(depth=3), *deep])[-1] == (
        "pred: fewer than 5 conversations at depths 2, 4 to 6; read little into them."
    )


def test_what_holds_for_several_groups_is_said_once():
    groups = [("s", "gold"), ("s", "pred"), ("t", "pred")]
    records = [r for system, policy in groups for r in enough(system=system, policy=policy)]
    odd = [turn("x", system=system, policy=policy, conversation="c9") for system, policy in groups]

    assert said([*records, *odd]) == ["all: 1 turn without em, f1 (no gold answer)."]
    found = said([*records, *odd[1:]], {f"c{n}": 1 for n in (0, 1, 2, 3, 4)} | {"c9": 1})
    assert found[-1] == "s, pred; t, pred: 1 turn without em, f1 (no gold answer)."


def test_a_lagging_loop_is_mentioned_beside_the_latency_it_disturbs():
    assert said(enough(), s=0.05) == []
    assert said(enough(), s=0.06) == [
        "the event loop lagged by 60 ms while it asked (p99), more than 10% of the median latency (pred "
        "500 ms); latencies may be too high by as much."
    ]
    records = [*enough(), *enough(system="t")]
    (told,) = said(records, t=0.06)
    assert "(t, pred 500 ms)" in told


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


@from_table
def test_numbers_are_shown_in_their_unit(value, unit, shown):
    assert number(value, unit) == shown


def test_a_difference_has_its_sign():
    assert number(0.021, signed=True) == "+2.1"
    assert number(0.0, signed=True) == "0.0"


def test_durations_are_said_as_people_say_them():
    assert [duration(s) for s in (0.0123, 3.2, 250, 7320, None)] == [
        "12.3 ms",
        "3.2 s",
        "4 min 10 s",
        "2 h 2 min",
        "–",
    ]
