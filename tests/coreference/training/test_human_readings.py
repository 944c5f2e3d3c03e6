from replay.coreference.reading.mentions import find_mentions
from replay.coreference.training.annotated import right_readings
from tests.data_tables import from_table


def right(question, rewritten):
    found = right_readings(question, rewritten, find_mentions(question))
    return [(reading.status, reading.words) for reading in found]


@from_table
def test_right_readings_come_from_the_mentions_place(question, rewritten, expected):
    assert right(question, rewritten) == expected
