import pytest

from replay.coreference.mentions import find_mentions
from replay.coreference.rewriting import rewrite
from replay.evidence import Mention, Reading


def rewritten(question, *antecedents):
    """*question* with its mentions read as *antecedents*, in order; None leaves one alone."""
    mentions = find_mentions(question)
    assert len(mentions) == len(antecedents)
    return rewrite(
        question, [Reading(mention=m, antecedent=a) for m, a in zip(mentions, antecedents, strict=True)]
    )


@pytest.mark.parametrize(
    ("question", "antecedents", "expected"),
    [
        ("What was her voice like?", ["Ann Lee"], "What was Ann Lee's voice like?"),
        ("Who saw her?", ["Ann Lee"], "Who saw Ann Lee?"),
        ("What was their name?", ["the Beatles"], "What was the Beatles' name?"),
        ("What was his name?", ["Charles"], "What was Charles's name?"),
        ("What is its capital?", ["the United States"], "What is the United States' capital?"),
        ("What is their name?", ["Ann's"], "What is Ann's name?"),
        ("He sang?  When,then?", ["the singer"], "The singer sang?  When,then?"),
        ("Good. she sang?", ["the singer"], "Good. The singer sang?"),
        ("Did they tour?", ["The first band"], "Did the first band tour?"),
        ("Did they tour?", ["The Beatles"], "Did The Beatles tour?"),
        ("When did he meet his wife?", ["Bob Ray", "Bob Ray"], "When did Bob Ray meet his wife?"),
        ("Did he see her?", ["Bob Ray", "Ann Lee"], "Did Bob Ray see Ann Lee?"),
        ("Who joined the band?", ["Slipknot"], "Who joined the band Slipknot?"),
        ("Who joined the band?", ["the Beatles"], "Who joined the Beatles?"),
        ("Was this album good?", ["Thriller"], "Was the album Thriller good?"),
        ("Was this album good?", ["his first album"], "Was his first album good?"),
        ("What did he do in that year?", [None, "1990"], "What did he do in 1990?"),
        ("Who was that man?", ["Bob Ray"], "Who was Bob Ray?"),
        ("Was the band's tour long?", ["Slipknot"], "Was the band Slipknot's tour long?"),
        ("Did it sell?", ["“Blue”,"], "Did Blue sell?"),
        ("Did it sell?", ["two\n lines"], "Did two lines sell?"),
        ("Where is it?", ["Washington D.C."], "Where is Washington D.C.?"),
        ("What did they do in that year?", [None, "in 1990."], "What did they do in 1990?"),
        ("When was that tour?", ["in the north of Spain"], "When was the tour in the north of Spain?"),
    ],
)
def test_substitution(question, antecedents, expected):
    assert rewritten(question, *antecedents) == expected


@pytest.mark.parametrize(
    ("question", "antecedents"),
    [
        ("Did she sing?", [None]),
        ("Did she sing?", [" "]),
        ("Did she sing?", ["?!"]),
        ("Did he hurt himself?", [None, "Bob Ray"]),
        ("Did Ann Lee like her song?", ["Ann Lee"]),
        ("Why was that?", [" ".join(["word"] * 16)]),
        ("Why was that?", ["x" * 500]),
    ],
)
def test_left_alone(question, antecedents):
    assert rewritten(question, *antecedents) == question


def test_fifteen_words_are_put_in():
    answer = " ".join(f"word{i}" for i in range(15))

    assert rewritten("Why was that?", answer) == f"Why was {answer}?"


def test_a_whole_utterance_goes_behind_its_mention():
    """A sentence can't take a noun's place."""
    question = "Why was that decision made?"
    (mention,) = find_mentions(question)
    reading = Reading(mention=mention, antecedent="He left for Rome", source="clause")

    assert rewrite(question, [reading]) == "Why was that decision (he left for Rome) made?"


def other(question, text, antecedent):
    start = question.index(text)
    mention = Mention(start=start, end=start + len(text), text=text, kind="other")
    return Reading(mention=mention, antecedent=antecedent)


def test_a_name_gives_way_to_its_fuller_form_only():
    question = "What did Zappa play?"

    assert rewrite(question, [other(question, "Zappa", "Frank Zappa")]) == "What did Frank Zappa play?"
    assert rewrite(question, [other(question, "Zappa", "the guitarist")]) == question


def test_the_inner_mention_is_used_when_the_outer_one_stays():
    question = "Was her album good?"
    outer = other(question, "her album", None)
    inner = Reading(mention=find_mentions(question)[0], antecedent="Ann Lee")

    assert rewrite(question, [inner, outer]) == "Was Ann Lee's album good?"


def test_a_mention_that_does_not_stand_there_is_skipped():
    mention = Mention(start=0, end=3, text="she", kind="she")

    assert rewrite("Who sang?", [Reading(mention=mention, antecedent="Ann Lee")]) == "Who sang?"
