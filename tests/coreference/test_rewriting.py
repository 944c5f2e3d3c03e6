import pytest

from replay.core.drift_evidence import Mention, Reading
from replay.coreference import small_network
from replay.coreference.mentions import ellipsis_of, find_mentions
from replay.coreference.rewriting import MIN_PROBABILITY, certainty, proposals, proposed, rewrite, tidy
from replay.coreference.words import comparable_words


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
        ("What did he do at that time?", [None, "1984-1994"], "What did he do in 1984-1994?"),
        ("Was he ill between those years?", [None, "1971-72"], "Was he ill between 1971-72?"),
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
        ("Are they touring?", ["Slipknot"], "Are Slipknot touring?"),
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
        ("Was he ill between those years?", [None, "1974"]),
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


def read_as(question, antecedent, source, *distribution):
    (mention,) = find_mentions(question)
    return [Reading(mention=mention, antecedent=antecedent, source=source, distribution=distribution)]


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


class Worth:
    """A judgement that holds an edit for as good as its reading is probable."""

    def probabilities(self, seen):
        return [row[0] for row in seen]


@pytest.fixture
def as_probable(monkeypatch):
    monkeypatch.setattr(small_network, "shipped", {small_network.EDIT: Worth()}.__getitem__)


def test_an_edit_is_made_where_it_probably_makes_the_question_better(as_probable):
    question = "Where was she born?"
    unsure = read_as(question, "Ann Lee", "name", (0.15, "Ann Lee"), (0.1, "Bob Ray"))
    assert rewrite(question, unsure) == question
    assert rewrite(question, unsure, min_probability=0.15) == "Where was Ann Lee born?"
    sure = read_as(question, "Ann Lee", "name", (0.9, "Ann Lee"))
    assert rewrite(question, sure) == "Where was Ann Lee born?"
    assert rewrite(question, sure, min_probability=0.95) == question


@pytest.mark.parametrize(
    ("probability", "is_put"), [(MIN_PROBABILITY, True), (MIN_PROBABILITY - 0.01, False)]
)
def test_the_least_probability_holds_where_none_is_given(as_probable, probability, is_put):
    sure = read_as("Did she sing?", "Ann", "name", (probability, "Ann"), (0.1, "Sue"))

    assert certainty(sure[0]) == probability
    assert rewrite("Did she sing?", sure) == ("Did Ann sing?" if is_put else "Did she sing?")


@pytest.mark.parametrize("distribution", [(), ((0.01, "Ann"),)])
def test_every_edit_is_made_where_nothing_is_weighed_or_any_is_good_enough(monkeypatch, distribution):
    monkeypatch.setattr(small_network, "shipped", {}.__getitem__)  # nobody is asked
    least = 0.0 if distribution else 1.0

    assert rewrite(
        "Did she sing?", read_as("Did she sing?", "Ann", "name", *distribution), min_probability=least
    ) == ("Did Ann sing?")
    assert certainty(Reading(mention=find_mentions("Did she sing?")[0], antecedent="Ann")) == 1.0


def test_an_edit_that_is_not_made_leaves_the_name_to_the_next(as_probable):
    question = "Did she like her song?"
    she, her = find_mentions(question)
    unsure = Reading(mention=she, antecedent="Ann", source="name", distribution=((0.3, "Ann"),))
    sure = Reading(mention=her, antecedent="Ann", source="name", distribution=((0.9, "Ann"),))

    assert rewrite(question, [unsure, sure]) == "Did she like Ann's song?"


@pytest.mark.parametrize(
    ("question", "antecedent", "put", "place"),
    [
        ("Did she sing?", "Ann Lee", "Ann Lee", "she"),
        ("Who saw her hat?", "Ann Lee", "Ann Lee's", "her"),
        ("What was done at that time?", "1990s", "in the 1990s", "at that time"),
    ],
)
def test_a_proposed_edit_says_what_comes_where(question, antecedent, put, place):
    (reading,) = read_as(question, antecedent, "name" if "Lee" in antecedent else "date")
    edit = proposed(question, reading)

    assert (question[edit.start : edit.end], edit.put) == (place, put)
    assert edit.names == set(comparable_words(antecedent))


def test_an_insertion_replaces_nothing_and_brings_its_spaces():
    question = "Did they write other songs?"
    edit = proposed(question, Reading(mention=ellipsis_of(question), antecedent="Blue Sky", source="phrase"))

    assert (edit.start, edit.end, edit.put) == (26, 26, " besides Blue Sky")


