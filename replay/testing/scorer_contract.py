"""
What every scorer must keep, as tests: subclass, give the fixture ``scorer``, and they run.

A scorer that needs more of a record than answer and references also gives ``records``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from replay.core.record import TurnRecord
from replay.core.settings.plugins import misfit
from replay.scorers.scorer import MeanScorer, ResampledScorer, Scorer, Unscored, unit_of
from replay.testing.cases import check_signature, copy_in_another_process, skipped_turn, turn

CLOSE = 1e-9
"""By how much numbers may differ that are added up in another order, of their size."""


class ScorerContract:
    """Subclasses are called ``Test...``."""

    @pytest.fixture
    def scorer(self) -> Scorer[Any]:
        raise NotImplementedError("give a fixture `scorer` that returns the scorer to be tested")

    @pytest.fixture
    def records(self) -> Sequence[TurnRecord]:
        """Return turns of every kind, at least two of which the scorer scores, differently."""
        return [
            turn("Paris", "Paris", depth=1),
            turn("the city of London", "London, England", "it was London", depth=2),
            turn("CANNOTANSWER", "CANNOTANSWER", depth=3),
            turn("", "Rome", depth=4),
            turn("Übergrößenträger ☃ \ud800 'tis", "☃", depth=5),
            turn("something", depth=6),
            turn(None, "Rome", depth=7),
            turn(None, "Rome", depth=8, outcome="refused"),
            skipped_turn("Rome", depth=9),
        ]

    def cluster(self, record: TurnRecord) -> str:
        """Return the unit that the bootstrap draws as a whole: each turn, for more resamples that differ."""
        return f"{record.conversation}#{record.depth}"

    def test_it_is_a_scorer(self, scorer: Scorer[Any]) -> None:
        assert not (why := misfit(scorer, Scorer)), f"this is no scorer: {why}"
        assert isinstance(unit_of(scorer), str), (
            f'unit is {unit_of(scorer)!r}: set it to a text such as "s", or "" for a bare number'
        )

    def test_there_is_one_observation_per_record(
        self, scorer: Scorer[Any], records: Sequence[TurnRecord]
    ) -> None:
        observed = scorer.observe(records)

        assert len(observed) == len(records), (
            f"observe gave {len(observed)} observations for {len(records)} records: give one for each, in "
            "their order, and replay.Unscored(reason=...) where there is none"
        )
        assert len({str(one) for one in _scored_values(scorer, records)}) >= 2, (
            f"the records don't tell much: of {observed} at least two must be scored, and differ; give a "
            "fixture `records` of turns that this scorer scores"
        )
        assert list(scorer.observe([])) == [], "observe of no records must give no observations"

    def test_an_observation_does_not_depend_on_its_batch(
        self, scorer: Scorer[Any], records: Sequence[TurnRecord]
    ) -> None:
        alone = [scorer.observe([record])[0] for record in records]

        for batch, wanted in ((records, alone), (records[::-1], alone[::-1])):
            found = list(scorer.observe(batch))
            assert found == wanted, (
                f"together the records give {found}, one by one {wanted}: observe each record for itself"
            )

    def test_an_observation_does_not_depend_on_system_or_policy(
        self, scorer: Scorer[Any], records: Sequence[TurnRecord]
    ) -> None:
        others = [replace(record, system="other", policy="gold", conversation="c9") for record in records]

        assert list(scorer.observe(others)) == list(scorer.observe(records)), (
            "the same answers under another system, policy or conversation id give other observations: "
            "they could not be compared"
        )

    def test_a_turn_that_was_not_answered_is_unscored_and_says_why(self, scorer: Scorer[Any]) -> None:
        turns = [
            turn(None, "Rome"),
            turn(None, "Rome", outcome="connection-failed"),
            skipped_turn("Rome"),
        ]
        found = list(scorer.observe(turns))
        wanted = [
            Unscored(reason="not answered: timed-out"),
            Unscored(reason="not answered: connection-failed"),
            Unscored(reason="skipped"),
        ]
        assert found == wanted, (
            f"turns without an answer gave {found}: give what replay.why_unanswered(record) gives, unless "
            "that is None"
        )

    def test_observations_are_json_values(self, scorer: Scorer[Any], records: Sequence[TurnRecord]) -> None:
        """They are stored with the run and combined later."""
        scored = _scored_values(scorer, records)
        try:
            kept = json.loads(json.dumps(scored, allow_nan=False))
        except (TypeError, ValueError) as error:
            raise AssertionError(
                f"observations are stored as JSON, and {scored} can't be ({error}): give plain numbers, "
                "texts, lists or dictionaries, and replay.Unscored(reason=...) in place of NaN"
            ) from error
        assert kept == scored, (
            f"stored and read again {scored} is {kept}: give what JSON knows (lists, not tuples; texts as "
            "keys)"
        )
        assert None not in scored, "None is no observation: give replay.Unscored(reason=...) in its place"

    def test_the_order_of_observations_does_not_matter(
        self, scorer: Scorer[Any], records: Sequence[TurnRecord]
    ) -> None:
        scored = _scored_values(scorer, records) * 3
        found = [scorer.combine(scored), scorer.combine(scored[::-1]), scorer.combine(iter(scored))]

        assert found[0] == found[1] == found[2], (
            f"combine gave {found} for the same observations forwards, backwards and one by one: add up "
            "with math.fsum, or sort first, and make a list of them before they are looked at twice"
        )
        assert math.isfinite(found[0]), f"combine gave {found[0]}; NaN is only for what has no number"

    def test_repeating_all_observations_changes_nothing(
        self, scorer: Scorer[Any], records: Sequence[TurnRecord]
    ) -> None:
        """A bootstrap draws some of them several times."""
        scored = _scored_values(scorer, records)
        once, often = scorer.combine(scored), scorer.combine(scored * 5)

        assert often == pytest.approx(once), (
            f"combine gave {once}, and {often} with every observation five times: make it a rate, not a sum"
        )

    def test_nothing_can_not_be_combined(self, scorer: Scorer[Any]) -> None:
        try:
            found = scorer.combine([])
        except ValueError:
            return
        except Exception as error:
            raise AssertionError(f"combine([]) raised {error!r}: raise a ValueError") from error
        raise AssertionError(f"combine([]) gave {found}: raise a ValueError, since no turn has no score")

    def test_a_scorer_that_says_so_is_a_mean(
        self, scorer: Scorer[Any], records: Sequence[TurnRecord]
    ) -> None:
        if not (isinstance(scorer, MeanScorer) and scorer.is_mean):
            pytest.skip("not a mean")
        scored = _scored_values(scorer, records)

        assert all(isinstance(one, float) for one in scored), (
            f"is_mean is true, and the observations are {scored}: give floats"
        )
        assert scorer.combine(scored) == pytest.approx(sum(scored) / len(scored)), (
            f"is_mean is true, and combine gave {scorer.combine(scored)} for {scored}: that is not their mean"
        )

    def test_the_signature_is_one_word_and_stays(
        self, scorer: Scorer[Any], records: Sequence[TurnRecord]
    ) -> None:
        before = scorer.signature
        scorer.observe(records)
        check_signature(scorer, before)

    def test_it_works_after_a_trip_to_another_process(
        self, scorer: Scorer[Any], records: Sequence[TurnRecord]
    ) -> None:
        step = (
            "let it hold its settings and nothing that is open, no lambda and no function within a function"
        )
        copy = copy_in_another_process(scorer, "scorer", step)
        assert list(copy.observe(records)) == list(scorer.observe(records)), (
            "the copy in another process observes otherwise: let everything come from the settings"
        )

    def test_all_resamples_at_once_are_what_they_are_one_by_one(
        self, scorer: Scorer[Any], records: Sequence[TurnRecord]
    ) -> None:
        if not isinstance(scorer, ResampledScorer) or (isinstance(scorer, MeanScorer) and scorer.is_mean):
            pytest.skip("the scorer combines resamples one by one, or is a mean")
        import numpy as np

        scored = [(r, o) for r in records if not isinstance(o := scorer.observe([r])[0], Unscored)]
        names = [self.cluster(record) for record, _ in scored]
        clusters = [sorted(set(names)).index(name) for name in names]
        count = max(clusters) + 1
        weights = np.random.default_rng(0).multinomial(count, [1 / count] * count, 200)
        drawings = np.vstack([weights, np.zeros(count)]).astype(float)

        found = scorer.combine_resampled([o for _, o in scored], clusters, drawings)

        assert math.isnan(found[-1]), "a resample without an observation must be NaN"
        for value, row in zip(found, drawings[:-1], strict=False):
            drawn = [o for (_, o), c in zip(scored, clusters, strict=True) for _ in range(int(row[c]))]
            one_by_one = scorer.combine(drawn)
            assert value == pytest.approx(one_by_one, abs=CLOSE, nan_ok=True), (
                f"combine_resampled gave {value} where combine gives {one_by_one}, for {drawn}"
            )


def _scored_values(scorer: Scorer[Any], records: Sequence[TurnRecord]) -> list[Any]:
    return [one for one in scorer.observe(records) if not isinstance(one, Unscored)]
