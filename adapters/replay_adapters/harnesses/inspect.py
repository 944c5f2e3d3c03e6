"""
A model or an agent of Inspect (https://inspect.aisi.org.uk) as a system: whatever its providers reach.

Waiting, asking again and how many are asked at a time are the scenario's to say, once: a model that is made
here asks once and has as many connections as it is asked for. The model of an eval in which we play
(``replay.integrations.inspect``) keeps all of that, and its errors go through to Inspect as they are.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from replay import (
    AdapterError,
    AdapterRefusedError,
    AdapterReplyError,
    ChatReply,
    ChatRequest,
    Conversation,
    HistoryKeeper,
    Message,
    TextTemplate,
    load_object,
    template_variables,
)
from replay_adapters.harnesses.inspect_messages import (
    ShapedMessages,
    config_fields,
    failure,
    one_line,
    reply_of,
    shown_history,
    shown_question,
    steps_in,
)
from replay_adapters.http.request import render_template
from replay_adapters.setting_checks import check_variables, replaced_system_prompts

if TYPE_CHECKING:
    from inspect_ai.agent import Agent
    from inspect_ai.model import ChatMessage, Model, ModelOutput
    from inspect_ai.tool import ToolInfo


def made_agent(named: str, args: Mapping[str, Any], folder: Path) -> Agent:
    """
    Return the agent that *named* names, made with *args*.

    Raises:
        ValueError: there is no such agent, or it doesn't take *args*.
    """
    from inspect_ai.agent import is_agent
    from inspect_ai.util import registry_create

    file, _, name = named.replace("@", ":").rpartition(":")
    try:
        made = (
            load_object(f"{file}:{name}", folder)(**args) if file else registry_create("agent", name, **args)
        )
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f'agent "{named}" can\'t be made: {one_line(error)}') from error
    if not is_agent(made):
        raise ValueError(f'agent "{named}" is none; it is made by a function that has the decorator @agent')
    return made


def tool_info(tool: Mapping[str, Any], at: str) -> ToolInfo:
    """
    Return the tool, given as in Chat Completions, in Inspect's form.

    Raises:
        ValueError: *tool* is not as Chat Completions have it.
    """
    from inspect_ai.tool import ToolInfo, ToolParams

    function = tool.get("function", tool)
    try:
        return ToolInfo(
            name=function["name"],
            description=function.get("description") or function["name"],
            parameters=ToolParams(**function.get("parameters") or {}),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{at} is no tool ({one_line(error)}); expected as in Chat Completions, {{type: function, "
            "function: {name: ..., parameters: {type: object, properties: {...}}}}"
        ) from error


def check_config(fields: Mapping[str, Any]) -> None:
    """
    Make sure that *fields* are generation settings of Inspect.

    Raises:
        ValueError: there is no such generation setting, or it has another value.
    """
    from inspect_ai.model import GenerateConfig

    known = list(GenerateConfig.model_fields)
    for name in fields:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f'; did you mean "{near[0]}"?' if near else ""
            raise ValueError(f"config.{name} is no generation setting of Inspect{hint}")
    try:
        GenerateConfig(**fields)
    except ValueError as error:
        raise ValueError(f"config: {one_line(error)}") from error


OURS = {"max_retries": 0, "max_connections": 10_000}
"""Generation settings without which a model would ask again and queue by itself, unseen by the run."""
HERE = ("hf", "llama-cpp-python", "mockllm", "none", "nnterp", "transformer_lens")
"""Providers that ask no host."""


@dataclass(kw_only=True)
class InspectAdapter:
    """One model, or one agent with its own loop of tools."""

    model: str | None = None
    """As Inspect calls it, ``openai/gpt-4o``; without it, the model of the eval in which it is played. Keys
    are read from the environment, as each provider has it."""
    agent: str | None = None
    """``file.py@name``, or the name of an installed one, in place of a model."""
    agent_args: Mapping[str, Any] = field(default_factory=dict)
    """What the agent is made with."""
    base_url: str | None = None
    """Where the model's provider is, in place of its usual address."""
    model_args: Mapping[str, Any] = field(default_factory=dict)
    """What else the provider takes."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Generation settings, as in ``temperature: 0``."""
    system: str | None = None
    """Template of the system message, in place of the recorded system prompts."""
    tools: Sequence[Mapping[str, Any]] = ()
    """Those that the model is offered, as Chat Completions have them."""
    folder: Path = Path()
    """Where an agent's file is looked for."""

    def __post_init__(self) -> None:
        try:
            import inspect_ai  # noqa: F401
        except ImportError as error:
            raise ValueError('needs pip install "convreplay[inspect]"') from error
        check_variables(self.system or "", "system")
        self._system = TextTemplate(self.system) if self.system else None
        self._tools = [tool_info(tool, f"tools[{number}]") for number, tool in enumerate(self.tools)]
        check_config(self.config)
        self._agent: Agent | None = None
        self._opened: Model | None = None
        if self.agent is not None:
            for name in ("model", "base_url", "model_args", "config", "tools"):
                if getattr(self, name):
                    raise ValueError(f"{name} can't be set for an agent; give it what it takes in agent_args")
            self._agent = made_agent(self.agent, self.agent_args, self.folder)
        elif self.model is not None:
            self._make_model()  # so that a name or a missing key is found before anything is asked

    def _make_model(self) -> Model:
        """
        Raises:
            ValueError: there is no such model, or its provider lacks something.
        """
        from inspect_ai.model import GenerateConfig, get_model

        # Not Inspect's remembered one: its client belongs to the event loop that used it first.
        config = GenerateConfig(**{**OURS, **self.config})
        try:
            model = get_model(
                self.model, config=config, base_url=self.base_url, memoize=False, **self.model_args
            )
        except Exception as error:  # whatever a provider's library raises
            raise ValueError(f'model "{self.model}": {one_line(error)}') from error
        client: Any = getattr(model.api, "client", None)
        if hasattr(client, "max_retries") and "max_retries" not in self.model_args:
            client.max_retries = 0  # those of OpenAI and Anthropic ask twice more, beneath Inspect
        return model

    @property
    def history(self) -> HistoryKeeper:
        return "client"

    @property
    def takes_parameters(self) -> bool:
        """They become generation settings."""
        return self.agent is None

    @property
    def takes_seed(self) -> bool:
        return self.agent is None

    @property
    def local_code(self) -> str | None:
        """The agent's file."""
        return self.agent if self.agent and ".py" in self.agent else None

    @property
    def hosts(self) -> tuple[str, ...]:
        """The provider's, by its name where Inspect knows the address."""
        provider = (self.model or "").partition("/")[0]
        return () if self.base_url or not provider or provider in HERE else (f"https://{provider}",)

    @property
    def unsent_system_prompts(self) -> str | None:
        return replaced_system_prompts(self._system, "system")

    async def __aenter__(self) -> Self:
        if self.model is not None:
            self._opened = self._make_model()
        return self

    async def __aexit__(self, *error: Any) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.__aexit__(*error)

    @asynccontextmanager
    async def session(self, conversation: Conversation) -> AsyncIterator[InspectSession]:
        yield InspectSession(self, conversation)

    async def outcome(
        self, messages: list[ChatMessage], request: ChatRequest
    ) -> tuple[ModelOutput, list[ChatMessage]]:
        """
        Return the output for *messages*, and the messages that an agent added before it.

        Raises:
            AdapterError: there is no output. A failure of an eval's own model is raised as it is.
        """
        from inspect_ai.model import GenerateConfig

        try:
            if self._agent is not None:
                return await _run_agent(self._agent, messages)
            model = self._opened or self._active()
            fields = config_fields(request.parameters, set(GenerateConfig.model_fields))
            config = GenerateConfig(**{**self.config, **fields})
            return await model.generate(messages, tools=self._tools, config=config), []
        except AdapterError:
            raise
        except Exception as error:  # whatever a provider's library raises
            if self._opened is None and self._agent is None:
                raise
            raise failure(error, self.agent or self.model or "", self._opened) from error

    def _active(self) -> Model:
        """
        Raises:
            AdapterRefusedError: no eval is running.
        """
        from inspect_ai.model import get_model

        try:
            return get_model()
        except ValueError as error:
            raise AdapterRefusedError(
                "there is no model: name one in the settings, as in model: openai/gpt-4o, or play within "
                "an eval (inspect eval replay/conversations)",
                reached=False,
            ) from error


