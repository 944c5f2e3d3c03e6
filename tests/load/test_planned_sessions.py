"""Who comes when: what several workers play together is what one plays, and no id comes twice."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest

from replay.load.inputs import PlannedSessions, read_inputs
from replay.play.load.level import Level
from replay.play.play import Play
from replay.scenario.assembly import assemble
from tests.load.scenes import scenario, talk

PROFILES = [
    {"profile": "closed", "concurrency": 8, "turns": 1, "order": "shuffle"},
    {"profile": "constant", "rate": 50, "turns": 1, "order": "sample", "think": 0.5},
    {
        "profile": "poisson",
        "rate": 50,
        "turns": 1,
        "ramp_s": 2,
        "think": {"kind": "exponential", "mean_s": 1},
    },
    {"profile": "trace", "trace": "trace.csv"},
]


class Shares:
    """The sessions of all workers of one scenario."""

    def __init__(self, folder, load, workers, **more):
        (folder / "trace.csv").write_text("at_s,conversation,gaps_s\n0,b,\n1,,2;3\n1.5,,\n2,b,\n3,,\n")
        talks = [talk("a", 3), talk("b", 1), talk("c", 2)]
        assembly = assemble(scenario(folder, load, talks=talks, **more))
        inputs = read_inputs(assembly, lambda error: None)
        self._load = inputs.load
        self._workers = [
            PlannedSessions(inputs, lambda play, pace: play, worker=worker, workers=workers)
            for worker in range(workers)
        ]

    def of(self, index, together):
        """The first sessions of a level, about so many *together*."""
        is_open = self._load.open
        value = {"closed": 8.0, "trace": None}.get(self._load.profile, self._load.rate)
        level = Level(
            index=index, value=value, is_open=is_open, start_s=0, ramp_s=self._load.ramp_s if is_open else 0
        )
        return [
            (self._play_of(session), session.at_s, session.gaps_s)
            for number, sessions in enumerate(self._workers)
            for session in islice(sessions.of(level), len(range(number, together, len(self._workers))))
        ]

    @staticmethod
    def _play_of(session):
        play: Play = session.play(None)
        return play.conversation.id, play.source, play.policy_name


@pytest.mark.parametrize("load", PROFILES, ids=lambda load: load["profile"])
@pytest.mark.parametrize("workers", [2, 3, 5])
def test_all_shares_together_are_what_one_plays(tmp_path, load, workers):
    for policies in (["gold"], ["gold", {"pred": {"detect": False}}]):
        alone = Shares(tmp_path, load, 1, policies=policies).of(0, 40)
        shared = Shares(tmp_path, load, workers, policies=policies).of(0, 40)
        assert Counter(alone) == Counter(shared)
        assert len(alone) == (5 if load["profile"] == "trace" else 40)


@pytest.mark.parametrize("load", PROFILES[:3], ids=lambda load: load["profile"])
@pytest.mark.parametrize("workers", [1, 3])
def test_nothing_is_played_twice_under_one_id_in_all_levels(tmp_path, load, workers):
    shares = Shares(tmp_path, load, workers)
    ids = [play for index in range(4) for play, _, _ in shares.of(index, 20 + index)]
    assert len(set(ids)) == len(ids)


def test_a_conversation_whose_id_looks_like_a_repetition_is_not_taken_for_one(tmp_path):
    shares = Shares(tmp_path, PROFILES[0], 1)
    assert {"a~2", "b~2"} <= {play[0] for play, *_ in shares.of(0, 12)}
    talks = [talk("a", 1), talk("a~2", 1)]
    assembly = assemble(scenario(tmp_path, PROFILES[0], talks=talks))
    sessions = PlannedSessions(read_inputs(assembly, print), lambda play, pace: play)
    level = Level(index=0, value=8.0, is_open=False, start_s=0)
    played = [session.play(None).conversation.id for session in islice(sessions.of(level), 4)]
    assert sorted(played) == ["a", "a~2", "a~2~~2", "a~~2"]


def test_a_level_of_a_sweep_has_arrivals_of_its_own(tmp_path):
    first, second = (
        [at for _, at, _ in Shares(tmp_path, PROFILES[2], 1).of(index, 10)] for index in range(2)
    )
    assert first != second


def test_think_times_of_a_session_do_not_depend_on_the_number_of_workers(tmp_path):
    alone = {play: gaps for play, _, gaps in Shares(tmp_path, PROFILES[2], 1).of(0, 20)}
    shared = {play: gaps for play, _, gaps in Shares(tmp_path, PROFILES[2], 4).of(0, 20)}
    assert alone == shared
    assert {len(gaps) for gaps in alone.values()} == {0, 1, 2}
