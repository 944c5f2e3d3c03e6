"""
The search of the study's passages: a page of its own, of which the screen's script takes what was found.

It is there for whoever has a screen with an index open, and for nobody before their talk is over.
"""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from replay.study.running.flow import Flow
from replay.study.tasks import Rater


async def search_passages(request: web.Request, flow: Flow, rater: Rater) -> dict[str, Any]:
    """
    What the search page shows of what *request* looks for (``words``, ``page``).

    Raises:
        web.HTTPNotFound: *rater* has no index to search now.
    """
    index = await asyncio.to_thread(flow.index, rater)
    if index is None:
        raise web.HTTPNotFound(reason="there is nothing to search now; go back to your task")
    words, page = request.query.get("words", "").strip()[:500], request.query.get("page", "1")
    found = await asyncio.to_thread(
        flow.store.index.search,
        words,
        of=index.conversation,
        page=int(page) if page.isascii() and page.isdecimal() and len(page) < 7 else 1,
    )
    return {"index": index, "words": words, "found": found}
