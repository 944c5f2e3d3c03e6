"""
To whom the viewer shows anything: whoever comes by its own name with its token, from the link or a cookie.

The link's token goes into a cookie that scripts can't read, and out of the address, where it would be seen
over a shoulder and kept in the browser's history. ``Lax``, since a link that is opened out of another page
(a terminal in a browser) has to work, and nothing here can be changed by asking for it.
"""

from __future__ import annotations

from aiohttp import web

from replay.core.server_access import bearer, is_own_name, is_token

STATIC = "/static/"
"""Below it is what comes with every installation, and nothing of a run."""


def access_error(request: web.Request, token: str | None) -> web.Response | None:
    """
    What *request* gets in the place of a page; None where it may have that.

    Raises:
        web.HTTPException: it may have nothing.
    """
    transport = request.transport
    address, port = transport.get_extra_info("sockname")[:2] if transport is not None else ("", 0)
    if not is_own_name(request.host, (address, port)):
        raise web.HTTPMisdirectedRequest(reason="this server answers to its own name only")
    if token is None or request.path.startswith(STATIC):
        return None
    # With the port, since browsers send a machine's cookies to all of its ports.
    cookie = f"replay-view-{port}"
    if "token" in request.query:
        if is_token(request.query["token"], token):
            rest = [(name, value) for name, value in request.query.items() if name != "token"]
            # One slash: with two it would lead to another host.
            there = "/" + str(request.rel_url.with_query(rest)).lstrip("/\\")
            response = web.Response(status=303, headers={"Location": there})
            response.set_cookie(cookie, token, httponly=True, samesite="Lax")
            return response
    elif is_token(request.cookies.get(cookie), token) or is_token(
        bearer(request.headers.get("Authorization")), token
    ):
        return None
    raise web.HTTPUnauthorized(
        reason="open the link that replay view printed: it holds the token to see the runs"
    )
