"""Which language a question is in, and who is refused."""

from __future__ import annotations

from pathlib import Path

from replay.coreference.reading.language import ENGLISH_ONLY, language_of, not_readable
from replay.datasets.loading import read_conversations
from tests.data_tables import from_table
from tests.samples import SINGER, conversation

SHIPPED = Path(__file__).parents[3] / "scenarios" / "conversations"
GERMAN = conversation(("Wer war Clara Schumann?", "Eine deutsche Pianistin."), ("1896?", "Ihr Todesjahr."))


def alone(question):
    return language_of(question, conversation((question, None)))


@from_table
def test_small_words_and_letters_tell_the_language(question, language):
    assert alone(question) == language


@from_table
def test_names_titles_and_code_make_no_question_foreign(question):
    assert not_readable(question, conversation((question, None)), ENGLISH_ONLY) is None
    assert not_readable(question, SINGER, ENGLISH_ONLY) is None


def test_no_shipped_question_is_refused():
    paths = sorted(SHIPPED.glob("*.jsonl"))
    talks = list(read_conversations(paths, reader=None, on_bad=None, limit=None))
    questions = [(turn.question, talk) for talk in talks for turn in talk.turns]

    assert len(questions) > 100
    assert [q for q, talk in questions if not_readable(q, talk, ENGLISH_ONLY)] == []


def test_where_a_question_is_too_short_to_tell_its_conversation_decides():
    assert alone("1896?") is None
    assert language_of("1896?", GERMAN) == "de"
    assert language_of("Clara?", SINGER) == "en"
    # One small word may be a title; in English company it is taken for one.
    assert (alone("Warum?"), language_of("Warum?", SINGER)) == ("de", "en")


def test_a_clear_question_is_read_whatever_its_conversation_is_in():
    assert language_of("Where was she born, and who taught her?", GERMAN) == "en"
    assert language_of("Wann wurde sie geboren?", SINGER) == "de"


def test_the_recorded_answers_tell_too():
    talk = conversation(("2019?", "Im Jahr danach wurde sie wieder eröffnet."), ("2020?", None))

    assert language_of("2020?", talk) == "de"


def test_a_refusal_names_what_was_wanted_and_what_was_found():
    german, chinese = GERMAN.turns[0].question, "北京有多少人口？"

    assert not_readable(german, GERMAN, ENGLISH_ONLY) == "the question is not English (German)"
    assert (
        not_readable(german, GERMAN, frozenset({"fr", "en"}))
        == "the question is not English or French (German)"
    )
    assert not_readable(chinese, GERMAN, ENGLISH_ONLY) == "the question is not English (Chinese characters)"
    assert not_readable("Где?", GERMAN, ENGLISH_ONLY) == "the question is not English (Cyrillic script)"
    assert not_readable("Where was she?", GERMAN, frozenset({"de"})) == "the question is not German (English)"


def test_who_reads_a_language_or_any_is_refused_nothing():
    question = GERMAN.turns[0].question

    assert not_readable(question, GERMAN, frozenset({"en", "de"})) is None
    assert not_readable(question, GERMAN, None) is None
    assert not_readable("?", conversation(("?", None)), frozenset({"de"})) is None