@pytest.mark.parametrize("antecedent", [None, "", "she", "CANNOTANSWER", "Sing"])
def test_what_would_say_nothing_more_is_not_proposed(antecedent):
    (reading,) = read_as("Did she sing?", antecedent, "name")

    assert proposed("Did she sing?", reading) is None


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


def read_last(question: str, antecedent: str, source: str) -> str:
    """*question* with its last mention read as *antecedent*, which came from *source*."""
    return rewrite(
        question, [Reading(mention=find_mentions(question)[-1], antecedent=antecedent, source=source)]
    )


@pytest.mark.parametrize(
    ("question", "antecedent", "source", "expected"),
    [
        ("Did it sell?", "Salt Ledger", "quote", 'Did "Salt Ledger" sell?'),
        ("What is its theme?", "Salt Ledger", "quote", "What is Salt Ledger's theme?"),
        ("Did it sell?", "Salt", "quote", "Did Salt sell?"),
        ("Did it sell?", 'Salt "x" Ledger', "quote", 'Did Salt "x" Ledger sell?'),
        ("Was this album good?", "Salt Ledger", "quote", 'Was the album "Salt Ledger" good?'),
        ("Did they leave?", "She was born in Rome", "quote", 'Did "She was born in Rome" leave?'),
        ("Was this good?", "Passion", "name", "Was Passion good?"),
        ("Was that position good?", "The Clerk", "answer", "Was The Clerk good?"),
        ("Who paid for this event?", "the Lab Fund", "name", "Who paid for the Lab Fund?"),
        ("Did they like this film?", "The Wall", "title", "Did they like The Wall?"),
        ("Did they like the film?", "The Wall", "title", "Did they like the film The Wall?"),
        ("Did they like the film?", "the Wall Players", "name", "Did they like the film the Wall Players?"),
        ("Did they like the song?", "my happiness", "words", "Did they like the song my happiness?"),
        ("Did they like the show?", "walking dead", "words", "Did they like the show walking dead?"),
        ("Did they like that place?", "an old mill", "phrase", "Did they like an old mill?"),
        ("Did they like that album?", "an old album", "phrase", "Did they like the old album?"),
        ("What was done at that time?", "1990s", "date", "What was done in the 1990s?"),
        ("Is it in that part of town?", "the east part", "phrase", "Is it in the east part of town?"),
        ("Is it in that part of town?", "the east part of town", "phrase", "Is it in the east part of town?"),
        ("How is it made?", "the old wine called", "phrase", "How is the old wine made?"),
        ("How is it made?", "The Called", "name", "How is The Called made?"),
        ("How is it made?", "Wine is made of grapes.", "clause", "How is Wine made?"),
        ("What happened at that time?", "in May 1990", "phrase", "What happened in May 1990?"),
        ("Did she go in that?", "in Rome", "phrase", "Did she go in Rome?"),
        ("What happened in that?", "in Rome", "phrase", "What happened in Rome?"),
        ("Was it?", "In Rome", "title", "Was In Rome?"),
        ("Who won that season?", "1990", "date", "Who won in 1990?"),
        ("Who won it that season?", "1990", "date", "Who won it in 1990?"),
        ("Did he win that week?", "May 3", "date", "Did he win May 3?"),
        ("Did he win that week?", "3 May 1990", "date", "Did he win on 3 May 1990?"),
        ("Did he win during that week?", "1990", "date", "Did he win during 1990?"),
        ("Was he there that decade and later?", "1990s", "date", "Was he there in 1990s and later?"),
        ("Was he between those years?", "1971 to 1980", "date", "Was he between 1971 to 1980?"),
        ("What was that year like?", "1990", "date", "What was 1990 like?"),
        ("Was that year good?", "1990", "date", "Was 1990 good?"),
        ("Did he sing in that year?", "1990", "date", "Did he sing in 1990?"),
        ("Did he win that year again?", "1990", "date", "Did he win 1990 again?"),
        ("at this time?", "1990", "date", "In 1990?"),
        ("Who won that month?", "12 June 1990", "date", "Who won on 12 June 1990?"),
        ("Who won that moment?", "June", "date", "Who won June?"),
        ("What role was this role?", "office clerk", "answer", "What role was the role of office clerk?"),
        (
            "Did he like that role?",
            "clerk of the court",
            "answer",
            "Did he like the role of clerk of the court?",
        ),
        ("Who wrote this book?", "debut novel book", "section", "Who wrote debut novel book?"),
        ("Who wrote this book?", "Debut novel books", "section", "Who wrote the debut novel books?"),
        ("Who led this team?", "Otters team", "name", "Who led Otters team?"),
        ("Who led this team?", "Otters Team", "name", "Who led the Otters Team?"),
        ("Who led the war?", "Vell War", "name", "Who led the Vell War?"),
        ("Who saw the university?", "Vell University", "name", "Who saw Vell University?"),
        ("Who are the band members?", "Vell Band", "name", "Who are the Vell Band band members?"),
        ("Who are the team members?", "Otters Members", "name", "Who are the Otters team members?"),
        ("Who saw that man?", "the old clerk", "answer", "Who saw the old clerk?"),
        ("Who saw that man's hat?", "Bob Ray", "name", "Who saw Bob Ray's hat?"),
        ("Who saw that band?", "their first band", "phrase", "Who saw their first band?"),
        ("Who saw that band?", "A Band", "name", "Who saw A Band?"),
        ("Who liked the focus of the band?", "Moon", "name", "Who liked the focus of the band Moon?"),
        ("Who saw the tour?", "on the river", "phrase", "Who saw the tour on the river?"),
        ("Was the theirs good?", "Beatles", "name", "Was the Beatles' good?"),
        ("What is their name?", "Moss", "name", "What is Moss' name?"),
        ("What is its name?", "the Moss", "name", "What is the Moss's name?"),
        ("What is its name?", "the Beatles", "name", "What is the Beatles' name?"),
        ("What is his name?", "James", "name", "What is James's name?"),
        ("What is their name?", "JAMES", "name", "What is JAMES' name?"),
        ("What is her name?", "the boss’s", "name", "What is the boss’s name?"),
        ("What is the the album like?", "The Album", "name", "What is the Album like?"),
        ("Who joined the band band?", "Moon", "name", "Who joined the band Moon band?"),
        ("Did they sing?", "A band", "answer", "Did a band sing?"),
        ("Did they sing?", "My Fans", "answer", "Did My Fans sing?"),
        ("Did they sing?", "My old fans", "answer", "Did my old fans sing?"),
        ("Did they sing?", "OF old fans", "answer", "Did OF old fans sing?"),
        ("Did they sing?", "Red fans", "answer", "Did Red fans sing?"),
        ("Are they in?", "Moon", "name", "Are Moon in?"),
        ("are they in?", "Moon", "name", "are Moon in?"),
        ("Do they sing?", "the Moon", "name", "Do the Moon sing?"),
        ("Do they sing?", "Moon or Sun", "name", "Do Moon or Sun sing?"),
        ("Do they sing?", "Moon/Sun", "name", "Do Moon/Sun sing?"),
        ("Do they sing?", "Moons", "name", "Do Moons sing?"),
        ('Is "he here"?', "Bob", "name", 'Is "Bob here"?'),
        ("(he) sang?", "the man", "name", "(The man) sang?"),
        ('It ended. "he left?"', "the man", "name", 'It ended. "The man left?"'),
        ("Well, he left", "the man", "name", "Well, the man left"),
        ("Did he?", "X", "name", "Did X?"),
        ("Did Bob say he left?", "Bob Ray", "name", "Did Bob say Bob Ray left?"),
    ],
)
def test_wording_goes_by_what_stands_around_and_where_the_antecedent_came_from(
    question, antecedent, source, expected
):
    assert read_last(question, antecedent, source) == expected


