"""
Rewriting by a chat system: any adapter, a prompt from a file, and a check of what comes back.

The model gets the recorded history and what the resolver reads the mentions as, never an answer of the
system under test. It is asked while a turn is planned, before the timed ask is due. The recorded history
depends on the data alone, so the same prompt is asked once for all systems.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from weakref import WeakValueDictionary

from replay.core.adapter import Adapter, ChatRequest
from replay.core.asking.limits import RateLimit
from replay.core.asking.retries import RetryingClient, RetryPolicy, open_all
from replay.core.asking.templating import TextTemplate
from replay.core.conversation import Conversation, Turn
from replay.core.drift_evidence import Mention, Reading
from replay.core.errors import AdapterError, Fault, PluginError, RewriteError, ScenarioError
from replay.core.history import gold_history
from replay.core.safety.consent import code_runs
from replay.core.settings.choice import LimitSection
from replay.core.settings.faults import nearest
from replay.core.settings.plugins import make
from replay.policies.rewrite import RewriteRequest

PATIENCE = RetryPolicy(timeout_s=30.0, attempts=3, retry_budget_s=30.0)
REMEMBERED_QUESTIONS = 8192
_MAX_CHARACTERS = 1000
_QUOTES = {'"': '"', "“": "”", "'": "'", "`": "`"}


@dataclass(slots=True, kw_only=True)
class LlmRewriter:
    """Asks a chat system to put questions so that they stand alone; an async context manager."""

    adapter: Adapter
    prompt: TextTemplate
    name: str
    """Adapter and settings, as the signature shows them."""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"temperature": 0})
    patience: RetryPolicy = PATIENCE
    limit: RateLimit | None = None
    max_words: int = 60
    _asker: RetryingClient = field(init=False)
    _answers: dict[str, str] = field(init=False, default_factory=dict)
    _locks: WeakValueDictionary[str, asyncio.Lock] = field(init=False, default_factory=WeakValueDictionary)
    _stack: AsyncExitStack = field(init=False, default_factory=AsyncExitStack)

    def __post_init__(self) -> None:
        self._asker = RetryingClient(self.patience, who="rewriter")

    @property
    def signature(self) -> str:
        parameters = json.dumps(dict(self.parameters), sort_keys=True)
        return f"llm({self.name},prompt:{_hash(self.prompt.text)},parameters:{_hash(parameters)})"

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(open_all([self.adapter]))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def rewrite(self, request: RewriteRequest) -> str:
        """
        Return the question that the model wrote, checked.

        Raises:
            RewriteError: no reply came, or one that can't be a question.
            RunStoppedError: the endpoint refuses our key and has answered nothing yet.
        """
        try:
            prompt = self.prompt.render(prompt_variables(request))
        except ValueError as error:
            raise RewriteError(f"the prompt can't be filled in: {error}") from error
        lock = self._locks.setdefault(prompt, asyncio.Lock())
        async with lock:  # several systems come to the same question at about the same time
            if prompt not in self._answers:
                answer = question_in_reply(await self._ask(prompt, request), self.max_words)
                if len(self._answers) >= REMEMBERED_QUESTIONS:
                    del self._answers[next(iter(self._answers))]
                self._answers[prompt] = answer
            return self._answers[prompt]

    async def _ask(self, prompt: str, request: RewriteRequest) -> str:
        ask = ChatRequest(question=prompt, history=(), depth=request.depth, parameters=self.parameters)
        # Neither gold answers nor passages: what the model is to know stands in the prompt.
        talk = request.conversation.id
        try:
            reply = await self._asker.reply(self, ask, about=talk, place=(talk, request.depth))
        except AdapterError as error:
            raise RewriteError(f"{error.outcome}: {error}") from error
        return reply.text


def llm_rewriter(
    *,
    adapter: str,
    folder: Path,
    settings: dict[str, Any] | None = None,
    prompt: Path | None = None,
    parameters: dict[str, Any] | None = None,
    timeout_s: float = PATIENCE.timeout_s,
    attempts: int = PATIENCE.attempts,
    limit: LimitSection | None = None,
    max_words: int = 60,
) -> LlmRewriter:
    """
    Return a rewriter from a scenario's settings.

    Args:
        adapter: The adapter of the model, as for a system.
        folder: The folder that relative paths start from.
        settings: The adapter's settings.
        prompt: A file with the prompt's template; ours by default.
        parameters: Sampling parameters; by default temperature 0.
        timeout_s: The time limit for an attempt, above 0, in seconds.
        attempts: Attempts for each question, at least 1.
        limit: The rate limit.
        max_words: The most words that a rewritten question may have, at least 1.

    Raises:
        ScenarioError: the adapter or the prompt can't be used.
        ValueError: a number is out of its range.
    """
    if timeout_s <= 0 or attempts < 1 or max_words < 1:
        raise ValueError("timeout_s must be above 0, attempts and max_words at least 1")
    made = _adapter(adapter, settings or {}, folder)
    identity = json.dumps([adapter, settings or {}], sort_keys=True, default=str)
    return LlmRewriter(
        adapter=made,
        prompt=_template(prompt),
        name=f"{adapter.rpartition('/')[2]}@{_hash(identity)}",
        parameters={"temperature": 0} if parameters is None else parameters,
        patience=replace(PATIENCE, timeout_s=timeout_s, attempts=attempts),
        limit=RateLimit(limit.asks, limit.per_s) if limit else None,
        max_words=max_words,
    )


def prompt_variables(request: RewriteRequest) -> dict[str, Any]:
    """
    Return the variables that a rewriter's prompt may use.

    ``question``, ``depth``, ``title``, ``section``, ``background``, ``history`` (recorded exchanges before
    the question, objects with ``question`` and ``answer``) and ``mentions`` (those of the question that the
    resolver has an antecedent for, objects with ``text``, ``kind``, ``meaning`` and ``source``; the text of
    an ellipsis, kind ``ellipsis``, is empty).
    """
    conversation = request.conversation
    history = gold_history(conversation, request.depth)
    return {
        "question": request.question,
        "depth": request.depth,
        "title": conversation.title,
        "section": conversation.section,
        "background": conversation.background,
        "history": [{"question": e.question, "answer": e.answer} for e in history],
        "mentions": [
            {
                "text": r.mention.text,
                "kind": r.mention.kind,
                "meaning": r.antecedent,
                "source": r.source,
            }
            for r in request.readings
            if r.antecedent
        ],
    }


def question_in_reply(reply: str, max_words: int) -> str:
    """
    Return the question in a model's *reply*, without quotation marks around it.

    Raises:
        RewriteError: there is none, or more than one line, or more than *max_words* words.
    """
    text = reply.strip()
    if len(text) > 1 and _QUOTES.get(text[0]) == text[-1] and text[0] not in text[1:-1]:
        text = text[1:-1].strip()
    if not any(c.isalnum() for c in text):
        raise RewriteError("the reply holds no question")
    if len(text.splitlines()) > 1:
        raise RewriteError(f"the reply has several lines: {_quote(text)}")
    if len(text.split()) > max_words or len(text) > _MAX_CHARACTERS:
        raise RewriteError(f"the reply is longer than {max_words} words or {_MAX_CHARACTERS} characters")
    return text


def _adapter(name: str, settings: Mapping[str, Any], folder: Path) -> Adapter:
    try:
        return make("adapters", name, settings, Adapter, folder=folder, key_path="settings")  # type: ignore[type-abstract]
    except PluginError as error:
        raise _fault("adapter", str(error)) from error


def _template(path: Path | None) -> TextTemplate:
    """
    Return the prompt in the file *path*, checked for misspelt variables.

    It is tried out where the scenario's code may run, and only read where it is looked at.
    """
    sample = prompt_variables(_SAMPLE)
    try:
        if path is None:
            text = resources.files("replay.policies").joinpath("prompts/rewrite.txt").read_text("utf-8")
        else:
            text = path.read_text("utf-8-sig")
        template = TextTemplate(text.strip())
        for unknown in sorted(template.names - sample.keys()):
            raise ValueError(f'there is no variable "{unknown}"{nearest(unknown, sample)}')
        if code_runs():
            template.render(sample)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise _fault("prompt", f'"{path}" can\'t be read: {reason}') from error
    except ValueError as error:
        raise _fault("prompt", f"{error} (variables: {', '.join(sample)})") from error
    return template


_SAMPLE = RewriteRequest(
    conversation=Conversation(
        id="sample",
        title="Title",
        turns=(
            Turn(id="1", question="Who sang?", gold_answers=("Ann Lee.",)),
            Turn(id="2", question="Who taught her?"),
        ),
    ),
    depth=2,
    readings=(
        Reading(
            mention=Mention(start=11, end=14, text="her", kind="she"), antecedent="Ann Lee", source="name"
        ),
    ),
)


def _fault(path: str, message: str) -> ScenarioError:
    return ScenarioError("settings", [Fault(path=path, message=message)])


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _quote(text: str) -> str:
    line = " ".join(text.split())
    return f'"{line if len(line) <= 80 else line[:77] + "..."}"'
