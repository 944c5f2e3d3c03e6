from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from replay.coreference.reading.mentions import ellipsis_of, find_mentions, is_possessive, kind_of


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Did she like it?", [("she", "she"), ("it", "it")]),
        ("What was HIS name?", [("HIS", "he")]),
        ("When did this happen?", [("this", "this")]),
        ("What happened after that?", [("that", "this")]),
        ("Was this successful?", [("this", "this")]),
        ("How did that album do?", [("that album", "this-noun")]),
        ("Did he release anything in this time period?", [("he", "he"), ("this time period", "this-noun")]),
        ("Who was in the band?", [("the band", "the-noun")]),
        ("What was the band's name?", [("the band", "the-noun")]),
        ("What is it like?", [("it", "it")]),
        ("They’re good?", [("They", "they")]),
    ],
)
def test_finds(question, expected):
    assert [(m.text, m.kind) for m in find_mentions(question)] == expected


@pytest.mark.parametrize(
    "question",
    [
        "Is it true that Ann sang?",
        "Was it hard to leave?",
        "Does it rain in May?",
        "How long did it take to record the song Hello?",
        "What is interesting about this article?",
        "Which songs that people like are old?",
        "Did Ann say that Bob left?",
        "Who played the album Thriller?",
        "What was the role of Bob?",
        "Which of those who stayed won?",
        "",
    ],
)
def test_leaves_out_what_only_looks_like_a_mention(question):
    assert find_mentions(question) == ()


@pytest.mark.parametrize(
    ("question", "possessive"),
    [
        ("What was her voice like?", True),
        ("Who saw her?", False),
        ("Who saw her again?", False),
        ("Who helped her financially?", False),
        ("Who is her family?", True),
        ("Was that idea her own?", True),
        ('What was her "Blue" album?', True),
        ("What is its name?", True),
        ("Was the song theirs?", True),
        ("Did they go?", False),
    ],
)
def test_knows_possessives(question, possessive):
    pronoun = next(m for m in find_mentions(question) if m.kind in ("she", "they", "it"))

    assert pronoun.possessive is possessive


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Her", "she"),
        ("these", "this"),
        ("that album", "this-noun"),
        ("the band", "the-noun"),
        ("the red band", "other"),
        ("Ann Lee", "other"),
        ("?", "other"),
    ],
)
def test_kind_of(text, kind):
    assert kind_of(text) == kind


def test_is_possessive_looks_at_what_follows():
    assert is_possessive("her", " voice?")
    assert not is_possessive("her", "?")


