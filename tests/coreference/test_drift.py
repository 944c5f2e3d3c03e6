from dataclasses import replace

import msgspec
import pytest
from pydantic import ValidationError

from replay.core.drift_evidence import Drift
from replay.core.history import Played
from replay.scenario.sections import DriftSection
from tests.samples import SINGER, detector


def played(*answers):
    return [Played(turn=t, asked=t.question, answer=a) for t, a in zip(SINGER.turns, answers, strict=False)]


@pytest.mark.parametrize("mode", ["strict", "hard", "evalconvqa"])
async def test_the_mode_is_in_the_verdict_and_in_the_signature(mode):
    async with detector(mode=mode) as drift:
        assessment = await drift.assess(SINGER, 2, played("Nobody knows."))

        assert assessment.drift.mode == mode
        assert f"drift:{mode}-1|" in drift.signature


async def test_a_lost_antecedent_is_drift():
    async with detector() as drift:
        lost = (await drift.assess(SINGER, 2, played("Nobody knows."))).drift
        kept = (await drift.assess(SINGER, 2, played("The song is by Alice Okafor."))).drift

    assert lost.probability > kept.probability
    assert not lost.valid
    assert kept.valid


async def test_the_threshold_is_kept_and_named():
    async with detector() as drift:
        lenient = replace(drift, threshold=1.0)

        assert lenient.signature == f"{drift.signature}|threshold:1"
        assert (await lenient.assess(SINGER, 2, played("Nobody knows."))).drift.valid


def test_a_verdict_stored_before_there_were_probabilities_can_be_read():
    stored = b'{"valid": true, "mentions": [], "mode": "strict"}'

    assert msgspec.json.decode(stored, type=Drift) == Drift(valid=True, mentions=(), mode="strict")


def test_a_scenario_can_ask_for_the_hard_rule_or_another_threshold():
    assert DriftSection(mode="hard").mode == "hard"
    assert DriftSection(threshold=0.5).threshold == 0.5
    assert DriftSection().threshold is None
    with pytest.raises(ValidationError):
        DriftSection(threshold=1.5)