@pytest.mark.parametrize(
    ("question", "antecedent", "source"),
    [
        ("What was its end?", "She was born in Rome", "clause"),
        ("What was that?", "She was born in Rome", "clause"),
        ("What was the result of this?", "Hedin supported the movement", "answer"),
        ("Who wrote this book?", "Debut novel", "section"),
        ("Who are the team members?", "Otters members", "name"),
        ("Did they go?", "It was late then", "clause"),
        ("Was this new work good?", "Passion", "name"),
        ("Was this in 1990?", "in May 1990", "phrase"),
        ("Did she go?", "in Rome", "phrase"),
        ("What of that band?", "the rise of that band", "phrase"),
        ("“he” sang?", "Bob", "name"),
        ("Did Bob Ray say he left?", "Bob", "name"),
        ("Did Ray, Bob's friend, say he left?", "Ray Bob", "name"),
    ],
)
def test_where_no_wording_would_do_the_mention_stays(question, antecedent, source):
    assert read_last(question, antecedent, source) == question


@pytest.mark.parametrize(("characters", "is_put"), [(160, True), (161, False)])
def test_a_text_without_spaces_is_put_in_up_to_160_characters(characters, is_put):
    text = "X" * characters

    assert read_last("Did he?", text, "name") == (f"Did {text}?" if is_put else "Did he?")


