"""Judges on this machine, behind real HTTP: good ones, and all the others."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.adapters.servers import answering, completion
from tests.waiting import takes

Reply = str | Mapping[str, float] | web.Response | None
"""A text, a distribution of first tokens, a whole response, or None for a request that hangs."""


@dataclass
class JudgeServer:
    """What a judge is told to reply, and what it was asked."""

    reply: Callable[[str, int], Reply]
    """Takes the prompt and the number of the ask, from 1."""
    address: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    at_a_time: int = 0
    most_at_a_time: int = 0
    delay_s: float = 0.0
    gives_logprobs: bool = True

    @property
    def prompts(self) -> list[str]:
        return [body["messages"][-1]["content"] for body in self.bodies]

    def settings(self, **changes: Any) -> dict[str, Any]:
        """An ``adapter`` with its settings, as in a scenario."""
        return {"adapter": "openai", "settings": {"base_url": f"{self.address}/v1", "model": "m", **changes}}

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        self.at_a_time += 1
        self.most_at_a_time = max(self.at_a_time, self.most_at_a_time)
        try:
            reply = self.reply(body["messages"][-1]["content"], len(self.bodies))
            await takes(self.delay_s)
            if reply is None:
                await asyncio.get_running_loop().create_future()
            return (
                reply if isinstance(reply, web.Response) else web.json_response(self._completion(reply, body))
            )
        finally:
            self.at_a_time -= 1

    def _completion(self, reply: str | Mapping[str, float] | None, body: Mapping[str, Any]) -> dict[str, Any]:
        usage = {"prompt_tokens": 100, "completion_tokens": 2}
        chances = reply if isinstance(reply, Mapping) else {str(reply): 1.0}
        text = next(iter(chances))
        said = completion(text, usage=usage)
        if body.get("logprobs") and self.gives_logprobs:
            top = [{"token": token, "logprob": math.log(chance)} for token, chance in chances.items()]
            content = [{**top[0], "top_logprobs": top[: body.get("top_logprobs", 0)]}]
            said["choices"][0]["logprobs"] = {"content": content}
        return said


@asynccontextmanager
async def judge_server(
    reply: Callable[[str, int], Reply] | Reply, **settings: Any
) -> AsyncIterator[JudgeServer]:
    """A server that replies as *reply* says, to whatever it is asked if that isn't a function."""
    judge = JudgeServer(reply if callable(reply) else lambda prompt, number: reply, **settings)
    async with answering(judge.answer) as address:
        judge.address = address
        yield judge


def limited(retry_after_s: float = 0) -> web.Response:
    """Status 429."""
    headers = {"Retry-After": str(retry_after_s)}
    return web.json_response({"error": {"message": "slow down"}}, status=429, headers=headers)


def broken(status: int = 500) -> web.Response:
    """A server's own fault."""
    return web.json_response({"error": {"message": "oh no"}}, status=status)
