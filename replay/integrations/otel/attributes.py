"""What spans and events say, in the names of the conventions and in our own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from replay.core.message import Message
from replay.core.record import TurnRecord
from replay.scenario.sections import SystemSection

Attributes = dict[str, Any]
SENT_AS = ("temperature", "top_p", "top_k", "max_tokens", "frequency_penalty", "presence_penalty")
"""Settings of a model that the conventions have as ``gen_ai.request.*``."""


def known(attributes: Mapping[str, Any]) -> Attributes:
    """Return the *attributes* that have a value, with texts that can be encoded for sending."""
    return {
        name: encodable(value) if isinstance(value, str) else value
        for name, value in attributes.items()
        if value is not None
    }


def encodable(text: str) -> str:
    """
    Return *text* with a question mark for each half of a surrogate pair, which Protocol Buffers can't hold.
    """
    return text.encode("utf-8", "replace").decode()


def place_attributes(record: TurnRecord, run_name: str) -> Attributes:
    """
    Return the attributes that identify a play.

    Its ``gen_ai.conversation.id`` is unique to the play, since others replay the same conversation.
    """
    session = f"{record.conversation}/{record.system}/{record.policy}/{run_name}"
    return {
        "gen_ai.conversation.id": session,
        "convreplay.conversation.id": record.recorded_conversation,
        "convreplay.system": record.system,
        "convreplay.policy": record.policy,
        "convreplay.repeat": record.repeat,
    }


def system_attributes(system: SystemSection) -> Attributes:
    """Return the attributes that the conventions define for a *system*, as far as its settings give them."""
    settings = system.settings
    extra = settings.get("extra")
    given = {**(extra if isinstance(extra, Mapping) else {}), **settings}
    found: Attributes = {"gen_ai.provider.name": system.adapter.partition(":")[0]}
    if isinstance(model := settings.get("model"), str):
        found["gen_ai.request.model"] = model
    for name in SENT_AS:
        value = given.get(name)
        if isinstance(value, int | float):
            found[f"gen_ai.request.{name}"] = value if name == "max_tokens" else float(value)
    address = settings.get("base_url", settings.get("url"))
    try:
        parts = urlsplit(address if isinstance(address, str) else "")
        host, port = parts.hostname, parts.port
    except ValueError:  # a template in the place of the port
        return found
    if host and "{" not in host:
        found["server.address"] = host
        found["server.port"] = port or (443 if parts.scheme in ("https", "wss") else 80)
    return found


def message_parts(message: Message) -> dict[str, Any]:
    """Return *message* as the conventions' JSON schema has it."""
    parts: list[dict[str, Any]] = []
    if message.role == "tool":
        given = {"id": message.tool_call_id} if message.tool_call_id else {}
        parts.append({"type": "tool_call_response", **given, "response": message.text})
    elif message.text or not message.tool_calls:
        parts.append({"type": "text", "content": message.text})
    for call in message.tool_calls:
        arguments = call.parsed_arguments
        parts.append({"type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments})
    return {"role": message.role, "parts": parts}