@given(
    st.text()
    | st.lists(
        st.sampled_from(
            ["it", "is", "her", "this", "that", "the", "band", "he", "they", "?", "'s", "album", "of"]
        )
    ).map(" ".join)
)
def test_mentions_are_ordered_disjoint_and_say_what_stands_there(question):
    mentions = find_mentions(question)

    assert all(question[m.start : m.end] == m.text and m.text for m in mentions)
    assert all(a.end <= b.start for a, b in pairwise(mentions))


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Is it raining?", []),
        ("Did it seem odd?", []),
        ("Was it?", [("it", 4, "it", False)]),
        ("Is it that Ann sang?", []),
        ("It's common here", []),
        ("That it takes days to go", [("That", 0, "this", False)]),
        ("it takes one two three to go", []),
        ("It takes one two three four to go", [("It", 0, "it", False)]),
        ("It took long.", [("It", 0, "it", False)]),
        ("Was it true?", []),
        ("It was true", []),
        ("Is it likely?", []),
        ("wasn't it fair?", []),
        ("This article helps", []),
        ("Was this article good?", []),
        ("Was that article good?", []),
        ("What about that man?", [("that man", 11, "this-noun", False)]),
        ("that man sang", [("that man", 0, "this-noun", False)]),
        ("I think that man sang", []),
        ("I think that men sang", []),
        ("the fact that song is good", []),
        ("Know that songs sell?", []),
        ("Which that boss left?", []),
        ("Which that class left?", []),
        ("Saw that albums?", []),
        ("That albums?", []),
        ("In that series?", [("that series", 3, "this-noun", False)]),
        ("Do that series sell?", [("that series", 3, "this-noun", False)]),
        ("He said that series sold", [("He", 0, "he", False)]),
        ("What of these?", [("these", 8, "this", False)]),
        ("Are these who came old?", []),
        ("Are those that came old?", []),
        ("Are these which came?", []),
        ("Is this who came?", [("this", 3, "this", False)]),
        ("Was that.", [("that", 4, "this", False)]),
        ("See that, then", [("that", 4, "this", False)]),
        ("Told that story", [("that story", 5, "this-noun", False)]),
        ("Told that thing", []),
        ("I feel that.", [("that", 7, "this", False)]),
        ("Is that?", [("that", 3, "this", False)]),
        ("For that went", [("that", 4, "this", False)]),
        ("Was this good?", [("this", 4, "this", False)]),
        ("Was this good film?", [("this good film", 4, "this-noun", False)]),
        ("Was this good film made?", [("this good film", 4, "this-noun", False)]),
        ("Saw this?", [("this", 4, "this", False)]),
        ("Saw this red old big house", [("this red old", 4, "this-noun", False)]),
        ("Saw this red old house", [("this red old", 4, "this-noun", False)]),
        ("this two", [("this", 0, "this", False)]),
        ("this first", [("this", 0, "this", False)]),
        ("This same?", [("This", 0, "this", False)]),
        ("this end", [("this", 0, "this", False)]),
        ("this red ran", [("this red ran", 0, "this-noun", False)]),
        ("this album song", [("this album song", 0, "this-noun", False)]),
        ("this record label", [("this record label", 0, "this-noun", False)]),
        ("this album's", [("this album", 0, "this-noun", False)]),
        ("this work won", [("this", 0, "this", False)]),
        ("this time period", [("this time period", 0, "this-noun", False)]),
        ("this was", [("this", 0, "this", False)]),
        ("this Ann Lee", [("this Ann Lee", 0, "this-noun", False)]),
        ("this Ann's", [("this Ann", 0, "this-noun", False)]),
        ("Was this odd!", [("this", 4, "this", False)]),
        ("was this sudden in May?", [("this sudden", 4, "this-noun", False)]),
        ("the band of", []),
        ("the band that", [("that", 9, "this", False)]),
        ("the band called", []),
        ("the band Moon", []),
        ('the band "Moon"', []),
        ("the band “Moon”", []),
        ("the band?", [("the band", 0, "the-noun", False)]),
        ("the red band", [("the red band", 0, "the-noun", False)]),
        ("the bands", [("the bands", 0, "the-noun", False)]),
        ("the family whose", []),
        ("the family", [("the family", 0, "the-noun", False)]),
        ("the", []),
        ("her", [("her", 0, "she", False)]),
        ("her own", [("her", 0, "she", False)]),
        ("her other", [("her", 0, "she", False)]),
        ('her "Moon"', [("her", 0, "she", True)]),
        ('her "', [("her", 0, "she", False)]),
        ("her only son", [("her", 0, "she", False)]),
        ("her quickly", [("her", 0, "she", False)]),
        ("her early", [("her", 0, "she", True)]),
        ("her again", [("her", 0, "she", False)]),
        ("her the", [("her", 0, "she", False)]),
        ("her to", [("her", 0, "she", False)]),
        ("her 1990", [("her", 0, "she", True)]),
        ("saw her, then", [("her", 4, "she", False)]),
        ("her ' x", [("her", 0, "she", True)]),
        ("hers", [("hers", 0, "she", True)]),
        ("his", [("his", 0, "he", True)]),
        ("himself", [("himself", 0, "he", False)]),
        ("themself too", [("themself", 0, "they", False)]),
        ("herself?", [("herself", 0, "she", False)]),
        ("HER Voice", [("HER", 0, "she", True)]),
        ("its it", [("its", 0, "it", True), ("it", 4, "it", False)]),
        ("him him", [("him", 0, "he", False), ("him", 4, "he", False)]),
    ],
)
def test_each_word_around_a_mention_has_its_say(question, found):
    assert [(m.text, m.start, m.kind, m.possessive) for m in find_mentions(question)] == found


@pytest.mark.parametrize(
    ("question", "text", "kind"),
    [
        ("How much is the second one?", "the second one", "one"),
        ("How much is the first?", "the first", "one"),
        ("What about the latter?", "the latter", "one"),
        ("And the others?", "the others", "one"),
        ("What about the other?", "the other", "one"),
        ("Can I have the last two?", "the last two", "one"),
        ("Is the first option free?", "the first option", "one"),
        ("Which is the cheapest?", "the cheapest", "one"),
        ("Who is the older of the two?", "the older of the two", "one"),
        ("Which one is it?", "one", "one"),
        ("Which ones are free?", "ones", "one"),
        ("Is the most expensive one free?", "the most expensive one", "one"),
        ("Is the oldest of them free?", "the oldest of them", "one"),
        ("Did Ann live there?", "there", "there"),
        ("What happened by then?", "then", "then"),
        ("What did Ann do then?", "then", "then"),
        ("Who built the building?", "the building", "the-noun"),
        ("Who saw the blue pills?", "the blue pills", "the-noun"),
        ("Is the museum open?", "the museum", "the-noun"),
    ],
)
def test_finds_one_of_several_places_times_and_what_was_introduced(question, text, kind):
    assert [(m.text, m.kind) for m in find_mentions(question)][:1] == [(text, kind)]


@pytest.mark.parametrize(
    "question",
    [
        "Is there a bus?",
        "There is a bus?",
        "Has there been a bus?",
        "Then who left?",
        "And then who left?",
        "Who was the first man in space?",
        "What was the best album?",
        "Who is on the internet?",
        "What is the weather in Rome?",
        "Who sleeps in the morning?",
        "Who wrote the Iliad?",
        "Who is the head of Rome?",
        "Who plays in the mill that burned?",
        "Who saw the First Lady?",
    ],
)
def test_leaves_out_what_only_looks_like_one_of_several_a_place_or_a_time(question):
    assert find_mentions(question) == ()


@pytest.mark.parametrize(
    ("question", "at"),
    [("What else?", 9), ("What else", 9), ("More?!  ", 4), ('Did "it"?', 7), ("", 0), ("?", 1)],
)
def test_what_is_left_out_would_stand_before_the_final_punctuation(question, at):
    mention = ellipsis_of(question)

    assert (mention.start, mention.end, mention.text, mention.kind) == (at, at, "", "ellipsis")