class InspectSession:
    """One conversation; nothing is remembered of it but the form of its messages."""

    def __init__(self, adapter: InspectAdapter, conversation: Conversation) -> None:
        self._adapter = adapter
        self._conversation = conversation
        self._shaped = ShapedMessages()
        self._own: list[ChatMessage] = []
        """The model's messages of the turn under way: with the reasoning that it wants to see again."""
        self.last: list[ChatMessage] = []
        """What the last ask was about, from its question on, and what came back of it."""
        self.output: ModelOutput | None = None
        """Whole, of the last ask."""

    async def ask(self, request: ChatRequest) -> ChatReply:
        adapter = self._adapter
        own_prompt = adapter._system is not None
        if not request.steps:
            self._own = []
        before = [*self._prompt(request), *shown_history(request, own_prompt=own_prompt)]
        since = [*shown_question(request, own_prompt=own_prompt), *request.steps]
        shaped = self._shaped.of([*before, *since])
        said = iter(self._own)
        asked = [
            next(said, one) if one.role == "assistant" and place >= len(since) - len(request.steps) else one
            for place, one in enumerate(shaped[len(before) :])
        ]
        self.last = asked
        output, added = await adapter.outcome([*shaped[: len(before)], *asked], request)
        self.output = output
        if output.choices:
            self._own.append(output.message)
            self.last = [*asked, *(added or [output.message])]
        reply = reply_of(output, request, steps_in(added[:-1]))
        if not reply.text.strip() and not reply.tool_calls:
            raise _without_text(output, adapter.agent or adapter.model or output.model)
        return reply

    def _prompt(self, request: ChatRequest) -> list[Message]:
        template = self._adapter._system
        if template is None:
            return []
        text = render_template(template, template_variables(self._conversation, request))
        return [Message(role="system", text=text)] if text.strip() else []


async def _run_agent(agent: Agent, messages: list[ChatMessage]) -> tuple[ModelOutput, list[ChatMessage]]:
    from inspect_ai.agent import run

    state = await run(agent, messages)
    # By their ids: an agent may put a prompt of its own before ours.
    given = {message.id for message in messages}
    return state.output, [m for m in state.messages if m.id not in given and m.role != "system"]


def _without_text(output: ModelOutput, who: str) -> AdapterReplyError:
    why = output.error or (f"stop_reason {output.stop_reason}" if output.choices else "no choices")
    cut = output.choices and output.stop_reason in ("max_tokens", "model_length")
    step = "raise config.max_tokens" if cut else "its provider's log may say why"
    return AdapterReplyError(f'"{who}" answered without a text ({why}); {step}')
