import pytest

from replay.core.drift_evidence import Mention, Reading
from replay.coreference.rewriting import rewrite


def rewritten(question, text, kind, antecedent, **how):
    start = question.lower().index(text.lower())
    mention = Mention(
        start=start, end=start + len(text), text=question[start : start + len(text)], kind=kind, **how
    )
    return rewrite(question, [Reading(mention=mention, antecedent=antecedent, source="phrase")])


@pytest.mark.parametrize(
    ("question", "text", "antecedent", "expected"),
    [
        ("How heavy is the second one?", "the second one", "Vento 15", "How heavy is Vento 15?"),
        ("And the other?", "the other", "an Aero 13", "And the Aero 13?"),
        ("Which of them is open?", "which of them", "DHL and UPS", "Which of DHL and UPS is open?"),
        (
            "Which one is near?",
            "which one",
            "Oakfield and Marston",
            "Which one of Oakfield and Marston is near?",
        ),
        ("Is one of those free?", "one of those", "the A and the B", "Is one of the A and the B free?"),
        ("Is the cheaper one red?", "the cheaper one", "A1 and B2", "Is the cheaper one of A1 and B2 red?"),
        ("Is the cheaper one red?", "the cheaper one", "the A1", "Is the A1 red?"),
        ("Is the best of them red?", "the best of them", "the A1", "Is the A1 red?"),
        ("What are the other ones?", "the other ones", "UPS and DHL", "What are UPS and DHL?"),
        # what would not read well
        ("Which of them is open?", "which of them", "DHL", None),
        ("Which one is near?", "which one", "Oakfield", None),
        ("How heavy is the second one?", "the second one", "A1 and B2", None),
        ("Is the other album good?", "the other", "Blue", None),
        ("Is one of them free?", "one of them", "the A1", None),
    ],
)
def test_one_of_several(question, text, antecedent, expected):
    assert rewritten(question, text, "one", antecedent) == (expected or question)


def test_one_of_several_that_owns_something():
    asked = rewritten("What is the first one's price?", "the first one's", "one", "the Aero", possessive=True)

    assert asked == "What is the Aero's price?"


@pytest.mark.parametrize(
    ("question", "text", "antecedent", "expected"),
    [
        ("What can I do there?", "there", "Malmö", "What can I do in Malmö?"),
        ("What did he do there?", "there", "at the Tate", "What did he do at the Tate?"),
        ("What did he do there?", "there", "Yale University", "What did he do at Yale University?"),
        ("How do I get there?", "there", "Rome", "How do I get to Rome?"),
        ("What brought him there?", "there", "in Rome", "What brought him to Rome?"),
        ("Is it far from there?", "there", "in Rome", "Is it far from Rome?"),
        ("Is it far from there?", "from there", "Rome", "Is it far from Rome?"),
        ("Is it warm there?", "there", "the west", "Is it warm in the west?"),
        ("Is it warm there?", "there", "expensive", None),
        ("Is it warm there?", "there", "14 restaurants", None),
        ("Is it warm there?", "there", "May 1990", None),
    ],
)
def test_a_place(question, text, antecedent, expected):
    assert rewritten(question, text, "there", antecedent) == (expected or question)


@pytest.mark.parametrize(
    ("question", "text", "antecedent", "expected"),
    [
        ("Was he rich then?", "then", "1990", "Was he rich in 1990?"),
        ("Was he rich then?", "then", "in 1990", "Was he rich in 1990?"),
        ("Was he rich then?", "then", "1970s", "Was he rich in the 1970s?"),
        ("Was he rich at that time?", "at that time", "1990", "Was he rich in 1990?"),
        ("Are you open that day?", "that day", "Tuesday", "Are you open on Tuesday?"),
        ("Is it open on that day?", "that day", "Tuesday", "Is it open on Tuesday?"),
        ("Will it be done by then?", "by then", "on Tuesday", "Will it be done by Tuesday?"),
        ("Can I come then?", "then", "3 pm", "Can I come at 3 pm?"),
        ("Can I come then?", "then", "next week", "Can I come next week?"),
        ("Was he rich then?", "then", "the old bank", None),
        ("Who was in office at that year end?", "at that year", "2019", None),
    ],
)
def test_a_time(question, text, antecedent, expected):
    assert rewritten(question, text, "then", antecedent) == (expected or question)
