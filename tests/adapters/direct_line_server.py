"""A Direct Line 3.0 service with one bot behind it, by Microsoft's description of the API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.adapters.servers import running

Activity = dict[str, Any]


@dataclass
class Talk:
    """One conversation: what was sent in it, by whom, and who listens."""

    id: str
    activities: list[Activity] = field(default_factory=list)
    listener: web.WebSocketResponse | None = None
    streams: int = 0
    asked: list[str] = field(default_factory=list)

    async def send(self, activity: Activity) -> Activity:
        """Add *activity*; the stream gets it at once."""
        sent = {"id": f"{self.id}|{len(self.activities):07}", "from": {"id": "bot"}} | activity
        if sent["type"] != "typing" or self.listener:
            self.activities.append(sent)
        if self.listener is not None and not self.listener.closed:
            await self.listener.send_json(self.since(len(self.activities) - 1))
        return sent

    def since(self, watermark: int) -> dict[str, Any]:
        """The activity set after *watermark*."""
        return {"activities": self.activities[watermark:], "watermark": str(len(self.activities))}


Bot = Callable[[Talk, Activity], Awaitable[None]]


class DirectLineService:
    """Serves *bot*; its doors are open to *secret*, or to everybody."""

    def __init__(
        self,
        bot: Bot,
        *,
        secret: str | None = None,
        welcome: str | None = None,
        expires_in: float = 1800,
        has_streams: bool = True,
        at: str = "/v3/directline",
    ) -> None:
        self.bot = bot
        self.secret = secret
        self.welcome = welcome
        self.expires_in = expires_in
        self.has_streams = has_streams
        self.at = at
        self.talks: dict[str, Talk] = {}
        self.tokens: dict[str, str] = {}
        """Conversation by token; refreshed ones are invalid."""
        self.users: dict[str, str] = {}
        """User by conversation, where a token was made for one."""
        self.requests: list[str] = []
        self.asked_over: list[asyncio.BaseTransport | None] = []
        """The connections that questions came over."""
        self._handling: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        app = web.Application(middlewares=[self._door])
        at = self.at
        app.router.add_post(f"{at}/tokens/generate", self._generate)
        app.router.add_post(f"{at}/tokens/refresh", self._refresh)
        app.router.add_post(f"{at}/conversations", self._start)
        app.router.add_get(f"{at}/conversations/{{id}}", self._reconnect)
        app.router.add_post(f"{at}/conversations/{{id}}/activities", self._post)
        app.router.add_get(f"{at}/conversations/{{id}}/activities", self._get)
        app.router.add_get(f"{at}/conversations/{{id}}/stream", self._stream)
        try:
            async with running(app) as address:
                yield address
        finally:
            for task in self._handling:
                task.cancel()
            await asyncio.gather(*self._handling, return_exceptions=True)

    def later(self, work: Awaitable[None]) -> None:
        """Let the bot go on after its handler returned."""

        async def do() -> None:
            await work

        task = asyncio.create_task(do())
        self._handling.add(task)
        task.add_done_callback(self._handling.discard)

    @web.middleware
    async def _door(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.requests.append(f"{request.method} {request.path.removeprefix(self.at)}")
        given = _key(request)
        if request.path.endswith("/stream"):
            given = request.query["t"]  # preauthorized
        conversation = self.tokens.get(given)
        if self.secret not in (None, given) and conversation is None:
            return _error(403, "BadArgument", f"invalid token or secret {given}")
        id = request.match_info.get("id")
        if conversation is not None and id not in (None, conversation):
            return _error(403, "BadArgument", "token not valid for this conversation")
        if id is not None and id not in self.talks:
            return _error(404, "BadArgument", "no such conversation")
        response: web.StreamResponse = await handler(request)
        return response

    def _conversation(self, request: web.Request, id: str, *, status: int = 200) -> web.Response:
        token = f"token-{len(self.tokens)}-of-{id}"
        self.tokens[token] = id
        stream = f"ws://{request.host}{self.at}/conversations/{id}/stream?t={token}"
        if "watermark" in request.query:
            stream += f"&watermark={request.query['watermark']}"
        body = {"conversationId": id, "token": token, "expires_in": self.expires_in}
        if self.has_streams:
            body["streamUrl"] = stream
        return web.json_response(body, status=status)

    async def _generate(self, request: web.Request) -> web.Response:
        id = f"talk{len(self.users)}"
        self.users[id] = (await request.json())["user"]["id"]
        return self._conversation(request, id)

    async def _refresh(self, request: web.Request) -> web.Response:
        return self._conversation(request, self.tokens.pop(_key(request)))

    async def _start(self, request: web.Request) -> web.Response:
        id = self.tokens.get(_key(request)) or f"talk{len(self.talks)}"
        talk = self.talks.setdefault(id, Talk(id))
        if self.welcome is not None:
            await talk.send({"type": "message", "text": self.welcome, "replyToId": "update-of-members"})
        return self._conversation(request, id, status=201)

    async def _reconnect(self, request: web.Request) -> web.Response:
        return self._conversation(request, request.match_info["id"])

    async def _post(self, request: web.Request) -> web.Response:
        talk = self.talks[request.match_info["id"]]
        self.asked_over.append(request.transport)
        activity = await request.json()
        assert activity["from"]["id"] == self.users.get(talk.id, activity["from"]["id"])
        sent = await talk.send(activity)
        try:
            await self.bot(talk, sent)
        except RuntimeError:
            return _error(502, "BotRejectedActivity", "Failed to send activity: bot returned an error")
        return web.json_response({"id": sent["id"]})

    async def _get(self, request: web.Request) -> web.Response:
        talk = self.talks[request.match_info["id"]]
        return web.json_response(talk.since(int(request.query.get("watermark", 0))))

    async def _stream(self, request: web.Request) -> web.WebSocketResponse:
        talk = self.talks[request.match_info["id"]]
        socket = web.WebSocketResponse(timeout=0.1)
        await socket.prepare(request)
        talk.listener = socket
        talk.streams += 1
        await socket.send_str("")  # "the connection is still valid"
        await socket.send_json(talk.since(int(request.query.get("watermark", 0))))
        async for _ in socket:
            pass
        return socket


def _key(request: web.Request) -> str:
    return request.headers.get("Authorization", "").removeprefix("Bearer ")


def _error(status: int, code: str, message: str) -> web.Response:
    return web.json_response({"error": {"code": code, "message": message}}, status=status)
