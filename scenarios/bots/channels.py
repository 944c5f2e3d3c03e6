"""
A bot behind three channels, for `websocket.yaml`, `rasa.yaml` and `botframework.yaml` to talk to.

    python channels.py --port 8080

It stands in for a deployed assistant on this machine: a WebSocket that streams words (/websocket), Rasa's
REST channel (/webhooks/rest/webhook) and Direct Line 3.0 by polling (/v3/directline). The bot remembers each
session, and is told the passages along with the question, since it has no documents of its own.
"""

import argparse
import asyncio
import contextlib
from uuid import uuid4

from aiohttp import web
from line_bot import answer

sessions = {}
"""What was asked and answered, by session."""
sent = {}
"""Direct Line's activities, by conversation."""


def remembered_answer(session, question, passages):
    history = sessions.setdefault(session, [])
    said = answer(question, history, passages)
    history.append({"question": question, "answer": said})
    return said


async def websocket(request):
    socket = web.WebSocketResponse(heartbeat=30)
    await socket.prepare(request)
    session = uuid4().hex
    async for message in socket:
        body = message.json()
        await socket.send_json({"type": "typing"})
        for word in remembered_answer(session, body["question"], body["passages"]).split(" "):
            await socket.send_json({"type": "word", "text": word + " "})
        await socket.send_json({"type": "end"})
    del sessions[session]
    return socket


async def rasa(request):
    body = await request.json()
    said = remembered_answer(body["sender"], body["message"], body["metadata"]["passages"])
    return web.json_response([{"recipient_id": body["sender"], "text": said}])


async def start(request):
    conversation = uuid4().hex
    sent[conversation] = []
    return web.json_response({"conversationId": conversation}, status=201)


async def post(request):
    conversation = request.match_info["id"]
    activities = sent[conversation]

    def add(activity):
        activities.append({**activity, "id": f"{conversation}|{len(activities):07}"})
        return activities[-1]["id"]

    asked = await request.json()
    id = add(asked)
    said = remembered_answer(conversation, asked["text"], asked["channelData"]["passages"])
    reply = {"type": "message", "from": {"id": "bot"}, "replyToId": id, "text": said}
    add({**reply, "inputHint": "expectingInput"})
    return web.json_response({"id": id})


async def get(request):
    activities = sent[request.match_info["id"]]
    since = int(request.query.get("watermark", 0))
    return web.json_response({"activities": activities[since:], "watermark": str(len(activities))})


async def serve(port):
    app = web.Application()
    app.router.add_get("/websocket", websocket)
    app.router.add_post("/webhooks/rest/webhook", rasa)
    app.router.add_post("/v3/directline/conversations", start)
    app.router.add_post("/v3/directline/conversations/{id}/activities", post)
    app.router.add_get("/v3/directline/conversations/{id}/activities", get)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        print(f"listening on http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A bot behind three channels.")
    parser.add_argument("--port", type=int, default=8080)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(parser.parse_args().port))
