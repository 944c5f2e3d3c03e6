"""
A model of EleutherAI's lm-evaluation-harness as a system: ``hf``, ``vllm``, ``local-chat-completions``, ...

The conversation so far goes through the model's own chat template (chat endpoints take the messages as they
are), and then to its ``generate_until``, with those of other conversations that wait.
https://github.com/EleutherAI/lm-evaluation-harness, docs/model_guide.md.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import aiohttp

from replay import (
    AdapterConnectionError,
    AdapterError,
    AdapterRefusedError,
    AdapterReplyError,
    AdapterTimeoutError,
    ChatReply,
    ChatRequest,
    Conversation,
    HistoryKeeper,
    Message,
    RunStoppedError,
    TextTemplate,
    instructions,
    load_object,
    message_fields,
    template_variables,
)
from replay_adapters.http.failures import status_error
from replay_adapters.http.request import render_template, request_error
from replay_adapters.setting_checks import check_count, check_variables, replaced_system_prompts

Q = TypeVar("Q")
A = TypeVar("A")


class Batches(Generic[Q, A]):
    """
    Calls a function with up to *size* questions at once, one list after the other, in a thread of its own.

    A question waits *gather_s* seconds for others, or until the list before is answered. One that nobody
    waits for any more is left out.
    """

    def __init__(self, answer: Callable[[list[Q]], list[A]], *, size: int, gather_s: float) -> None:
        self._answer = answer
        self._size = size
        self._gather_s = gather_s
        self._waiting: list[tuple[Q, asyncio.Future[A | Exception]]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._busy = False
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="batches")

    async def put(self, question: Q) -> A:
        """Return the answer to *question*. Raises whatever the function raises for it."""
        answered: asyncio.Future[A | Exception] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, answered))
        self._put_soon()
        answer = await answered
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def in_its_thread(self, function: Callable[[], A]) -> A:
        """Return the result of *function*, called in the thread that makes the answers."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, function)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        # Not waited for: Python has no way to end a thread, and a model that never answers must not keep
        # the run from ending.
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _put_soon(self) -> None:
        if self._busy or not self._waiting:
            return
        if len(self._waiting) >= self._size:
            self._put_now()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._gather_s, self._put_now)

    def _put_now(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting = [one for one in self._waiting if not one[1].done()]
        batch, self._waiting = waiting[: self._size], waiting[self._size :]
        if not batch:
            return
        self._busy = True
        call = asyncio.get_running_loop().run_in_executor(
            self._pool, self._answers, [question for question, _ in batch]
        )
        call.add_done_callback(lambda done: self._hand_out(batch, done))

    def _answers(self, questions: list[Q]) -> list[A | Exception]:
        try:
            answers = list(self._answer(questions))
            if len(answers) != len(questions):
                raise ValueError(f"{len(answers)} answers came to {len(questions)} questions")
        except Exception as error:  # noqa: BLE001 - handed over, each to who asked
            if len(questions) == 1:
                return [error]
            # A fault of one question isn't the others'.
            return [answer for question in questions for answer in self._answers([question])]
        return [*answers]

    def _hand_out(
        self, batch: list[tuple[Q, asyncio.Future[A | Exception]]], call: asyncio.Future[list[A | Exception]]
    ) -> None:
        self._busy = False
        if call.cancelled():  # closed
            return
        for (_, waiting), answer in zip(batch, call.result(), strict=True):
            if not waiting.done():
                waiting.set_result(answer)  # an error too: no future can hold StopIteration
        self._put_soon()


Question = str | list[dict[str, Any]]
"""A whole prompt, or the messages that the model's chat template makes one of."""


def check_known(model: str) -> None:
    """
    Make sure that lm-eval has *model*.

    Raises:
        ValueError: lm-eval has no *model* of that name.
    """
    from lm_eval.api.registry import model_registry
    from lm_eval.models import MODEL_MAPPING  # noqa: F401 - importing it fills the registry

    known = sorted(model_registry.keys())
    if model not in known:
        close = get_close_matches(model, known, n=1)
        meant = f'; did you mean "{close[0]}"?' if close else ""
        raise ValueError(f'lm-eval has no model "{model}"{meant} (known: {", ".join(known)})')


def make_lm(model: str, own: Any, model_args: Mapping[str, Any]) -> Any:
    """
    Return the ``LM`` that *own* is or returns, or lm-eval's own *model* if *own* is None.

    Raises:
        TypeError: it is none. Whatever making it raises, too.
    """
    if own is None:
        with _no_progress_bars():
            from lm_eval.api.registry import get_model

            own = get_model(model)
    is_made = hasattr(own, "generate_until") and not isinstance(own, type)
    lm = own if is_made else own(**model_args)
    if not callable(getattr(lm, "generate_until", None)):
        raise TypeError(f"it gives {type(lm).__name__}, which has no generate_until")
    return lm


def answers(lm: Any, questions: Sequence[Question], gen_kwargs: Mapping[str, Any]) -> list[Any]:
    """
    Return *lm*'s answer to each of *questions*, in their order; blocks meanwhile.

    Args:
        lm: A model of lm-eval.
        questions: Prompts, or lists of chat messages.
        gen_kwargs: Settings for generation.

    Raises:
        AdapterRefusedError: *lm* has no chat template, or the template refuses the messages.
    """
    from lm_eval.api.instance import Instance

    requests = [
        # Models change the keywords while they read them, so each question has its own.
        Instance("generate_until", {}, (_prompt(lm, question), deepcopy(dict(gen_kwargs))), number)
        for number, question in enumerate(questions)
    ]
    quiet = "disable_tqdm" in inspect.signature(lm.generate_until).parameters
    return list(lm.generate_until(requests, disable_tqdm=True) if quiet else lm.generate_until(requests))


def failure(error: Exception, model: str) -> AdapterError:
    """Return the adapter error for *error*, which the *model* raised."""
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", getattr(error, "status", None))
    said = " ".join(f"{getattr(response, 'text', '') or error}".split())
    message = f'lm-eval\'s model "{model}" failed: {type(error).__name__}: {said:.500}'
    if isinstance(status, int):
        return status_error(status, message)
    if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
        return AdapterTimeoutError(f"{message}; model_args has its timeout", retryable=True)
    if isinstance(error, aiohttp.ClientError | OSError):  # requests' errors are OSErrors
        return AdapterConnectionError(f"{message}; check base_url in model_args", retryable=True)
    return AdapterRefusedError(message)


def _prompt(lm: Any, question: Question) -> Any:
    if isinstance(question, str):
        return question
    try:
        return lm.apply_chat_template(question, add_generation_prompt=True)
    except Exception as error:  # whatever a model's template raises
        raise request_error(
            f"the model's chat template fails ({type(error).__name__}: {error}); "
            "for a model without one, give the setting prompt"
        ) from error


@contextmanager
def _no_progress_bars() -> Iterator[None]:
    """tqdm draws none if it is imported within: an endpoint's model has one for each list, asked or not."""
    before = os.environ.get("TQDM_DISABLE")
    os.environ["TQDM_DISABLE"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["TQDM_DISABLE"]
        else:
            os.environ["TQDM_DISABLE"] = before


OWN_HOSTS = {"openai": "https://api.openai.com", "anthropic": "https://api.anthropic.com"}
"""Whom models of such names ask where no ``base_url`` says otherwise."""


@dataclass(kw_only=True)
class LmEvalAdapter:
    """Asks an ``lm_eval.api.model.LM``."""

    model: str
    """As ``lm-eval --model`` has it, or an ``LM`` of your own: ``module:name`` or ``file.py:name`` of an
    object, or of a class or function that gives one."""
    model_args: Mapping[str, Any] = field(default_factory=dict)
    """What the model is made with: ``{pretrained: Qwen/Qwen3-0.6B, batch_size: 8}``."""
    gen_kwargs: Mapping[str, Any] = field(default_factory=dict)
    """How it answers: ``{max_gen_toks: 256, temperature: 0, until: ["\\n\\n"]}``."""
    system: str | None = None
    """Template of a system message, in place of the recorded ones, which are sent without it."""
    prompt: str | None = None
    """Template of the whole prompt, for models without a chat template."""
    batch: int | None = None
    """Questions that are put at once at most; by default ``batch_size`` or ``num_concurrent`` of
    ``model_args`` where one of them is a number, else 1."""
    gather_s: float = 0.02
    """How long a question waits for others to fill the batch."""
    folder: Path = Path()
    """Where the path of a file in ``model`` starts from."""

    def __post_init__(self) -> None:
        if find_spec("lm_eval") is None:
            raise ValueError('needs lm-eval, which is not installed; try pip install "convreplay[lm-eval]"')
        check_count("batch", self.batch)
        if not 0 <= self.gather_s < float("inf"):
            raise ValueError(f"gather_s {self.gather_s:g} is not a number of seconds from 0 up")
        if self.prompt is not None and self.system is not None:
            raise ValueError(
                "system stands beside prompt, which is all that the model sees; give one of them"
            )
        for name in ("system", "prompt"):
            check_variables(getattr(self, name) or "", name)
        self._system = TextTemplate(self.system) if self.system else None
        self._prompt = TextTemplate(self.prompt) if self.prompt else None
        self._own = load_object(self.model, self.folder) if ":" in self.model else None
        if self._own is None:
            check_known(self.model)
        self._lm: Any = None
        self._batches: Batches[Question, Any] | None = None

    @property
    def history(self) -> HistoryKeeper:
        return "client"

    @property
    def local_code(self) -> str | None:
        """Named by `replay validate`, since a scenario from somebody else then runs code here."""
        return self.model if self._own is not None else None

    @property
    def hosts(self) -> list[str]:
        given = self.model_args.get("base_url") or OWN_HOSTS.get(self.model.partition("-")[0])
        return [str(given)] if given else []

    @property
    def unsent_system_prompts(self) -> str | None:
        template, name = (self._prompt, "prompt") if self._prompt else (self._system, "system")
        return replaced_system_prompts(template, name)

    async def __aenter__(self) -> Self:
        if self._batches is not None:
            raise RuntimeError("this adapter is in use already; build one for each run")
        self._batches = Batches(self._answers, size=self._batch_size, gather_s=self.gather_s)
        try:
            if self._lm is None:
                self._lm = await self._batches.in_its_thread(
                    lambda: make_lm(self.model, self._own, self.model_args)
                )
        except BaseException as error:
            await self.__aexit__()
            if not isinstance(error, Exception):
                raise
            raise RunStoppedError(
                f"lm-eval's model \"{self.model}\" can't be made: {type(error).__name__}: {error}; "
                "check model and model_args"
            ) from error
        return self

    async def __aexit__(self, *_: object) -> None:
        batches, self._batches = self._batches, None
        if batches is not None:
            batches.close()

    @asynccontextmanager
    async def session(self, conversation: Conversation) -> AsyncIterator[LmEvalSession]:
        if self._batches is None:
            raise RuntimeError("enter the adapter (async with adapter) before its first session")
        yield LmEvalSession(self, self._batches, conversation)

    def question(self, conversation: Conversation, request: ChatRequest) -> Question:
        """
        Return the prompt or the chat messages to give the model for *request*.

        Raises:
            AdapterRefusedError: a template can't be filled in.
        """
        template = self._prompt or self._system
        told = render_template(template, template_variables(conversation, request)) if template else ""
        if self._prompt:
            return str(told)
        messages = request.messages
        if self._system:
            recorded = instructions(messages)
            messages = (Message(role="system", text=told), *(one for one in messages if one not in recorded))
        return [message_fields(message) for message in messages]

    @property
    def _batch_size(self) -> int:
        sizes = [str(self.model_args.get(name)) for name in ("batch_size", "num_concurrent")]
        return self.batch or max(int(size) if size.isdecimal() else 1 for size in sizes)

    def _answers(self, questions: list[Question]) -> list[Any]:
        return answers(self._lm, questions, self.gen_kwargs)


@dataclass(frozen=True, slots=True)
class LmEvalSession:
    """One conversation with the model."""

    adapter: LmEvalAdapter
    batches: Batches[Question, Any]
    conversation: Conversation

    async def ask(self, request: ChatRequest) -> ChatReply:
        try:
            text = await self.batches.put(self.adapter.question(self.conversation, request))
        except AdapterError:
            raise
        except Exception as error:  # whatever a stranger's model raises
            raise failure(error, self.adapter.model) from error
        if not isinstance(text, str) or not text.strip():
            raise AdapterReplyError(
                f'lm-eval\'s model "{self.adapter.model}" gave no text; a larger max_gen_toks in gen_kwargs '
                "helps where a model thinks before it answers"
            )
        return ChatReply(text=text.strip())
