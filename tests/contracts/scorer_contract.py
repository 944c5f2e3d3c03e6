"""
What every scorer must keep. A scorer's test class inherits this one and gives the fixture ``scorer``.

A scorer that needs more of a record than answer and references also overrides ``records``.
"""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from replay.core.record import TurnRecord
from replay.scorers.scorer import MeanScorer, ResampledScorer, Scorer, Unscored
from tests.scorers.turns import skipped_turn, turn


class ScorerContract:
    @pytest.fixture
    def scorer(self) -> Scorer[Any]:
        raise NotImplementedError("say which scorer is tested")

    @pytest.fixture
    def records(self) -> Sequence[TurnRecord]:
        """Turns of every kind, at least two of which the scorer scores, differently."""
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
        """What is drawn as a whole in the bootstrap: here each turn, for more resamples that differ."""
        return f"{record.conversation}#{record.depth}"

    def test_satisfies_the_protocol(self, scorer):
        assert isinstance(scorer, Scorer)

    def test_there_is_one_observation_per_record(self, scorer, records):
        observed = scorer.observe(records)

        assert len(observed) == len(records)
        assert len({str(o) for o in observed if not isinstance(o, Unscored)}) >= 2
        assert list(scorer.observe([])) == []

    def test_an_observation_does_not_depend_on_its_batch(self, scorer, records):
        alone = [scorer.observe([record])[0] for record in records]

        assert list(scorer.observe(records)) == alone
        assert list(scorer.observe(records[::-1])) == alone[::-1]

    def test_an_observation_does_not_depend_on_system_or_policy(self, scorer, records):
        others = [replace(record, system="other", policy="gold", conversation="c9") for record in records]

        assert list(scorer.observe(others)) == list(scorer.observe(records))

    def test_a_turn_that_was_not_answered_is_unscored_and_says_why(self, scorer):
        turns = [
            turn(None, "Rome"),
            turn(None, "Rome", outcome="connection-failed"),
            skipped_turn("Rome"),
        ]

        reasons = [o.reason for o in scorer.observe(turns) if isinstance(o, Unscored)]
        assert reasons == ["not answered: timed-out", "not answered: connection-failed", "skipped"]

    def test_observations_are_json_values(self, scorer, records):
        """They are stored with the run and combined later."""
        scored = [o for o in scorer.observe(records) if not isinstance(o, Unscored)]

        assert json.loads(json.dumps(scored, allow_nan=False)) == scored

    def test_the_order_of_observations_does_not_matter(self, scorer, records):
        scored = [o for o in scorer.observe(records) if not isinstance(o, Unscored)] * 3

        assert scorer.combine(scored) == scorer.combine(scored[::-1]) == scorer.combine(iter(scored))
        assert math.isfinite(scorer.combine(scored))

    def test_repeating_all_observations_changes_nothing(self, scorer, records):
        """A bootstrap draws some of them several times."""
        scored = [o for o in scorer.observe(records) if not isinstance(o, Unscored)]

        assert scorer.combine(scored * 5) == pytest.approx(scorer.combine(scored))

    def test_nothing_can_not_be_combined(self, scorer):
        with pytest.raises(ValueError, match="observation"):
            scorer.combine([])

    def test_a_scorer_that_says_so_is_a_mean(self, scorer, records):
        if not (isinstance(scorer, MeanScorer) and scorer.is_mean):
            pytest.skip("not a mean")
        scored = [o for o in scorer.observe(records) if not isinstance(o, Unscored)]

        assert all(isinstance(o, float) for o in scored)
        assert scorer.combine(scored) == pytest.approx(sum(scored) / len(scored))

    def test_the_signature_is_one_word_and_stays(self, scorer, records):
        signature = scorer.signature
        scorer.observe(records)

        assert signature == scorer.signature
        assert signature
        assert not any(character.isspace() for character in signature)

    def test_works_after_a_trip_to_another_process(self, scorer, records):
        copy = pickle.loads(pickle.dumps(scorer))

        assert copy.signature == scorer.signature
        assert list(copy.observe(records)) == list(scorer.observe(records))

    def test_all_resamples_at_once_are_what_they_are_one_by_one(self, scorer, records):
        if not isinstance(scorer, ResampledScorer) or (isinstance(scorer, MeanScorer) and scorer.is_mean):
            pytest.skip("the scorer combines resamples one by one, or is a mean")
        scored = [(r, o) for r in records if not isinstance(o := scorer.observe([r])[0], Unscored)]
        names = [self.cluster(record) for record, _ in scored]
        clusters = [sorted(set(names)).index(name) for name in names]
        count = max(clusters) + 1
        weights = np.random.default_rng(0).multinomial(count, [1 / count] * count, 200)
        weights = np.vstack([weights, np.zeros(count)]).astype(float)

        found = scorer.combine_resampled([o for _, o in scored], clusters, weights)

        assert math.isnan(found[-1])
        for value, row in zip(found, weights[:-1], strict=False):
            drawn = [o for (_, o), c in zip(scored, clusters, strict=True) for _ in range(int(row[c]))]
            assert value == pytest.approx(scorer.combine(drawn), abs=1e-9, nan_ok=True)
