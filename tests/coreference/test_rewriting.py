import pytest

from replay.core.drift_evidence import Mention, Reading
from replay.coreference.mentions import find_mentions
from replay.coreference.rewriting import rewrite


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
        ("Did he win that year?", [None, "1990"], "Did he win in 1990?"),
        ("Who won that day?", ["May 19, 2011"], "Who won on May 19, 2011?"),
        ("What did he do at that time?", [None, "1984-1994"], "What did he do at that time (1984-1994)?"),
        ("Was he there between those years?", [None, "1971-72"], "Was he there between 1971-72?"),
        ("What did he think of the war?", [None, "Civil War"], "What did he think of the Civil War?"),
        (
            "What did he study at the university?",
            [None, "Yale University"],
            "What did he study at Yale University?",
        ),
        (
            "When was he hired in this role?",
            [None, "office secretary"],
            "When was he hired in the role of office secretary?",
        ),
        ("Who were the band members?", ["King Crimson"], "Who were the King Crimson band members?"),
        ("Who led the group?", ["The Beatles"], "Who led The Beatles?"),
        ("Did the album sell?", ["My Favorite Mistake"], "Did the album My Favorite Mistake sell?"),
        ("Did it sell?", ["On the Sunday of Life"], "Did On the Sunday of Life sell?"),
        ("Are they touring?", ["Slipknot"], "Is Slipknot touring?"),
        ("Were they touring?", ["Brooks & Dunn"], "Were Brooks & Dunn touring?"),
        ("Don't they tour?", ["the Beatles"], "Don't the Beatles tour?"),
        ("Have their songs sold?", ["Slipknot"], "Have Slipknot's songs sold?"),
        ("What did the they do?", ["the Beatles"], "What did the Beatles do?"),
        (
            "Did Charles leave after he met her?",
            ["Ray Charles", "Ann Lee"],
            "Did Charles leave after Ray Charles met Ann Lee?",
        ),
        (
            "Did he leave when he met her?",
            ["Ray Charles", "Charles", "Ann Lee"],
            "Did Ray Charles leave when he met Ann Lee?",
        ),
        (
            "Was he in the band before they split?",
            [None, "Moon", "Moon"],
            "Was he in the band Moon before they split?",
        ),
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
        ('Who is "he"?', ["Ann Lee"]),
        ("Was he there between those years?", [None, "1974"]),
        ("Who did he play that day?", [None, "2011"]),
        ("What did the band do next?", ["the focus of the band"]),
        ("Was this last work good?", ["Passion"]),
        ("Did she sing?", ["He left for Rome because he was poor"]),
        ("Did she sing?", ["CANNOTANSWER"]),
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


def read_as(question, antecedent, source, *distribution):
    (mention,) = find_mentions(question)
    return [Reading(mention=mention, antecedent=antecedent, source=source, distribution=distribution)]


def test_a_sentence_goes_behind_its_mention_whatever_it_is_called():
    question = "What was the result of this?"
    assert rewrite(question, read_as(question, "Hedin supported the movement", "answer")) == (
        "What was the result of this (Hedin supported the movement)?"
    )


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (
            "In 1960, after years of waiting and of much doubt, the Senate met again, but it was "
            "decided by its members to adjourn at once and for all",
            "the Senate met again",
        ),
        ("But she left. Nobody knew why.", "she left"),
        ("He was one of the men whom " + "old " * 14 + "people knew", None),
        (
            'He said in public that "nothing of the kind ever happened; no such thing did ever, ever happen"',
            None,
        ),
    ],
)
def test_a_long_clause_is_cut_where_one_of_its_clauses_ends_or_left_out(said, kept):
    question = "Why was that?"
    expected = question if kept is None else f"Why was that ({kept})?"
    assert rewrite(question, read_as(question, said, "clause")) == expected


def test_a_quoted_title_keeps_its_quotation_marks():
    question = "How did that song do?"
    assert rewrite(question, read_as(question, "For the Rest of My Life", "quote")) == (
        'How did the song "For the Rest of My Life" do?'
    )


def test_a_heading_that_is_no_name_gets_an_article():
    question = "When was the album released?"
    assert rewrite(question, read_as(question, "Self-titled debut album", "section")) == (
        "When was the self-titled debut album released?"
    )


def test_an_uncertain_reading_changes_nothing():
    question = "Where was she born?"
    unsure = read_as(question, "Ann Lee", "name", (0.15, "Ann Lee"), (0.1, "Bob Ray"))
    assert rewrite(question, unsure) == question
    assert rewrite(question, unsure, min_probability=0.1) == "Where was Ann Lee born?"
    sure = read_as(question, "Ann Lee", "name", (0.9, "Ann Lee"))
    assert rewrite(question, sure) == "Where was Ann Lee born?"
    assert rewrite(question, sure, min_probability=0.95) == question


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
