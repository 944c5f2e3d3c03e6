"""Nouns without their plural, and whose name is a man's or a woman's."""

import pytest

from replay.coreference.embedded.candidates import split_title
from replay.coreference.embedded.layout import holds_answer
from replay.coreference.embedded.lexicon import gender
from replay.coreference.words import singular


@pytest.mark.parametrize(
    ("word", "noun"),
    [
        ("parties", "party"),
        ("pies", "pie"),
        ("ties", "tie"),
        ("skies", "sky"),
        ("songs", "song"),
        ("cats", "cat"),
        ("bus", "bus"),
        ("glass", "glass"),
        ("song", "song"),
        ("s", "s"),
    ],
)
def test_a_plurals_s_goes_from_words_past_three_letters(word, noun):
    assert singular(word) == noun


@pytest.mark.parametrize(
    ("key", "sign"),
    [
        ("", 0),
        ("mr quibb", 1),
        ("mrs quibb", -1),
        ("quibb queen", -1),
        ("quibb king", 1),
        ("king queen", 1),  # the first word decides
        ("alice", -1),
        ("alice uncle", 1),  # a noun before a name
        ("quibb alice", 0),  # a last name is no first name
        ("quibb", 0),
    ],
)
def test_titles_and_kin_go_before_first_names(key, sign):
    found = gender(tuple(key.split()))

    assert (found > 0.5) - (found < -0.5) == sign
    assert (found == 0) is (sign == 0)


@pytest.mark.parametrize(
    ("answer", "says_something"),
    [
        ("", False),
        (" ?", False),
        ("CANNOTANSWER", False),
        ("i DON’T know.", False),
        ("n/a", False),
        ("No answer!", False),
        ("No.", True),
        ("Unknown Pleasures", True),
        (f"{'I do not know':<79}who", True),
        (f"{'I do not know':<80}who", False),
    ],
)
def test_an_answer_says_something_in_its_first_eighty_characters(answer, says_something):
    assert holds_answer(answer) is says_something


@pytest.mark.parametrize(
    ("title", "parts"),
    [
        ("A (B) (C)", ("A (B)", "c")),
        ("A(b)", ("A", "b")),
        ("A (b) c", ("A (b) c", "")),
        ("(b)", ("(b)", "")),
        (" (b)", (" (b)", "")),
        ("A (b", ("A (b", "")),
        ("A b)", ("A b)", "")),
    ],
)
def test_a_titles_note_stands_in_parentheses_at_its_end(title, parts):
    assert split_title(title) == parts
