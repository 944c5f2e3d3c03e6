"""
A chain behind LangServe, as its README has it, with the history in its input; and the same as a plain text.

    python benchmarks/langserve_chain.py PORT

Run by the interpreter of an environment with langserve; ``interop.py`` starts it. A question with the word
"fail" fails.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from typing import Annotated, Any

import uvicorn
from fastapi import Body, FastAPI
from fastapi.responses import StreamingResponse
from langchain_core.runnables import RunnableGenerator
from langserve import add_routes


async def answer(inputs: AsyncIterator[dict[str, Any]]) -> AsyncIterator[str]:
    async for given in inputs:
        if "fail" in given["question"]:
            raise RuntimeError("the archive is closed")
        before = len(given["history"])
        said = f"After {before} exchanges: the museum stands in Brackwater's harbour, naïvely said."
        for word in said.split(" "):
            yield word + " "


chain = RunnableGenerator(answer)
app = FastAPI()
add_routes(app, chain, path="/museum")


@app.post("/text")
async def text(given: Annotated[dict[str, Any], Body()]) -> StreamingResponse:
    return StreamingResponse(chain.astream(given), media_type="text/plain")


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
