from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from replay.scorers.answer_text import (
    DECLINING_PATTERNS,
    check_patterns,
    declines,
    normalize,
    patterns_signature,
    quac_references,
    words,
)
from tests.data_tables import from_table

ROOT = Path(__file__).parents[2]


@from_table
def test_text_is_normalized_as_in_squad(text, normalized):
    assert normalize(text) == normalized


@given(st.text())
def test_normalizing_again_changes_little(text):
    """Removing punctuation can't be undone; only an article may appear by it, as in "a.n"."""
    once = normalize(text)
    assert set(normalize(once).split()) <= set(once.split())


def test_plain_words_are_those_of_rouge_score():
    """On ASCII text; rouge-score drops other letters altogether."""
    from rouge_score.tokenizers import DefaultTokenizer

    text = "It's the U.S. Navy's 2nd_best (A-4)..."
    assert words(text, "plain") == DefaultTokenizer(use_stemmer=False).tokenize(text)


def test_plain_words_keep_letters_beyond_ascii():
    assert words("Ça coûte 5 €", "plain") == ["ça", "coûte", "5"]


@from_table
def test_chinese_and_japanese_are_read_letter_by_letter(text, squad, plain):
    assert words(text, "squad") == squad.split()
    assert words(text, "plain") == plain.split()


@given(st.text(st.characters(max_codepoint=0x2FFF)))
def test_other_texts_are_read_as_in_squad(text):
    assert words(text, "squad") == normalize(text).split()


def test_only_ascii_words_have_a_stem_of_their_own():
    assert words("He walked naïvely", "plain", stemmer=True) == ["he", "walk", "naïvely"]
    assert words("He walked", "plain") == words("He walked", "plain", stemmer=False) == ["he", "walked"]


@pytest.mark.parametrize(
    "answer", ["CANNOTANSWER", " CANNOTANSWER\n", "cannotanswer.", "I don't know", "i don’t know."]
)
def test_declining_answers_are_recognized(answer):
    assert declines(answer, DECLINING_PATTERNS)


@pytest.mark.parametrize("answer", ["", "I don't know him", "They said CANNOTANSWER", "know"])
def test_only_whole_answers_decline(answer):
    assert not declines(answer, DECLINING_PATTERNS)


def test_the_mark_of_quac_always_declines():
    assert declines("CANNOTANSWER", [])
    assert not declines("cannotanswer", [])
    assert declines("No idea, sorry", [r"no idea\b.*", "unknown"])


@from_table
def test_references_are_chosen_as_in_quac(gold, left):
    assert quac_references(gold, DECLINING_PATTERNS) == left


def test_patterns_are_told_apart_by_their_signature():
    signatures = [patterns_signature(p) for p in (DECLINING_PATTERNS, (), ("no",), ("no", "nope"))]

    assert signatures[:2] == ["default", "quac"]
    assert len(set(signatures)) == 4
    assert patterns_signature(("no", "nope")) == hashlib.sha256(b"no\nnope").hexdigest()[:8]


@from_table
def test_a_pattern_that_could_take_for_ever_is_refused_with_the_next_step(pattern, why):
    with pytest.raises(ValueError, match=re.escape(why)) as found:
        check_patterns([pattern])
    assert "write it in the syntax of https://docs.rs/regex" in str(found.value)


def test_no_pattern_takes_longer_than_an_answer_is_long():
    """Python's own ``re`` takes for ever over forty letters of this; the limit ends it where it came back."""
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_CPU, (20, 20))\n"
        "from replay.scorers.answer_text import declines\n"
        "print(declines('a' * 1_000_000 + '!', ['(a+)+', '(a|aa)+', '(.*)*b']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "False\n", done.stderr


def test_half_a_surrogate_pair_in_an_answer_is_one_character():
    assert declines("I \ud800 don't", ["I . don't"])
