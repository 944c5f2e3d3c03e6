"""Conversations made by a model that a local server plays: what is asked, checked, refused and paid."""

from __future__ import annotations

from collections import Counter

import pytest

from replay.core.conversation import CANNOT_ANSWER
from replay.core.errors import InputError, RunStoppedError
from replay.synthesis.model.synthesize import ModelSettings, estimate_model_synthesis, synthesize_with_model
from replay.synthesis.synthesis_settings import Shares
from tests.synthesis.model.model_server import SENTENCES, model_server, write_documents

PLAIN = Shares(anaphora=0, ellipsis=0, unanswerable=0, shift=0, yes_no=0)
TWO = ModelSettings(conversations=2, turns=3, shares=PLAIN, concurrency=1)


def is_teacher(prompt: str) -> bool:
    return prompt.startswith("You answer questions")


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    write_documents(folder)
    return folder


def test_a_student_asks_and_a_teacher_quotes(docs, tmp_path):
    with model_server() as server:
        made = synthesize_with_model([docs], TWO, model=server.model, cache=tmp_path / "c.db")
    assert [len(one.turns) for one in made.conversations] == [3, 3]
    assert made.rejected == Counter()
    for conversation in made.conversations:
        passages = {passage.id: passage.text for passage in conversation.passages}
        assert conversation.title.startswith("Park")
        for turn, about in zip(conversation.turns, conversation.metadata["synthesized"], strict=True):
            (passage,) = turn.gold_passages
            where = about["answer"]
            assert where["passage"] == passage
            assert passages[passage][where["start"] : where["end"]] == turn.gold_answer
            assert turn.standalone == turn.question
    assert len(server.prompts) == 12
    assert made.tally.asks == 12
    students = [prompt for prompt in server.prompts if not is_teacher(prompt)]
    assert not any(sentence[:30] in prompt for sentence in SENTENCES for prompt in students[::3])


def test_in_inpainting_the_answers_are_sentences_in_their_order(docs, tmp_path):
    settings = ModelSettings(conversations=2, turns=4, method="inpainting", shares=PLAIN)
    with model_server() as server:
        made = synthesize_with_model([docs], settings, model=server.model, cache=tmp_path / "c.db")
    assert len(server.prompts) == 8
    for conversation in made.conversations:
        text = "\n".join(passage.text for passage in conversation.passages)
        places = [text.index(turn.gold_answer or "") for turn in conversation.turns]
        assert places == sorted(places)
        assert all(turn.question.startswith("When did the") for turn in conversation.turns)


BAD_STUDENT = [
    ("I'm sorry, I can't help with that.", "the reply holds no JSON object"),
    ('{"question": "Who is it?", "standalone": "Who', "Unterminated string"),
    ('{"question": "Who?"}', 'the object has no text "standalone"'),
    ('{"question": "When did it open?", "standalone": "When did it open?"}', 'the standalone form says "it"'),
    ('{"question": "Who?", "standalone": "Who built the park?"}', "the first question has nothing to"),
]  # fmt: skip


@pytest.mark.parametrize(("bad", "reason"), BAD_STUDENT)
def test_what_a_student_may_not_write_is_asked_again_with_the_reason(docs, tmp_path, bad, reason):
    with model_server(lambda n, prompt: bad if n == 1 else None) as server:
        made = synthesize_with_model([docs], TWO, model=server.model, cache=tmp_path / "c.db")
    assert len(made.conversations) == 2
    assert len(server.prompts) == 13
    assert "- Not this: " not in server.prompts[0]
    (rejected,) = [line for line in server.prompts[1].splitlines() if line.startswith("- Not this: ")]
    assert reason in rejected


BAD_TEACHER = [
    ('{"passage": 1, "quote": "The heron house opened in 2031."}', "these words don't stand in the document"),
    ('{"passage": 1, "quote": "..."}', "these words don't stand in the document"),
    ('{"passage": 1}', 'the object has no text "quote"'),
    ("As an AI I can't quote.", "the reply holds no JSON object"),
]


@pytest.mark.parametrize(("bad", "reason"), BAD_TEACHER)
def test_what_a_teacher_may_not_quote_is_asked_again_with_the_reason(docs, tmp_path, bad, reason):
    with model_server(lambda n, prompt: bad if n == 2 else None) as server:
        made = synthesize_with_model([docs], TWO, model=server.model, cache=tmp_path / "c.db")
    assert len(made.conversations) == 2
    assert reason in server.prompts[2]
    assert is_teacher(server.prompts[2])


def test_a_question_nobody_answers_is_replaced_by_another(docs, tmp_path):
    """The student is told that it has no answer; it is counted, and never a turn."""
    with model_server(lambda n, prompt: '{"quote": "CANNOTANSWER"}' if n == 2 else None) as server:
        made = synthesize_with_model([docs], TWO, model=server.model, cache=tmp_path / "c.db")
    assert made.rejected == Counter({"the document doesn't answer it": 1})
    assert "(the document doesn't answer it)" in server.prompts[2]
    assert all(turn.gold_answer != CANNOT_ANSWER for one in made.conversations for turn in one.turns)


