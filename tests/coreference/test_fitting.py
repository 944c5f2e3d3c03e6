"""One example for each habit of a wrong reading that makes a question worse."""

import pytest

from replay.core.drift_evidence import Mention, Reading
from replay.coreference.fitting import fits, head_of, is_plural
from replay.coreference.mentions import find_mentions
from replay.coreference.rewriting import rewrite


def rewritten(question, antecedent, source="phrase"):
    """*question* with its last mention read as *antecedent*."""
    return rewrite(
        question, [Reading(mention=find_mentions(question)[-1], antecedent=antecedent, source=source)]
    )


@pytest.mark.parametrize(
    ("question", "antecedent"),
    [
        ("Does it charge for once?", "Scan"),
        ("What is their phone number?", "Hello"),
        ("Does it work?", "Tell me"),
        ("Do they charge for it?", "once"),
        ("Was he rich?", "her father"),
        ("Did it sell?", "their first tour"),
        ("Does it matter?", "moderately priced food please"),
        ("What is the address of it?", "that serves international food"),
        ("What is the style?", "Spanish"),
        ("Which of them is cheaper?", "Saturdays"),
        ("What did it show?", "2019"),
        ("How long does it take?", "79 euros"),
        ("How about that in other regions?", "4.1%, 4.6%"),
        ("Was he tall?", "1990"),
        ("Is it due this month?", "May 1990"),
        ("What are its brands?", "Buying a car"),
        ("What did he study?", "Western Reserve University"),
        ("How did it affect him?", "his main medical issue"),
        ("What is the change between them?", "veganism"),
        ("Can I have the address of one of them?", "Hello Kitty"),
        ("How much do they cost?", "dog adoption"),
        ("How does it work?", "virtual machines and containers"),
        ("Was he ill?", "Tom and Bob"),
        ("That's it, goodbye", "Cote"),
        ("I'm sorry about that.", "the bill"),
        ("How do they feel when it comes to money?", "the union"),
        ("What is its age?", "the oldest of all of the small houses"),
        ("That'll do it, thanks.", "Cote"),
        ("What is the address of it?", "Italian"),
        ("What is the address of it?", "the east part of town"),
        ("What is the address of it?", "the phone number"),
        ("What is the address of it?", "a cheap restaurant"),
        ("What did he study?", "CIA"),
        ("When was the company founded?", "Oracle"),
        ("I have difficulties with my job, how do I cope with them?", "the unions"),
        ("Can my boss see it?", "the union"),
        ("Are there Thai places in that price range?", "an expensive restaurant"),
    ],
)
def test_what_cannot_stand_there_is_left_out(question, antecedent):
    assert rewritten(question, antecedent) == question


@pytest.mark.parametrize(
    ("question", "antecedent", "expected"),
    [
        ("What did it show?", "Scan Studies", "What did Scan Studies show?"),
        ("Is some of it left?", "the cake", "Is some of the cake left?"),
        ("Is it cheap?", "your Basic plan", "Is the Basic plan cheap?"),
        ("Is it paid?", "my claim", "Is my claim paid?"),
        ("When was the company founded?", "Oracle Inc.", "When was the company Oracle Inc. founded?"),
        ("I like my job. Was it closed?", "the mine", "I like my job. Was the mine closed?"),
        ("I don't care about it.", "the east part", "I don't care about the east part."),
        ("Does that amount include tax?", "79 euros", "Does 79 euros include tax?"),
        ("Is it expensive?", "buying a car", "Is buying a car expensive?"),
        ("Was she ill?", "the mother of Bob", "Was the mother of Bob ill?"),
        ("Is he well?", "李小龙", "Is 李小龙 well?"),
        ("What is the change between them?", "2018 and 2019 sales", None),
        ("What is the gap between those years?", "1990 and 1995", "What is the gap between 1990 and 1995?"),
        ("Which of them is cheaper?", "DHL and Hermes", "Which of DHL and Hermes is cheaper?"),
        ("Did they tour?", "the band", "Did the band tour?"),
        ("How do they live?", "blue whales", "How do blue whales live?"),
        ("Where is it?", "Simon & Garfunkel Hall", "Where is Simon & Garfunkel Hall?"),
        ("Is it sold, and what does it cost?", "the Aero", "Is it sold, and what does the Aero cost?"),
    ],
)
def test_what_can_is_put_in(question, antecedent, expected):
    expected = expected or question.replace("them", antecedent)

    assert rewritten(question, antecedent) == expected


@pytest.mark.parametrize("kind", ["then", "one", "ellipsis"])
def test_a_date_is_a_time(kind):
    mention = Mention(start=0, end=4, text="then", kind=kind)

    assert fits("then", mention, "1990")


@pytest.mark.parametrize(
    ("text", "several"),
    [
        ("DHL and Hermes", True),
        ("the Aero, the Vento", True),
        ("blue whales", True),
        ("people", True),
        ("the line of the songs", False),
        ("the songs of the band", True),
        ("the TV series", False),
        ("glass", False),
        ("a virus", False),
        ("1971-72", True),
    ],
)
def test_several_are_told_from_one(text, several):
    assert is_plural(text) is several


def test_the_head_of_a_phrase_stands_before_its_prepositions():
    assert head_of("the first line of the song") == "line"
    assert head_of("") == ""
