"""The contract tells the author of a bad scorer what to do."""

from __future__ import annotations

from replay import why_unanswered
from replay.testing import ScorerContract, turn
from tests.testing.checking import bad_ones, said


class Length:
    """A good scorer, but for what is put in its place."""

    signature = "length"
    is_mean = True

    def observe(self, records):
        return [why_unanswered(record) or float(len(record.answer)) for record in records]

    def combine(self, observed):
        values = list(observed)
        if not values:
            raise ValueError("nothing")
        return sum(values) / len(values)


def scorer(**members):
    return type("Bad", (Length,), members)()


SCORERS = {
    "it_is_a_scorer": [
        (scorer(combine=None), "its combine is None, not a method"),
        (scorer(unit=3), "unit is 3: set it to a text"),
    ],
    "there_is_one_observation_per_record": [
        (scorer(observe=lambda self, records: [1.0]), "1 observations for 3 records: give one for each"),
        (
            scorer(observe=lambda self, records: [1.0] * len(records)),
            "at least two must be scored, and differ",
        ),
    ],
    "an_observation_does_not_depend_on_its_batch": [
        (scorer(observe=lambda self, records: [float(len(records))] * len(records)), "record for itself")
    ],
    "an_observation_does_not_depend_on_system_or_policy": [
        (scorer(observe=lambda self, records: [r.system for r in records]), "could not be compared")
    ],
    "a_turn_that_was_not_answered_is_unscored_and_says_why": [
        (scorer(observe=lambda self, records: [0.0 for r in records]), "replay.why_unanswered")
    ],
    "observations_are_json_values": [
        (scorer(observe=lambda self, records: [float("nan")]), "in place of NaN"),
        (scorer(observe=lambda self, records: [(1, 2)]), "lists, not tuples"),
        (scorer(observe=lambda self, records: [None]), "None is no observation"),
    ],
    "the_order_of_observations_does_not_matter": [
        (scorer(combine=lambda self, observed: next(iter(observed))), "forwards, backwards"),
        (scorer(combine=lambda self, observed: float("inf")), "combine gave inf"),
    ],
    "repeating_all_observations_changes_nothing": [
        (scorer(combine=lambda self, observed: sum(observed)), "make it a rate, not a sum")
    ],
    "nothing_can_not_be_combined": [
        (scorer(combine=lambda self, observed: 0.0), "combine([]) gave 0.0: raise a ValueError"),
        (scorer(combine=lambda self, observed: 1 / len(observed)), "raised ZeroDivisionError"),
    ],
    "a_scorer_that_says_so_is_a_mean": [
        (scorer(combine=lambda self, observed: max(observed)), "that is not their mean"),
        (scorer(observe=lambda self, records: [1, 2]), "give floats"),
    ],
    "the_signature_is_one_word_and_stays": [
        (scorer(signature="two words"), "write it as one word"),
        (scorer(signature=""), "the signature is empty"),
    ],
    "it_works_after_a_trip_to_another_process": [(scorer(), "can't be pickled")],
}


TURNS = [turn("Paris", "Paris"), turn("Bern", "Rome", depth=2), turn(None, depth=3)]


@bad_ones(SCORERS)
async def test_a_bad_scorer(test, bad, words):
    assert words in await said(ScorerContract(), test, scorer=bad, records=TURNS)
