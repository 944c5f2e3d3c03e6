import copy
import dataclasses
import pickle
from dataclasses import dataclass, field

import msgspec
import pytest

from replay.core.frozen_init import quick_init
from replay.core.record import Timing


@quick_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    x: int
    y: int = 2
    seen: list[int] = field(default_factory=list)
    norm: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "norm", self.x + self.y)


def test_what_is_made_is_the_dataclass_with_its_defaults():
    point = Point(x=1)
    assert type(point) is Point
    assert (point.x, point.y, point.seen, point.norm) == (1, 2, [], 3)
    assert point == Point(x=1, y=2, seen=[])
    assert repr(point) == "Point(x=1, y=2, seen=[], norm=3)"


def test_every_object_has_a_default_of_its_own():
    assert Point(x=1).seen is not Point(x=1).seen


def test_it_is_as_frozen_as_before():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Point(x=1).x = 2


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({}, "missing 1 required keyword-only argument: 'x'"),
        ({"x": 1, "z": 2}, "unexpected keyword argument 'z'"),
    ],
)
def test_wrong_arguments_are_refused_as_by_any_dataclass(given, complaint):
    with pytest.raises(TypeError, match=complaint):
        Point(**given)


def test_it_can_be_replaced_copied_pickled_and_written():
    timing = Timing(scheduled_s=0.0, sent_s=1.0, done_s=2.0)
    assert dataclasses.replace(timing, done_s=3.0).done_s == 3.0
    assert copy.deepcopy(timing) == pickle.loads(pickle.dumps(timing)) == timing
    assert msgspec.json.decode(msgspec.json.encode(timing), type=Timing) == timing
    assert hash(timing) == hash(dataclasses.replace(timing))


def test_only_frozen_dataclasses_without_a_base_are_taken():
    @dataclass
    class Open:
        x: int

    with pytest.raises(TypeError, match="no frozen dataclass"):
        quick_init(Open)
