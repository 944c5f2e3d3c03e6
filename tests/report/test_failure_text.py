from __future__ import annotations

from replay.report.findings import MOST_REASONS, failure_lines
from replay.statistics.failure_reasons import FailureReason


def reason(text: str | None, *, turns: int = 1, wordings: int = 1) -> FailureReason:
    return FailureReason(
        outcome="bad-reply",
        reason=text,
        turns=turns,
        wordings=wordings,
        system="bot",
        policy="pred",
        conversation="talk3",
        depth=2,
    )


def test_a_reason_is_told_in_full_with_one_turn_to_look_at():
    long = "the reply has no field answer; it has: " + "x" * 2000

    assert failure_lines(
        [reason(long), reason(None, turns=1200), reason("id 12345", turns=3, wordings=3)]
    ) == [
        f"1 turn, bad-reply: {long} (at: talk3, depth 2, bot, pred)",
        "1,200 turns, bad-reply: the adapter gave no reason (first: talk3, depth 2, bot, pred)",
        "3 turns, bad-reply: id 12345 [and 2 more that differ in ids, times or long numbers only] "
        "(first: talk3, depth 2, bot, pred)",
    ]


def test_nothing_in_a_reason_moves_the_cursor_or_breaks_a_line():
    (line,) = failure_lines([reason("bad\r\n\x1b[2J\u202e\udc80")])

    assert line.startswith(r"1 turn, bad-reply: bad  \x1b[2J\u202e\udc80 (at")


def test_of_very_many_reasons_the_rest_is_counted():
    lines = failure_lines([reason(f"no {n}", turns=2) for n in range(MOST_REASONS + 3)])

    assert len(lines) == MOST_REASONS + 1
    assert lines[-1] == "3 more reasons, of 6 turns: `replay report --json` has them all"
