"""A turn in which a user followed up, as spans: an ask for each exchange, none for what the user said."""

from __future__ import annotations

from replay.core.message import Message
from replay.core.record import Intervention, Timing
from replay.integrations.otel.asks import asks_of
from tests.scorers.turns import turn


def test_what_a_user_says_to_a_reply_is_no_ask():
    said = Intervention(occasion="asked-back", evidence="which?", move="answer", said="It's 40233.")
    record = turn(
        "Too late.",
        "No.",
        interventions=(said,),
        steps=(Message(role="assistant", text="Which one?"), Message(role="user", text="It's 40233.")),
        step_times_s=((-3.0, -2.0), (-1.0, -1.0), (0.0, 1.0)),
        timing=Timing(scheduled_s=10.0, sent_s=10.0, done_s=11.0),
    )
    found = [(ask.begin_s, ask.end_s, ask.number, ask.reply and ask.reply.text) for ask in asks_of(record)]
    assert found == [(7.0, 8.0, 0, "Which one?"), (10.0, 11.0, 1, None)]
