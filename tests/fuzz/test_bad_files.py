"""Bad files and replies give our errors, one by one, in good time; nothing is lost without a word."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.fuzz.inputs import HAND_MADE, mutated
from tests.fuzz.targets import GOOD_DATA, TARGETS

LONGEST_S = 10.0
LONGEST_SEED = 50_000
EXAMPLES = 10
SLOW = {"scenario assembled": 7}


@pytest.mark.parametrize("what", HAND_MADE)
def test_what_people_get_wrong_is_told_in_good_time(what, tmp_path):
    """By one after the other: what readers ask of the same beginning of a file is found out once."""
    for name, target in TARGETS.items():
        if name == "scenario assembled":
            continue  # what can't be read can't be assembled; tried as a scenario
        began = time.process_time()  # what else the machine has to do is not in it
        try:
            target.tried(HAND_MADE[what], tmp_path)
        except Exception as error:
            raise AssertionError(f"{name}: {what}: {type(error).__name__}") from error
        assert time.process_time() - began < LONGEST_S, name


@pytest.mark.parametrize("name", TARGETS)
def test_good_input_is_fine(name, tmp_path):
    for seed in TARGETS[name].seeds:
        TARGETS[name].tried(seed, tmp_path)


@pytest.mark.parametrize("name", TARGETS)
def test_whatever_goes_wrong_in_a_good_file_is_told(name, long):
    target = TARGETS[name]
    seeds = [seed for seed in target.seeds if len(seed) < LONGEST_SEED]

    @settings(
        max_examples=SLOW.get(name, EXAMPLES) * (10 if long else 1),
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(seed=st.sampled_from(seeds), random=st.randoms(use_true_random=False))
    def try_it(seed, random):
        with tempfile.TemporaryDirectory() as folder:
            target.tried(mutated(seed, random), Path(folder))

    try_it()


def test_every_built_in_reader_has_a_good_file_to_begin_with():
    assert {name.removeprefix("reader ") for name in TARGETS if name.startswith("reader ")} >= set(GOOD_DATA)