def test_where_an_unanswerable_question_is_wanted_it_is_a_turn(docs, tmp_path):
    shares = Shares(anaphora=0, ellipsis=0, unanswerable=1, shift=0, yes_no=0)
    settings = ModelSettings(conversations=2, turns=2, shares=shares, concurrency=1)

    def fault(n: int, prompt: str) -> str | None:
        return '{"quote": "CANNOTANSWER."}' if n % 4 == 0 else None  # the second turn's teacher

    with model_server(fault) as server:
        made = synthesize_with_model([docs], settings, model=server.model, cache=tmp_path / "c.db")
    for one in made.conversations:
        assert [turn.gold_answer == CANNOT_ANSWER for turn in one.turns] == [False, True]
        assert one.turns[1].gold_passages == ()
        assert "answer" not in one.metadata["synthesized"][1]


def test_a_conversation_that_fails_is_left_out_and_another_made(docs, tmp_path):
    write_documents(docs, count=3)
    refuses = [f'{{"question": "{n}"}}' for n in range(3)]

    def fault(n: int, prompt: str) -> str | None:
        return refuses[n - 1] if n <= 3 else None

    with model_server(fault) as server:
        made = synthesize_with_model([docs], TWO, model=server.model, cache=tmp_path / "c.db")
    assert len(made.conversations) == 2
    assert made.rejected == Counter({'no question: the object has no text "standalone"': 1})


@pytest.mark.parametrize("status", [400, 404])
def test_an_endpoint_that_fails_ends_the_conversation_and_is_counted(docs, tmp_path, status):
    write_documents(docs, count=3)
    with model_server(lambda n, prompt: status if n == 3 else None) as server:
        made = synthesize_with_model([docs], TWO, model=server.model, cache=tmp_path / "c.db")
    assert len(made.conversations) == 2
    assert sum(made.rejected.values()) == 1
    assert next(iter(made.rejected)).startswith("no reply came: ")


def test_a_key_that_is_refused_stops_at_once(docs, tmp_path):
    with model_server(lambda n, prompt: 401) as server, pytest.raises(RunStoppedError):
        synthesize_with_model([docs], TWO, model=server.model, cache=tmp_path / "c.db")
    assert len(server.prompts) == 1


def test_nothing_is_paid_twice(docs, tmp_path):
    """An endpoint that fails half-way costs what was missing, and not what had come before."""
    cache = tmp_path / "c.db"
    fails = [True]
    with model_server(lambda n, prompt: 404 if fails[0] and n > 8 else None) as server:
        half = synthesize_with_model([docs], TWO, model=server.model, cache=cache)
        assert (len(half.conversations), len(server.prompts)) == (1, 9)
        fails[0] = False
        whole = synthesize_with_model([docs], TWO, model=server.model, cache=cache)
        assert len(server.prompts) == 13
        again = synthesize_with_model([docs], TWO, model=server.model, cache=cache)
        assert len(server.prompts) == 13
        anew = synthesize_with_model([docs], TWO, model=server.model, cache=tmp_path / "other.db")
    assert half.conversations == whole.conversations[:1]
    assert anew.conversations == whole.conversations == again.conversations
    assert (again.tally.asks, again.tally.cached) == (0, 12)
    assert half.signature == whole.signature


def test_how_many_are_made_at_a_time_changes_nothing(docs, tmp_path):
    write_documents(docs, count=4)
    with model_server() as server:
        found = [
            synthesize_with_model(
                [docs],
                ModelSettings(conversations=4, turns=3, shares=PLAIN, concurrency=concurrency),
                model=server.model,
                cache=tmp_path / f"{concurrency}.db",
            ).conversations
            for concurrency in (1, 4)
        ]
    assert found[0] == found[1]


@pytest.mark.parametrize(("method", "each"), [("student", 2), ("inpainting", 1)])
def test_a_dry_run_asks_nothing_and_counts_what_is_missing(docs, tmp_path, method, each):
    settings = ModelSettings(conversations=2, turns=3, shares=PLAIN, method=method)
    half = ModelSettings(conversations=1, turns=3, shares=PLAIN, method=method)
    cache = tmp_path / "c.db"
    with model_server() as server:
        before = estimate_model_synthesis([docs], settings, model=server.model, cache=cache)
        assert server.prompts == []
        synthesize_with_model([docs], half, model=server.model, cache=cache)
        between = estimate_model_synthesis([docs], settings, model=server.model, cache=cache)
        synthesize_with_model([docs], settings, model=server.model, cache=cache)
        after = estimate_model_synthesis([docs], settings, model=server.model, cache=cache)
        asked = len(server.prompts)
    assert asked == 6 * each
    assert (before.asks, before.settled, before.cached) == (6 * each, 0, 0)
    assert (between.asks, between.settled, between.cached) == (3 * each, 1, 3 * each)
    assert (after.asks, after.settled, after.cached) == (0, 2, 6 * each)
    assert before.cost_usd is not None
    assert between.cost_usd is not None
    assert before.cost_usd > between.cost_usd > 0
    assert after.cost_usd == 0


def test_more_than_the_documents_carry_is_refused_before_anything_is_asked(docs, tmp_path):
    settings = ModelSettings(conversations=3, turns=3, shares=PLAIN)
    with model_server() as server, pytest.raises(InputError) as caught:
        synthesize_with_model([docs], settings, model=server.model, cache=tmp_path / "c.db")
    assert server.prompts == []
    assert str(caught.value) == (
        "these documents carry 2 conversations of 3 turns, and 3 are asked for; ask for 2, for fewer turns, "
        "or give more documents"
    )
