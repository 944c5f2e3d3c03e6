"""The questions that single sentences answer."""

from replay.synthesis.documents.document import SourceSection, SourceSentence
from replay.synthesis.questions.sentences import facts_of
from replay.synthesis.questions.words import in_first_person, vocabulary
from tests.data_tables import from_table

KNOWN = vocabulary(
    ["Server"], [SourceSentence(text="On pods and snapshots we say: pods, snapshots.", start=0)], []
)


def facts(text, before=None, literals=()):
    section = SourceSection(id="a.md#1", headings=(), text=text, start=0, end=len(text), blocks=())
    sentence = SourceSentence(text=text, start=0, literals=literals)
    return list(facts_of(section, sentence, KNOWN, before and SourceSentence(text=before, start=0)))


@from_table
def test_a_sentence_answers_what_its_grammar_says(sentence, questions):
    found = facts(sentence)
    assert [fact.question for fact in found][: len(questions)] == questions
    assert all(sentence[fact.start : fact.end] == fact.answers[0] for fact in found)


@from_table
def test_what_could_be_read_in_two_ways_or_leans_on_its_page_is_not_asked(sentence):
    assert [fact.question for fact in facts(sentence)] == []


def test_a_short_answer_stands_beside_the_sentence():
    (fact,) = facts("A paid plan supports up to 20 nodes.")
    assert fact.answers == ("A paid plan supports up to 20 nodes.", "up to 20 nodes")


def test_it_is_read_as_the_subject_before_where_nothing_else_can_be_meant():
    (fact,) = facts("It can be shared with a team.", before="A snapshot is a copy of the disk.")
    assert (fact.question, fact.answers[0]) == (
        "Can a snapshot be shared with a team?",
        "It can be shared with a team.",
    )
    assert facts("It can be shared with a team.", before="The server writes a snapshot.") == []
    assert facts("It is possible to share a disk.", before="A snapshot is a copy of the disk.") == []


def test_a_second_verb_is_asked_about_by_itself():
    text = "A snapshot holds the files of a disk and can be shared with a team."
    first, *_, second = facts(text)
    assert (first.question, first.answers[0]) == (
        "What does a snapshot hold?",
        "A snapshot holds the files of a disk",
    )
    assert (second.question, second.answers[0]) == (
        "Can a snapshot be shared with a team?",
        "can be shared with a team",
    )
    assert text[second.start : second.end] == second.answers[0]


def test_what_stands_as_code_is_one_name():
    text = "--no wait is a flag that skips the queue."
    (fact,) = facts(text, literals=((0, 9),))
    assert (fact.question, fact.topic.text) == ("What is --no wait?", "--no wait")


def test_the_reader_of_a_document_is_i_in_a_question():
    assert in_first_person("if you lose your key, the team helps you to get yours") == (
        "if I lose my key, the team helps me to get mine"
    )
    assert in_first_person("once you're done and you are asked") == "once I'm done and I am asked"
