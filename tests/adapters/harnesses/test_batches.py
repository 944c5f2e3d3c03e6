"""Questions of several conversations as one list."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from replay_adapters.harnesses.lm_eval import Batches
from tests.waiting import others_first, until_async

NEVER_S = 3600.0


class Model:
    """Notes the lists that it is given; holds each back until it may answer."""

    def __init__(self) -> None:
        self.lists: list[list[str]] = []
        self.may_answer = threading.Event()
        self.may_answer.set()

    def __call__(self, questions: list[str]) -> list[str]:
        self.lists.append(questions)
        self.may_answer.wait()
        if "fail" in questions:
            raise LookupError("no")
        if "stop" in questions:
            raise StopIteration
        return [question.upper() for question in questions][: None if "short" not in questions else 0]


@pytest.fixture
def model() -> Iterator[Model]:
    made = Model()
    yield made
    made.may_answer.set()


@contextmanager
def batches(model: Model, size: int, gather_s: float = NEVER_S) -> Iterator[Batches[str, str]]:
    made = Batches(model, size=size, gather_s=gather_s)
    try:
        yield made
    finally:
        made.close()


async def test_what_waits_is_put_together_up_to_the_size(model):
    with batches(model, 3, gather_s=0.0) as put:
        answers = await asyncio.gather(*(put.put(letter) for letter in "abcdefg"))

    assert answers == list("ABCDEFG")
    assert model.lists == [["a", "b", "c"], ["d", "e", "f"], ["g"]]


async def test_a_full_list_waits_for_nobody(model):
    with batches(model, 2) as put:
        assert await asyncio.gather(put.put("a"), put.put("b")) == ["A", "B"]


async def test_one_alone_waits_no_longer_than_it_may(model):
    with batches(model, 8, gather_s=0.001) as put:
        assert await put.put("a") == "A"


async def test_a_fault_of_one_question_is_not_the_others(model):
    with batches(model, 3) as put:
        a, fail, b = await asyncio.gather(put.put("a"), put.put("fail"), put.put("b"), return_exceptions=True)

    assert (a, b) == ("A", "B")
    assert isinstance(fail, LookupError)


@pytest.mark.parametrize(("question", "error"), [("short", ValueError), ("stop", RuntimeError)])
async def test_whatever_a_model_does_wrong_gets_to_who_asked(model, question, error):
    with batches(model, 1) as put, pytest.raises(error):
        await put.put(question)


async def test_a_question_that_nobody_waits_for_is_not_put(model):
    model.may_answer.clear()
    with batches(model, 1) as put:
        first, given_up, last = (asyncio.ensure_future(put.put(letter)) for letter in "abc")
        await until_async(lambda: model.lists)
        given_up.cancel()
        await others_first()
        model.may_answer.set()
        assert (await first, await last) == ("A", "C")

    assert model.lists == [["a"], ["c"]]


async def test_closing_it_while_a_model_answers_does_no_harm(model):
    model.may_answer.clear()
    with batches(model, 1) as put:
        asked = asyncio.ensure_future(put.put("a"))
        await until_async(lambda: model.lists)
        asked.cancel()
        await others_first()

    assert asked.cancelled()
