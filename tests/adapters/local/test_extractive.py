"""The ``extractive`` adapter: what it finds, what it gets wrong, and that it is always the same."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from replay import CANNOT_ANSWER, ChatReply, ChatRequest, Conversation, Exchange, Passage
from replay.testing import AdapterContract
from replay_adapters.local.extractive import ExtractiveAdapter
from replay_adapters.local.sentence_index import (
    can_answer,
    content_stems,
    index_of,
    leans,
    split_sentences,
    stem,
)
from tests.data_tables import from_table

TEXTS = (
    "Mira Okafor was born in Port Ellis. She recorded Stone Garden in 1987. Critics praised the album.",
    "Port Ellis is a town on the northern coast. Its glass harbour draws visitors from everywhere.\n\n"
    "The harbour opened in 1952. It was paid for by the fishing guild.",
    "Okafor toured with a string quartet. The tour ended in Lisbon.",
)


def _talk(*texts: str) -> Conversation:
    passages = tuple(Passage(id=f"p{number}", text=text) for number, text in enumerate(texts, 1))
    return Conversation(id="c", turns=(), passages=passages)


async def _ask(
    question: str, *history: tuple[str, str], talk: Conversation | None = None, **options: Any
) -> ChatReply:
    exchanges = tuple(Exchange(question=asked, answer=answer) for asked, answer in history)
    async with ExtractiveAdapter(**options).session(talk or _talk(*TEXTS)) as session:
        return await session.ask(ChatRequest(question=question, history=exchanges, depth=len(history) + 1))


class TestSeeingTheHistory(AdapterContract):
    hangs = False
    fails_with = None
    tells_history = False

    @pytest.fixture
    def adapter(self) -> ExtractiveAdapter:
        return ExtractiveAdapter()


async def test_it_answers_with_the_most_relevant_sentence_and_names_the_passage_first() -> None:
    reply = await _ask("When did the harbour open?")

    assert reply.text == "The harbour opened in 1952."
    assert reply.passages[0].id == "p2"


async def test_it_says_when_it_can_not_answer() -> None:
    reply = await _ask("What do penguins eat?")

    assert (reply.text, reply.passages) == (CANNOT_ANSWER, ())


async def test_the_threshold_decides_what_it_dares_to_say() -> None:
    question = "Which critics of which newspapers wrote about penguins in Lisbon?"

    assert (await _ask(question, threshold=0.0)).text != CANNOT_ANSWER
    assert (await _ask(question, threshold=0.9)).text == CANNOT_ANSWER


async def test_without_passages_it_can_not_answer() -> None:
    assert (await _ask("Who?", talk=_talk())).text == CANNOT_ANSWER
    assert (await _ask("Who?", talk=_talk("", " \n\n ", "..."))).text == CANNOT_ANSWER


async def test_a_question_of_pronouns_follows_the_history_it_is_shown() -> None:
    """This is how drift comes about: with another answer behind it, the same question means another thing."""
    question = "What about it?"
    by_harbour = await _ask(question, ("What is there to see?", "Its glass harbour."))
    by_tour = await _ask(question, ("What did she do then?", "She toured with a string quartet."))

    assert "harbour" in by_harbour.text
    assert "quartet" in by_tour.text
    assert (await _ask(question)).text == CANNOT_ANSWER


async def test_a_question_that_names_what_it_is_about_is_answered_as_it_stands() -> None:
    others = "The ferry is late.\n\nRain fell on Monday.\n\nAll tickets are gone.\n\nThe bell rang twice."
    talk = _talk("Mira sells fresh bread from a red boat.\n\nJonas sells bread in the harbour café.", others)
    history = ("Who keeps the harbour café?", "Jonas keeps the harbour café.")

    assert "Mira" in (await _ask("Where does Mira sell bread?", history, talk=talk)).text
    assert "Jonas" in (await _ask("Where does he sell bread?", history, talk=talk)).text


async def test_a_sentence_that_says_no_more_than_the_question_is_no_answer() -> None:
    talk = _talk("The harbour is of glass.\n\nThe glass harbour sings at night when the wind is strong.")

    assert "sings" in (await _ask("Why is the harbour of glass?", talk=talk)).text


@pytest.mark.parametrize(("question", "expected"), [("What's that?", True), ("Did Mira tour?", False)])
def test_a_question_leans_on_what_was_said_if_a_word_stands_for_it(question: str, expected: bool) -> None:
    assert leans(question) is expected


@from_table
def test_a_name_a_number_or_a_reason_is_known_where_it_is_asked_for(
    question: str, answer: str, other: str
) -> None:
    assert (can_answer(answer, question), can_answer(other, question)) == (True, False)


async def test_a_sentence_is_about_what_the_one_before_it_names() -> None:
    talk = _talk("Mira Okafor runs the ferry.\n\nJonas keeps a harbour café. It sells lentil soup and bread.")

    assert (await _ask("What does the café sell?", talk=talk)).text == "It sells lentil soup and bread."


async def test_the_last_exchange_weighs_most() -> None:
    tour, harbour = ("The quartet?", "A string quartet."), ("The harbour?", "A glass harbour.")

    assert "harbour" in (await _ask("And?", tour, harbour)).text
    assert "quartet" in (await _ask("And?", harbour, tour)).text


async def test_it_does_not_repeat_its_last_answer() -> None:
    question = "When did the harbour open?"
    first = (await _ask(question)).text
    second = (await _ask(question, (question, first))).text

    assert second not in (first, CANNOT_ANSWER)


async def test_it_looks_at_the_question_alone_if_told_to() -> None:
    history = ("Who toured?", "Okafor toured with a string quartet.")

    assert (await _ask("And?", history, history_weight=0.0)).text == CANNOT_ANSWER


async def test_it_may_keep_the_history_itself() -> None:
    async with ExtractiveAdapter(history="server").session(_talk(*TEXTS)) as session:
        asked = [ChatRequest(question="The harbour?", history=(), depth=depth) for depth in (1, 2)]
        first, second = [(await session.ask(each)).text for each in asked]

    assert first != second
    assert second == (await _ask("The harbour?", ("The harbour?", first))).text


def _played(talk: Conversation, questions: list[str]) -> list[str]:
    """Answers of a system that sees its own, without an event loop of ours."""
    import asyncio

    async def play() -> list[str]:
        history: list[Exchange] = []
        async with ExtractiveAdapter().session(talk) as session:
            for depth, question in enumerate(questions, 1):
                request = ChatRequest(question=question, history=tuple(history), depth=depth)
                history.append(Exchange(question=question, answer=(await session.ask(request)).text))
        return [exchange.answer for exchange in history]

    return asyncio.run(play())


QUESTIONS = [
    "Where was Okafor born?",
    "What is it known for?",
    "When did it open?",
    "Who paid?",
    "And the album?",
]

_BREAKS = ("it\n", "\n\n", "\r\n\r\n", "\t")
_WORDS = st.sampled_from(("harbour", "Harbour.", "opened", "town;", "1987", ".", "!", "“so”", *_BREAKS))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(_WORDS, max_size=25).map(" ".join), max_size=5))
def test_passages_joined_by_blank_lines_give_the_same_answers(texts: list[str]) -> None:
    """A prompt is one text; whoever serves this system must not answer differently for that."""
    assert _played(_talk(*texts), QUESTIONS) == _played(_talk("\n\n".join(texts)), QUESTIONS)


def test_the_answers_are_always_the_same() -> None:
    """Whatever this process's hash seed is."""
    assert _played(_talk(*TEXTS), QUESTIONS) == [
        "Mira Okafor was born in Port Ellis.",
        "She recorded Stone Garden in 1987.",
        "The harbour opened in 1952.",
        "It was paid for by the fishing guild.",
        "Critics praised the album.",
    ]


