"""The garbage collector is quiet while asks are timed, and afterwards as it was."""

from __future__ import annotations

import gc
from contextlib import ExitStack

import pytest

from replay.play.event_loop import THRESHOLDS, gc_paused

pytestmark = pytest.mark.usefixtures("nothing_frozen")


def test_what_was_there_is_not_looked_at_until_the_block_ends():
    gc.set_threshold(701, 11, 12)
    with gc_paused():
        assert gc.get_freeze_count() > 1000
        assert gc.get_threshold() == THRESHOLDS
    assert gc.get_freeze_count() == 0
    assert gc.get_threshold() == (701, 11, 12)


def test_it_is_as_before_after_a_failure_too():
    gc.set_threshold(701, 11, 12)
    with pytest.raises(ZeroDivisionError), gc_paused():
        raise ZeroDivisionError
    assert gc.get_threshold() == (701, 11, 12)
    assert gc.get_freeze_count() == 0


def test_a_program_that_froze_objects_itself_keeps_its_way():
    gc.set_threshold(701, 11, 12)
    gc.freeze()
    frozen = pytest.approx(gc.get_freeze_count(), rel=0.01)  # other threads let go of some, as xdist's does
    with gc_paused():
        assert gc.get_threshold() == (701, 11, 12)
        assert gc.get_freeze_count() == frozen
    assert gc.get_freeze_count() == frozen


def test_one_block_in_another_changes_nothing():
    gc.set_threshold(701, 11, 12)
    with gc_paused():
        with gc_paused():
            pass
        assert gc.get_freeze_count() > 0
        assert gc.get_threshold() == THRESHOLDS
    assert gc.get_threshold() == (701, 11, 12)


def test_of_blocks_side_by_side_the_last_one_changes_it_back():
    gc.set_threshold(701, 11, 12)
    with ExitStack() as second:
        with gc_paused():
            second.enter_context(gc_paused())
        assert gc.get_threshold() == THRESHOLDS
        assert gc.get_freeze_count() > 0
    assert gc.get_threshold() == (701, 11, 12)
    assert gc.get_freeze_count() == 0


def test_new_garbage_is_still_collected():
    class Knot:
        pass

    with gc_paused():
        before = len(gc.get_objects())
        for _ in range(3 * THRESHOLDS[0]):
            knot = Knot()
            knot.itself = knot
        assert len(gc.get_objects()) < before + 2 * THRESHOLDS[0]
