"""Messages, calls of tools, replies and failures in Inspect's words and in ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

from replay import (
    AdapterConnectionError,
    AdapterError,
    AdapterRefusedError,
    AdapterTimeoutError,
    ChatReply,
    ChatRequest,
    Message,
    TokenLogprobs,
    ToolCall,
    Usage,
    WireTimes,
    instructions,
    json_text,
    match_results,
    question_messages,
)
from replay_adapters.http.failures import status_error

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, Model, ModelOutput


CONFIG_NAMES = {"max_completion_tokens": "max_tokens", "n": "num_choices", "stop": "stop_seqs"}
"""What Inspect's generation settings call some of Chat Completions' fields; others are called alike."""


class ShapedMessages:
    """A conversation's messages in Inspect's form: the same object each time, so that logs keep it once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Message, int], ChatMessage] = {}

    def of(self, messages: Sequence[Message]) -> list[ChatMessage]:
        """Return *messages* as messages of Inspect, in order."""
        seen: dict[Message, int] = {}
        shaped = []
        for message in messages:
            seen[message] = count = seen.get(message, 0) + 1
            if (message, count) not in self._known:
                self._known[message, count] = _convert_message(message)
            shaped.append(self._known[message, count])
        return shaped


def _convert_message(message: Message) -> ChatMessage:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageTool, ChatMessageUser
    from inspect_ai.tool import ToolCall as Call

    if message.role == "user":
        return ChatMessageUser(content=message.text)
    if message.role == "tool":
        return ChatMessageTool(content=message.text, tool_call_id=message.tool_call_id, function=message.name)
    if message.role != "assistant":
        return ChatMessageSystem(content=message.text)
    calls = []
    for call in message.tool_calls:
        arguments = call.parsed_arguments
        readable = isinstance(arguments, dict)
        calls.append(
            Call(
                id=call.id,
                function=call.name,
                arguments=arguments if readable else {},
                parse_error=None if readable else f"no JSON object: {call.arguments}",
            )
        )
    return ChatMessageAssistant(content=message.text, tool_calls=calls or None)


def shown_history(request: ChatRequest, *, own_prompt: bool) -> Iterator[Message]:
    """
    Yield the messages that *request* shows before its question.

    With an *own_prompt* no recorded instruction is shown. An exchange with a blank answer is left out, but
    for its instructions: several providers refuse an empty message.
    """
    for exchange in request.history:
        blank = not exchange.question_only and not exchange.answer.strip()
        for message in instructions(exchange.asked_with) if blank else exchange.messages:
            if not (own_prompt and instructions([message])):
                yield message


def shown_question(request: ChatRequest, *, own_prompt: bool) -> list[Message]:
    """Return the messages that put *request*'s question, without what followed it so far."""
    asked = question_messages(request.question, request.asked_with)
    return [message for message in asked if not (own_prompt and instructions([message]))]


def config_fields(parameters: Mapping[str, Any], known: set[str]) -> dict[str, Any]:
    """Return a request's *parameters* as generation settings; others than the *known* go into the body."""
    named = {CONFIG_NAMES.get(name, name): value for name, value in parameters.items()}
    if isinstance(named.get("stop_seqs"), str):
        named["stop_seqs"] = [named["stop_seqs"]]
    fields = {name: value for name, value in named.items() if name in known}
    rest = {name: value for name, value in named.items() if name not in known}
    return {**fields, "extra_body": rest} if rest else fields


def calls_of(message: Any, earlier: Sequence[Message]) -> tuple[ToolCall, ...]:
    """
    Return the calls in an assistant's *message*.

    *earlier* are the messages before it since the question.
    """
    calls = tuple(
        ToolCall(id=call.id or "", name=call.function, arguments=json_text(call.arguments))
        for call in message.tool_calls or ()
    )
    return match_results((*earlier, Message(role="assistant", tool_calls=calls)))[-1].tool_calls


def steps_in(messages: Sequence[ChatMessage]) -> tuple[Message, ...]:
    """Return an agent's steps from its *messages* since the question, which don't include the answer."""
    steps: list[Message] = []
    for message in messages:
        if message.role == "assistant":
            steps.append(Message(role="assistant", text=message.text, tool_calls=calls_of(message, steps)))
        elif message.role == "tool":
            steps.append(
                Message(
                    role="tool",
                    text=message.text,
                    tool_call_id=message.tool_call_id,
                    name=message.function,
                )
            )
    return match_results(steps)


def reply_of(output: ModelOutput, request: ChatRequest, steps: tuple[Message, ...] = ()) -> ChatReply:
    """
    Return *output* as the answer to *request*, which may have no text.

    *steps* are what an agent did before.
    """
    done = perf_counter()
    return ChatReply(
        text=output.completion,
        tool_calls=calls_of(output.message, request.steps) if output.choices and not steps else (),
        steps=steps,
        # The last output's alone: of an agent's other calls nobody says what they took.
        usage=None if steps else usage_of(output),
        cost_usd=output.usage.total_cost if output.usage and not steps else None,
        # Without the time that the provider's client waited for a free connection.
        times=None if output.time is None or steps else WireTimes(sent=done - output.time, done=done),
        logprobs=_logprobs(output),
        raw=output.model_dump_json(exclude_none=True).encode() if request.keep_raw else None,
    )


def usage_of(output: ModelOutput) -> Usage | None:
    """Return the token counts of *output*, with cached prompt tokens added to those of the prompt."""
    told = output.usage
    if told is None:
        return None
    cached = told.input_tokens_cache_read
    prompt = told.input_tokens + (cached or 0) + (told.input_tokens_cache_write or 0)
    return Usage(prompt_tokens=prompt, completion_tokens=told.output_tokens, cached_prompt_tokens=cached)


def _logprobs(output: ModelOutput) -> tuple[TokenLogprobs, ...] | None:
    told = output.choices[0].logprobs if output.choices else None
    if told is None:
        return None
    return tuple(
        TokenLogprobs(
            token=one.token,
            logprob=one.logprob,
            top=tuple((top.token, top.logprob) for top in one.top_logprobs or ()),
        )
        for one in told.content
    )


def failure(error: Exception, who: str, model: Model | None) -> AdapterError:
    """
    Return the adapter error for *error*, which a provider or an agent raised.

    Args:
        error: The exception.
        who: The name of the model or agent.
        model: The model, which knows what errors to retry; None for an agent.
    """
    first = next((one for one in _causes(error) if type(one).__name__ != "RetryError"), error)
    told = f'"{who}" raised {one_line(first)}'
    status = next((one.status_code for one in _causes(error) if _has_status(one)), None)
    if status is not None:
        wrong_key = "; check the key that its provider reads"
        step = {429: "; ask less often", 401: wrong_key, 403: wrong_key}.get(status, "")
        return status_error(status, told + step)
    # By their names: each provider's library has timeouts and broken connections of its own.
    names = [name.__name__ for one in _causes(error) for name in type(one).__mro__]
    if any("Timeout" in name for name in names):
        return AdapterTimeoutError(told, retryable=True)
    if any("Connect" in name for name in names) or (model is not None and model.should_retry(error)):
        return AdapterConnectionError(told, retryable=True)
    return AdapterRefusedError(told)


def _causes(error: BaseException) -> list[Any]:
    found: list[Any] = []
    now: BaseException | None = error
    while now is not None and now not in found:
        found.append(now)
        now = now.__cause__ or now.__context__
    return found


def _has_status(error: Any) -> bool:
    return isinstance(getattr(error, "status_code", None), int)


def one_line(error: BaseException) -> str:
    """Return *error* on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:500]}"
