"""
A model of EleutherAI's lm-evaluation-harness as a system: ``hf``, ``vllm``, ``local-chat-completions``, ...

The conversation so far goes through the model's own chat template (chat endpoints take the messages as they
are), and then to its ``generate_until``, with those of other conversations that wait.
https://github.com/EleutherAI/lm-evaluation-harness, docs/model_guide.md.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from replay import (
    AdapterError,
    AdapterReplyError,
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
from replay_adapters.harnesses.batches import Batches
from replay_adapters.harnesses.lm_eval_model import Question, answers, check_known, failure, made
from replay_adapters.rendering import rendered
from replay_adapters.setting_checks import check_count, check_variables

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
        if template is None or template.names & {"messages", "system_prompt"}:
            return None
        return f"its setting {name} stands in their place; {{{{ system_prompt }}}} in it puts them there"

    async def __aenter__(self) -> Self:
        if self._batches is not None:
            raise RuntimeError("this adapter is in use already; build one for each run")
        self._batches = Batches(self._answers, size=self._batch_size, gather_s=self.gather_s)
        try:
            if self._lm is None:
                self._lm = await self._batches.in_its_thread(
                    lambda: made(self.model, self._own, self.model_args)
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
        told = rendered(template, template_variables(conversation, request)) if template else ""
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


class LmEvalSession:
    """One conversation with the model."""

    def __init__(
        self, adapter: LmEvalAdapter, batches: Batches[Question, Any], conversation: Conversation
    ) -> None:
        self._adapter = adapter
        self._batches = batches
        self._conversation = conversation

    async def ask(self, request: ChatRequest) -> ChatReply:
        try:
            text = await self._batches.put(self._adapter.question(self._conversation, request))
        except AdapterError:
            raise
        except Exception as error:  # whatever a stranger's model raises
            raise failure(error, self._adapter.model) from error
        if not isinstance(text, str) or not text.strip():
            raise AdapterReplyError(
                f'lm-eval\'s model "{self._adapter.model}" gave no text; a larger max_gen_toks in gen_kwargs '
                "helps where a model thinks before it answers"
            )
        return ChatReply(text=text.strip())
