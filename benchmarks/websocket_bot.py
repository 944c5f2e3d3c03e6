"""
A bot on a ``websockets`` server, for ``interop.py``: greets, then answers each question in four pieces.

Run in an environment with websockets; prints its port. A question that holds "close" closes the connection.
"""

from __future__ import annotations

import asyncio
import json

from websockets.asyncio.server import ServerConnection, serve


async def talk(connection: ServerConnection) -> None:
    await connection.send(json.dumps({"type": "greeting"}))
    asked = 0
    async for frame in connection:
        asked += 1
        question = json.loads(frame)["question"]
        if "close" in question:
            await connection.close(1011, "told to")
            return
        for piece in ("Question ", str(asked), " was: ", question):
            await connection.send(json.dumps({"type": "piece", "text": piece}))
            await asyncio.sleep(0.002)
        await connection.send(json.dumps({"type": "end"}))


async def main() -> None:
    async with serve(talk, "127.0.0.1", 0) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
