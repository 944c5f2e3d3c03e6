"""Models of lm-eval as systems, with the real package: its dummy, a small one, and one behind an endpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from replay import (
    AdapterConnectionError,
    AdapterRateLimitedError,
    AdapterRefusedError,
    AdapterReplyError,
    AdapterTimeoutError,
    ChatReply,
    ChatRequest,
    Message,
    RunStoppedError,
    run,
)
from replay.core.errors import ScenarioError
from replay.core.settings.plugins import build
from replay.testing import FAIL, AdapterContract
from replay.testing.adapter_contract import conversation, request
from tests.adapters.servers import answering, in_a_thread

pytest.importorskip("lm_eval", reason='needs pip install "convreplay[lm-eval]"')

from lm_eval.api.model import LM

from replay_adapters.harnesses.lm_eval import LmEvalAdapter
from tests.data_tables import from_table

SYSTEM = "{{ passage }}"


class Tiny(LM):
    """Answers with its system message and how many questions came before; a template of its own."""

    def __init__(self, answer: str = "") -> None:
        super().__init__()
        self.answer = answer
        self.asked: list[list[Any]] = []

    def apply_chat_template(self, chat_history, add_generation_prompt=True):
        assert add_generation_prompt
        return "".join(f"<{one['role']}>{one['content']}" for one in chat_history) + "<assistant>"

    def generate_until(self, requests):
        self.asked.append([one.args for one in requests])
        return [self._said(*one.args) for one in requests]

    def _said(self, prompt: str, gen_kwargs: dict[str, Any]) -> str:
        gen_kwargs.clear()  # as several models do
        if FAIL in prompt:
            raise LookupError("no such harbour")
        before = prompt.count("<user>") - 1
        return self.answer or f" {prompt.partition('<user>')[0]}: {before} before\n"

    def loglikelihood(self, requests):
        raise NotImplementedError

    loglikelihood_rolling = loglikelihood


def adapter(lm: object, **settings: Any) -> LmEvalAdapter:
    """An adapter of *lm*, by the name that a scenario made by a program has for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("replay_adapters.harnesses.lm_eval.load_object", lambda target, folder: lm)
        return LmEvalAdapter(model="in-memory:lm", **settings)


async def ask(made: LmEvalAdapter, **more: Any) -> ChatReply:
    async with made, made.session(conversation()) as session:
        return await session.ask(request(**more))


class TestOneByOne(AdapterContract):
    hangs = False  # what hangs in a model's own thread keeps everybody waiting, deadlines aside

    @pytest.fixture
    def adapter(self) -> LmEvalAdapter:
        return adapter(Tiny(), system=SYSTEM)


class TestBatches(AdapterContract):
    hangs = False

    @pytest.fixture
    def adapter(self) -> LmEvalAdapter:
        return adapter(Tiny, system=SYSTEM, batch=8, gather_s=0.001)


async def test_the_history_goes_through_the_models_own_chat_template():
    lm = Tiny()
    reply = await ask(adapter(lm, system=SYSTEM, gen_kwargs={"until": ["\n\n"]}), before=1)

    assert reply.text == "<system>The harbour is harbour-1.: 1 before"
    ((prompt, _),) = lm.asked[0]
    assert prompt == (
        "<system>The harbour is harbour-1.<user>And pier 1?<assistant>Pier 1."
        "<user>Which harbour is it?<assistant>"
    )


async def test_each_question_has_keywords_of_its_own():
    seen = []

    class Spoils(Tiny):
        def _said(self, prompt, gen_kwargs):
            seen.append((gen_kwargs.pop("max_gen_toks"), gen_kwargs["until"].pop()))
            return "Yes."

    made = adapter(Spoils, gen_kwargs={"max_gen_toks": 8, "until": ["."]})
    async with made, made.session(conversation()) as session:
        for _ in range(2):
            await session.ask(request())

    assert seen == [(8, ".")] * 2


async def test_a_model_without_a_template_is_given_a_prompt():
    before = "{% for one in history %}Q: {{ one.question }}\nA: {{ one.answer }}\n{% endfor %}"
    lm = Tiny(answer="Pier 2.")
    await ask(adapter(lm, prompt=before + "Q: {{ question }}\nA:"), before=1)

    ((sent, _),) = lm.asked[0]
    assert sent == "Q: And pier 1?\nA: Pier 1.\nQ: Which harbour is it?\nA:"


async def test_lm_evals_dummy_answers_and_draws_no_progress_bar(capsys):
    assert (await ask(LmEvalAdapter(model="dummy", prompt="{{ question }}"))).text == "lol"
    assert capsys.readouterr().err == ""


async def test_the_setting_system_takes_the_place_of_recorded_instructions():
    lm = Tiny()
    made = adapter(lm, system="Be kind.")
    recorded = (Message(role="system", text="Be brief."),)
    async with made, made.session(conversation()) as session:
        await session.ask(ChatRequest(question="Who?", history=(), depth=1, asked_with=recorded))

    ((prompt, _),) = lm.asked[0]
    assert prompt == "<system>Be kind.<user>Who?<assistant>"


async def test_a_template_that_fails_says_what_to_set_and_was_not_sent():
    class Bare(Tiny):
        def apply_chat_template(self, chat_history, add_generation_prompt=True):
            raise NotImplementedError("none here")

    with pytest.raises(AdapterRefusedError, match=r"none here.*give the setting prompt") as caught:
        await ask(adapter(Bare))
    assert not caught.value.reached


