from __future__ import annotations

from dataclasses import replace

from replay.core.drift_evidence import Drift
from replay.report.notes import notes
from replay.scorers.word_overlap import em, f1
from replay.statistics.depth_table import depth_table
from replay.statistics.run_numbers import Report
from replay.statistics.score_column import score_columns
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
