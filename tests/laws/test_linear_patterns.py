"""What an answer, a question or a reply may hold takes no pattern of ours longer than it is long."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest

from replay.coreference.reading import words as reading_words
from replay.coreference.reading.rewriting import at_sentence_start
from replay.coreference.reading.sequence import END, START, UNKNOWN, WordPiece
from replay.coreference.reading.words import tokens
from replay.coreference.service import quotes
from replay.policies import augment
from replay.scorers import figures, fuzzy
from replay.scorers.answer_text import words
from replay.scorers.checks import english
from replay.scorers.checks.texts import AT_ONCE
from replay.scorers.judges import reading
from replay.study.pages.server import pieces
from tests.scorers.checks.looking import look


def all_of(pattern: re.Pattern[str]) -> Callable[[str], object]:
    return lambda text: sum(1 for _ in pattern.finditer(text))


PIECES = WordPiece({piece: n for n, piece in enumerate((UNKNOWN, START, END, "a", "b", "1", "##a"))})

READERS: dict[str, Callable[[str], object]] = {
    "pieces of words": lambda text: list(PIECES.tokens(text)),
    "a sentence's start": lambda text: at_sentence_start(text, len(text)),
    "breaks": all_of(reading_words._BREAK),
    "sentences": all_of(reading_words._SENTENCE_END),
    "markup": all_of(augment._MARKUP),
    "text without Markdown": quotes.plain,
    "items of a quote": quotes._BETWEEN_ITEMS.split,
    "ends of sentences": all_of(fuzzy._ENDS_SENTENCE),
    "ends of clauses": all_of(fuzzy._ENDS_CLAUSE),
    "figures": all_of(figures._TOKEN),
    "denials": fuzzy.denials,
    "a digit": reading._DIGIT.fullmatch,
    "yes or no": all_of(reading._EITHER),
    "out of": all_of(reading._OUT_OF),
    "verdicts": all_of(reading._VERDICT),
    "answers": all_of(reading._ANSWER),
    "a check's pattern": lambda text: look("regex", "^(a+)+$", text[:AT_ONCE]),
    "refusals": english.refusal_in,
    "questions back": english.question_in,
    "tokens": tokens,
    "code and tables": pieces,
    "words": lambda text: words(text, "squad"),
}
PUMPS = (
    " ", "\n", "\r\n", " \n", ".", "!", "a", "1", "1.", "1,", "- ", "\n- ", "a.", "a'", "(", "yes ",
    "answer: ", "\n```\n", "\n| ", "\t\n\n", "é",
)  # fmt: skip
SHORT, LONG = 1_000, 8_000
MOST = 3 * LONG / SHORT
"""Times as long for eight times as much: linear is 8, quadratic 64."""
SOON_S = 0.01
"""What takes no longer is not compared."""


def seconds(read: Callable[[str], object], text: str) -> float:
    begun = time.process_time()
    read(text)
    return time.process_time() - begun


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_text_of_eight_times_the_length_takes_no_64_times_as_long(read):
    for pump in PUMPS:
        short, long = (f"a{pump * (size // len(pump))}b" for size in (SHORT, LONG))
        if seconds(read, long) < SOON_S:
            continue
        # The least of several: a busy machine adds time, and takes none away.
        took = min(seconds(read, long) for _ in range(3))
        before = min(seconds(read, short) for _ in range(9))
        assert took < max(MOST * before, SOON_S), f"{pump!r}: {before:.6f} s, {took:.6f} s"
