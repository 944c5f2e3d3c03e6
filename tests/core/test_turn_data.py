import copy
import pickle

import msgspec
import pytest

from replay import PlayedTurn, Timing, Turn

PLAYED = PlayedTurn(turn=Turn(id="1", question="Where?"), asked="Where?", answer="Bern.")


def test_what_a_turn_makes_is_frozen_and_can_be_copied_pickled_and_written():
    timing = Timing(scheduled_s=0.0, sent_s=1.0, done_s=2.0)
    with pytest.raises(AttributeError):
        timing.done_s = 3.0
    assert msgspec.structs.replace(timing, done_s=3.0).latency_s == 2.0
    assert copy.deepcopy(timing) == pickle.loads(pickle.dumps(timing)) == timing
    assert msgspec.json.decode(msgspec.json.encode(timing), type=Timing) == timing
    assert {timing, copy.copy(timing)} == {timing}


def test_an_exchange_is_one_object_for_all_later_turns():
    """An adapter tells by it what it has put into words before."""
    assert PLAYED.exchange is PLAYED.exchange is not None
    assert pickle.loads(pickle.dumps(PLAYED)) == PLAYED


def test_a_question_that_left_no_trace_has_no_exchange():
    assert msgspec.structs.replace(PLAYED, answer=None).exchange is None
