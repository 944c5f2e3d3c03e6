import pytest

from replay.coreference.reading.mentions import find_mentions
from replay.coreference.training.human_readings import right_readings


def right(question, rewritten):
    found = right_readings(question, rewritten, find_mentions(question))
    return [(reading.status, reading.words) for reading in found]


@pytest.mark.parametrize(
    ("question", "rewritten", "expected"),
    [
        ("Did she sing?", "Did Ann Lee sing?", [("resolved", ("ann", "lee"))]),
        ("Did she sing?", "Did she sing?", [("left", ())]),
        ("Did she like her song?", "Did Ann like her song?", [("resolved", ("ann",)), ("undecided", ())]),
        ("Was the album good?", "Was the album Blue good?", [("resolved", ("blue",))]),
        ("Did she sing?", "Did he sing?", [("undecided", ())]),
    ],
)
def test_right_readings_come_from_the_mentions_place(question, rewritten, expected):
    assert right(question, rewritten) == expected