async def test_an_ask_takes_less_than_a_millisecond() -> None:
    """It runs on the event loop, beside asks that are being timed."""
    sentences = [
        f"Sentence {n} tells of harbour {n % 7}, ship {n % 11} and captain {n % 5}." for n in range(150)
    ]
    history = tuple(Exchange(question=f"Which ship {n}?", answer=sentences[n]) for n in range(10))
    async with ExtractiveAdapter().session(_talk(*sentences)) as session:
        began = process_time()
        for n in range(50):
            await session.ask(ChatRequest(question=f"Which captain {n} then?", history=history, depth=11))
        took_s = (process_time() - began) / 50

    assert took_s < 0.005  # measured 0.0005; the rest is for slower machines


@from_table
def test_forms_of_a_word_have_one_stem(words: str) -> None:
    assert len({stem(word) for word in words.split()}) == 1


@pytest.mark.parametrize("words", ["bus bush", "1987 198", "this thing", "was war", "is in"])
def test_other_words_have_another(words: str) -> None:
    assert len({stem(word) for word in words.split()}) == 2


def test_function_words_carry_no_meaning() -> None:
    assert content_stems("What did she do about it, and why wasn’t he there?") == ()


def test_sentences_are_cut_and_straightened() -> None:
    found = split_sentences("One  is\nhere. Two! ... \t Is it three?")

    assert found == ["One is here.", "Two! ...", "Is it three?"]


@from_table
def test_sentences_are_those_of_a_tokenizer_that_knows_english(sentences: list[str], long: bool) -> None:
    text = " ".join(sentences).replace("end. Then", "end.Then")
    assert split_sentences(text) == sentences
    if not long:
        return  # what it says stands in the table, and to load it takes a second

    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    assert [sentence.text.strip() for sentence in pipeline(text).sents] == sentences


def test_an_index_is_kept_for_the_next_session() -> None:
    assert index_of(TEXTS) is index_of(tuple(TEXTS))


@pytest.mark.parametrize("options", [{"threshold": -1}, {"history_weight": float("nan")}, {"decay": 1.5}])
def test_a_setting_that_cannot_work_is_refused_at_once(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        ExtractiveAdapter(**options)


async def test_it_may_answer_from_what_was_said_and_then_knows_nothing_else():
    told = ("My cat is called Bo.", "A fine name."), ("It rains.", "It does.")

    remembered = await _ask("What is my cat called?", *told, talk=_talk(*TEXTS), answers_from="history")
    forgotten = await _ask("What is my cat called?", talk=_talk(*TEXTS), answers_from="history")
    elsewhere = await _ask("Where was Mira Okafor born?", *told, talk=_talk(*TEXTS), answers_from="history")

    assert [one.text for one in (remembered, forgotten)] == ["My cat is called Bo.", CANNOT_ANSWER]
    assert elsewhere.text == CANNOT_ANSWER
    assert remembered.passages == ()