async def test_an_answer_without_text_is_a_bad_reply():
    with pytest.raises(AdapterReplyError, match="max_gen_toks"):
        await ask(adapter(Tiny(answer=" \n")))


@pytest.mark.parametrize(
    ("lm", "message"), [(lambda: 3, "gives int, which has no generate_until"), (lambda: 1 / 0, "division")]
)
async def test_a_model_that_can_not_be_made_stops_the_run(lm, message):
    made = adapter(lm)
    for _ in range(2):  # and leaves nothing behind
        with pytest.raises(RunStoppedError, match=message):
            await ask(made)


@from_table
def test_a_wrong_setting_is_named(settings, message):
    with pytest.raises(ScenarioError, match=message):
        build(LmEvalAdapter, {"model": "dummy"} | settings, folder=Path())


@pytest.mark.parametrize(
    ("model_args", "batch", "size"),
    [
        ({}, None, 1),
        ({"batch_size": "auto"}, None, 1),
        ({"num_concurrent": "8"}, None, 8),
        ({"batch_size": 4}, 2, 2),
    ],
)
def test_lists_are_as_long_as_the_model_takes_them(model_args, batch, size):
    assert LmEvalAdapter(model="dummy", model_args=model_args, batch=batch)._batch_size == size


def test_whom_it_asks_and_what_it_runs_is_known_beforehand():
    assert LmEvalAdapter(model="hf").hosts == []
    assert LmEvalAdapter(model="openai-chat-completions").hosts == ["https://api.openai.com"]
    base = {"base_url": "http://127.0.0.1:9/v1/chat/completions"}
    assert LmEvalAdapter(model="openai-chat-completions", model_args=base).hosts == list(base.values())
    assert LmEvalAdapter(model="hf").local_code is None
    assert adapter(Tiny()).local_code == "in-memory:lm"


@pytest.mark.parametrize(
    ("settings", "unsent"), [({}, False), ({"system": "Be."}, True), ({"prompt": "x"}, True)]
)
def test_recorded_instructions_are_sent_unless_a_setting_takes_their_place(settings, unsent):
    assert (adapter(Tiny(), **settings).unsent_system_prompts is not None) == unsent


class TestBehindAnEndpoint:
    """``local-chat-completions``, which posts to a server."""

    def made(self, address: str, **more: Any) -> LmEvalAdapter:
        args = {"base_url": f"{address}/v1/chat/completions", "model": "m", "max_retries": 1}
        return LmEvalAdapter(
            model="local-chat-completions",
            model_args=args | more,
            gen_kwargs={"max_gen_toks": 9, "temperature": 0.5},
        )

    async def test_it_is_sent_the_messages_as_they_are(self):
        bodies = []

        async def answer(asked: web.Request) -> web.Response:
            bodies.append(await asked.json())
            return web.json_response({"choices": [{"index": 0, "message": {"content": "Pier 2."}}]})

        with in_a_thread(answering(answer)) as address:
            reply = await ask(self.made(address), before=1)

        assert reply.text == "Pier 2."
        (body,) = bodies
        assert [(one["role"], one["content"]) for one in body["messages"]] == [
            ("user", "And pier 1?"),
            ("assistant", "Pier 1."),
            ("user", "Which harbour is it?"),
        ]
        assert (body["model"], body["max_tokens"], body["temperature"]) == ("m", 9, 0.5)

    @pytest.mark.parametrize("more", [{}, {"num_concurrent": 2}], ids=["one by one", "at once"])
    @pytest.mark.parametrize(
        ("status", "error", "retryable"),
        [
            (429, AdapterRateLimitedError, True),
            (401, AdapterRefusedError, False),
            (503, AdapterRefusedError, True),
        ],
    )
    async def test_a_refusal_keeps_its_status(self, status, error, retryable, more):
        async def refuse(asked: web.Request) -> web.Response:
            return web.json_response({"error": "not today"}, status=status)

        with in_a_thread(answering(refuse)) as address, pytest.raises(error) as caught:
            await ask(self.made(address, **more))
        assert (caught.value.status, caught.value.retryable) == (status, retryable)

    @pytest.mark.parametrize("more", [{}, {"num_concurrent": 2}], ids=["one by one", "at once"])
    async def test_where_nobody_listens_it_says_what_to_check(self, more):
        with pytest.raises(AdapterConnectionError, match="base_url"):
            await ask(self.made("http://127.0.0.1:9", **more))


async def test_a_models_own_deadline_is_a_timeout():
    class Slow(Tiny):
        def generate_until(self, requests):
            raise TimeoutError("30 s")

    with pytest.raises(AdapterTimeoutError):
        await ask(adapter(Slow))


def test_a_program_gives_its_model_as_it_is(tmp_path):
    talk = {"id": "t", "turns": [{"question": "Who?", "gold_answer": "Okafor."}, {"question": "When?"}]}
    (tmp_path / "talk.jsonl").write_text(json.dumps(talk))
    lm = Tiny(answer="Okafor.")
    played = run(
        {
            "name": "tiny",
            "data": {"path": str(tmp_path / "talk.jsonl")},
            "systems": [{"name": "tiny", "adapter": "lm-eval", "settings": {"model": lm}}],
            "policies": ["gold"],
            "scorers": ["em"],
        },
        runs=tmp_path,
    )

    assert list(played.turns()["answer"]) == ["Okafor."] * 2
    assert lm.asked[1][0][0] == "<user>Who?<assistant>Okafor.<user>When?<assistant>"
