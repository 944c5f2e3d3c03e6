import pytest

from replay.core.drift_evidence import Mention, Reading
from replay.coreference.rewriting import rewrite


def completed(question, antecedent, source="phrase"):
    """*question* with *antecedent* read at the place marked with "_"."""
    at = question.index("_")
    mention = Mention(start=at, end=at, text="", kind="ellipsis")
    return rewrite(
        question.replace("_", ""), [Reading(mention=mention, antecedent=antecedent, source=source)]
    )


@pytest.mark.parametrize(
    ("question", "antecedent", "expected"),
    [
        ("What else did he do_?", "record an album", "What else did he do besides record an album?"),
        ("Did they write other songs_?", "Blue Sky", "Did they write other songs besides Blue Sky?"),
        ("How much is it_?", "2019", "How much is it in 2019?"),
        ("How much is it_?", "on Tuesday", "How much is it on Tuesday?"),
        ("What is the phone number_?", "Yu Garden", "What is the phone number of Yu Garden?"),
        ("Can I have the address_ please?", "Yu Garden", "Can I have the address of Yu Garden please?"),
        ("I don't care_.", "the price range", "I don't care about the price range."),
        ("Was the film_ successful?", "The Eagle", "Was the film The Eagle successful?"),
        ("What is the scientific name_?", "Salix", "What is the scientific name of Salix?"),
        ("What is the boiling point_?", "ethanol", "What is the boiling point of ethanol?"),
        ("Is the Vento really cheaper_?", "the Aero", "Is the Vento really cheaper than the Aero?"),
        ("Did she sing there_?", "at the Tate", "Did she sing there at the Tate?"),
        ("Is there any Thai restaurant_?", "the north", "Is there any Thai restaurant in the north?"),
        ("Are there other Thai cafes_?", "the north part", "Are there other Thai cafes in the north part?"),
        (
            "It sold well. What happened next_?",
            "the tour",
            "It sold well. What happened next after the tour?",
        ),
        ("What are the symptoms _in cats?", "anemia", "What are the symptoms of anemia in cats?"),
        ("What happened in 1929_?", "Ann Lee", "What happened in 1929 to Ann Lee?"),
        ("Can I get the phone number_?", "Yu Garden", "Can I get the phone number of Yu Garden?"),
        ("What other songs are there_?", "Blue Sky", "What other songs are there besides Blue Sky?"),
    ],
)
def test_what_was_left_out_is_put_in(question, antecedent, expected):
    assert completed(question, antecedent) == expected


@pytest.mark.parametrize(
    ("question", "antecedent", "source"),
    [
        ("2019_?", "the fees", "phrase"),
        ("How long_?", "the trip", "phrase"),
        ("What about the monthly fees_?", "Yu Garden", "name"),
        ("And the address_?", "Yu Garden", "name"),
        ("Pre-contract costs of all kinds_.", "the results", "phrase"),
        ("What was the film about_?", "Yu Garden", "name"),
        ("How much does the plan cost_?", "14 euros", "answer"),
        ("When did the film appear_?", "1990", "date"),
        ("How much did it cost in 2018_?", "2019", "date"),
        ("What is on the other hand_?", "the bill", "phrase"),
        ("Was the film good_?", "Yu Garden", "name"),
        ("Was the film_ good?", "a great success", "phrase"),
        ("What is the role of Latin_?", "Rome", "name"),
        ("What is the phone number_?", "what you asked", "phrase"),
        ("What is the phone number_?", "one two three four five six seven eight nine", "phrase"),
        ("What else did he do_?", "He recorded a very long album there", "clause"),
        ("What is the phone number of Yu Garden_?", "Yu Garden", "name"),
        ("What is the address_?", "Hello", "name"),
    ],
)
def test_what_cannot_be_joined_is_left_out(question, antecedent, source):
    assert completed(question, antecedent, source) == question.replace("_", "")


def test_a_pronoun_and_what_was_left_out_are_both_mended():
    question = "What else did he do?"
    he = Mention(start=14, end=16, text="he", kind="he")
    end = Mention(start=19, end=19, text="", kind="ellipsis")
    readings = [Reading(mention=end, antecedent="sing"), Reading(mention=he, antecedent="Bob Ray")]

    assert rewrite(question, readings) == "What else did Bob Ray do besides sing?"


def test_only_an_ellipsis_is_an_empty_mention():
    mention = Mention(start=3, end=3, text="", kind="it")

    assert rewrite("Did sell?", [Reading(mention=mention, antecedent="Blue")]) == "Did sell?"