def test_the_first_readings_come_first_and_the_longer_of_two_at_one_place():
    question = "Did her album sell, and did she sing?"
    her, _, she = mentions = [*find_mentions("Did her album"), *find_mentions(question)]
    album = Mention(start=4, end=13, text="her album", kind="other")
    readings = [
        Reading(mention=she, antecedent="Ann Lee"),
        Reading(mention=her, antecedent="Ann Lee"),
        Reading(mention=album, antecedent="her album Blue Salt"),
    ]

    assert len(mentions) == 3
    assert rewrite(question, readings) == "Did her album Blue Salt sell, and did Ann Lee sing?"


@pytest.mark.parametrize(
    ("text", "tidied"),
    [
        ('  "Salt, Ledger";', "Salt, Ledger"),
        ("and Bob", "Bob"),
        ("or Bob and", "Bob"),
        ("Bob The", "Bob"),
        ("the", "the"),
        ("Ray Jr.", "Ray Jr."),
        ("Bob left.", "Bob left"),
        ("in 1990.", "in 1990"),
        ("Washington D.C.", "Washington D.C."),
        ("“It”!", "It"),
        ("it left...", "it left"),
    ],
)
def test_an_antecedent_is_tidied(text, tidied):
    assert tidy(text) == tidied


def left_out(question, *distribution):
    reading = Reading(
        mention=ellipsis_of(question), antecedent=distribution[0][1], source="name", distribution=distribution
    )
    return [(read.antecedent, edit.put, edit.start) for read, edit in proposals(question, reading)]


def test_a_name_that_the_question_cuts_short_is_completed():
    question = "When did Amos release an album?"

    assert left_out(question, (0.8, "Tori Amos")) == [("Tori Amos", "Tori Amos", 9)]
    assert left_out("When did Tori Amos release it?", (0.8, "Tori Amos")) == []
    assert left_out("When did Amos Lee release it?", (0.8, "Tori Amos")) == []
    assert left_out("What did amos-like singers do?", (0.8, "Tori Amos")) == []


def test_several_antecedents_are_thought_of_as_far_as_they_are_probable():
    question = "What is the phone number?"
    found = left_out(question, (0.5, "Yu Garden"), (0.2, "The Eagle"), (0.07, "Anatolia"))

    assert [antecedent for antecedent, _, _ in found] == ["Yu Garden", "The Eagle"]


def test_the_edit_that_most_probably_helps_is_made(monkeypatch):
    class Second:
        """A judgement that holds the second antecedent for the better one."""

        def probabilities(self, seen):
            return [1 - row[0] for row in seen]

    monkeypatch.setattr(small_network, "shipped", {small_network.EDIT: Second()}.__getitem__)
    question = "What is the phone number?"
    mention = ellipsis_of(question)
    reading = Reading(
        mention=mention, antecedent="Yu Garden", distribution=((0.6, "Yu Garden"), (0.2, "The Eagle"))
    )

    assert rewrite(question, [reading], min_probability=0.7) == "What is the phone number of The Eagle?"
    assert rewrite(question, [reading], min_probability=0.9) == question
    assert rewrite(question, [reading], min_probability=0) == "What is the phone number of Yu Garden?"


def test_of_two_edits_that_are_good_enough_the_one_that_names_more_is_made(monkeypatch):
    class Sure:
        def probabilities(self, seen):
            return [0.8 + row[0] / 10 for row in seen]

    monkeypatch.setattr(small_network, "shipped", {small_network.EDIT: Sure()}.__getitem__)
    question = "How much does it cost?"
    read = read_as(
        question, "The Eagle", "name", (0.5, "The Eagle"), (0.3, "The Eagle plan"), (0.1, "Yu Garden")
    )

    assert rewrite(question, read, min_probability=0.8) == "How much does The Eagle plan cost?"


def test_a_list_leaves_its_sentences_capital_behind():
    assert rewrite(
        "Which of them is cheaper?", read_as("Which of them is cheaper?", "The A, the B and the C", "list")
    ) == ("Which of the A, the B and the C is cheaper?")
